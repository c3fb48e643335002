// Package disjoint has disjoint sets of numbers that are joined one by one (union-find).
package disjoint

// Sets are the sets of the numbers from 0 on, as a forest. They belong to one goroutine: Of shortens the forest, too.
type Sets []int32

// New is a set for each of so many numbers.
func New(count int) Sets {
	s := make(Sets, count)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// Of is the number that stands for the set of another: the lowest of it.
func (s Sets) Of(i int32) int32 {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

// Join makes one set of those of two numbers, and reports whether they were two.
func (s Sets) Join(a, b int32) bool {
	a, b = s.Of(a), s.Of(b)
	s[max(a, b)] = min(a, b)
	return a != b
}

// Lists are the members of each set, in the order of their lowest ones.
func (s Sets) Lists() (lists [][]int32) {
	at := make([]int, len(s))
	for i := range s {
		root := s.Of(int32(i))
		if root == int32(i) {
			at[i] = len(lists)
			lists = append(lists, nil)
		}
		lists[at[root]] = append(lists[at[root]], int32(i))
	}
	return lists
}
