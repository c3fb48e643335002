package lash

import (
	"cmp"
	"slices"
)

// insert adds a dependency and corrects the order. It reports false, and adds nothing, if that closes
// a circle.
func (l *layer) insert(from, to int32) bool {
	if l.place[to] <= l.place[from] {
		l.search++
		l.ahead, l.behind = l.ahead[:0], l.behind[:0]
		if from == to || !l.forward(to, from) {
			return false
		}
		l.search++
		l.backward(from, l.place[to])
		l.reorder()
	}
	l.next[from] = append(l.next[from], use{to, 1})
	l.prev[to] = append(l.prev[to], from)
	return true
}

// forward collects the channels that follow c, no farther than end in the order. It reports
// false when it comes to end.
func (l *layer) forward(c, end int32) bool {
	l.mark[c] = l.search
	l.ahead = append(l.ahead, c)
	for _, u := range l.next[c] {
		if u.to == end {
			return false
		}
		if l.mark[u.to] != l.search && l.place[u.to] < l.place[end] && !l.forward(u.to, end) {
			return false
		}
	}
	return true
}

// backward collects the channels that come before c, down to a place.
func (l *layer) backward(c, least int32) {
	l.mark[c] = l.search
	l.behind = append(l.behind, c)
	for _, p := range l.prev[c] {
		if l.mark[p] != l.search && l.place[p] > least {
			l.backward(p, least)
		}
	}
}

// reorder puts what is behind before what is ahead, in the places that they have together.
func (l *layer) reorder() {
	byPlace := func(a, b int32) int { return cmp.Compare(l.place[a], l.place[b]) }
	slices.SortFunc(l.behind, byPlace)
	slices.SortFunc(l.ahead, byPlace)
	channels := append(l.behind, l.ahead...)
	places := make([]int32, len(channels))
	for i, c := range channels {
		places[i] = l.place[c]
	}
	slices.Sort(places)
	for i, c := range channels {
		l.place[c] = places[i]
	}
}

// drop removes a dependency.
func (l *layer) drop(from, to int32) {
	if i := slices.IndexFunc(l.next[from], func(u use) bool { return u.to == to }); i >= 0 {
		l.next[from] = slices.Delete(l.next[from], i, i+1)
		j := slices.Index(l.prev[to], from)
		l.prev[to] = slices.Delete(l.prev[to], j, j+1)
	}
}

// empty removes all dependencies of a channel that no path takes.
func (l *layer) empty(c int32) {
	for len(l.next[c]) > 0 {
		l.drop(c, l.next[c][0].to)
	}
	for len(l.prev[c]) > 0 {
		l.drop(l.prev[c][0], c)
	}
}
