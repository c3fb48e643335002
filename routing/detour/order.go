package detour

import "slices"

// order is a graph without circles, with a place for each node above those of all that come before it, kept as edges come and
// go (Pearce and Kelly, 2006).
type order struct {
	place       []int32   // by node
	after, prev [][]int32 // by node: those that edges lead to, and come from

	mark          []int32 // by node: the search that came by
	search        int32
	ahead, behind []int32 // scratch
	places        []int32
}

func newOrder(nodes int) *order {
	return &order{place: make([]int32, nodes), after: make([][]int32, nodes), prev: make([][]int32, nodes), mark: make([]int32, nodes)}
}

func (o *order) has(from, to int32) bool { return slices.Contains(o.after[from], to) }

// link adds an edge without a look at the places.
func (o *order) link(from, to int32) {
	o.after[from] = append(o.after[from], to)
	o.prev[to] = append(o.prev[to], from)
}

// unlink removes an edge.
func (o *order) unlink(from, to int32) {
	remove := func(list []int32, node int32) []int32 {
		at := slices.Index(list, node)
		return slices.Delete(list, at, at+1)
	}
	o.after[from] = remove(o.after[from], to)
	o.prev[to] = remove(o.prev[to], from)
}

// number gives nodes their places. It reports false if there is a circle.
func (o *order) number() bool {
	waiting := make([]int32, len(o.place))
	queue := make([]int32, 0, len(o.place))
	for node, from := range o.prev {
		if waiting[node] = int32(len(from)); len(from) == 0 {
			queue = append(queue, int32(node))
		}
	}
	for i := 0; i < len(queue); i++ {
		o.place[queue[i]] = int32(i)
		for _, to := range o.after[queue[i]] {
			if waiting[to]--; waiting[to] == 0 {
				queue = append(queue, to)
			}
		}
	}
	return len(queue) == len(o.place)
}

// add adds an edge and corrects the places. It reports false, and adds nothing, if that closes a circle.
func (o *order) add(from, to int32) bool {
	if from == to {
		return false
	}
	if o.place[to] < o.place[from] {
		o.search++
		if !o.forward(to, from) {
			return false
		}
		o.backward(from, o.place[to])
		o.reorder()
	}
	o.link(from, to)
	return true
}

// forward collects the nodes that follow one, no farther than end in the order. It reports false when it comes to end.
func (o *order) forward(node, end int32) bool {
	o.mark[node] = o.search
	o.ahead = append(o.ahead[:0], node)
	for i := 0; i < len(o.ahead); i++ {
		for _, to := range o.after[o.ahead[i]] {
			if to == end {
				return false
			}
			if o.mark[to] != o.search && o.place[to] < o.place[end] {
				o.mark[to] = o.search
				o.ahead = append(o.ahead, to)
			}
		}
	}
	return true
}

// backward collects the nodes that come before one, down to a place.
func (o *order) backward(node, least int32) {
	o.mark[node] = o.search
	o.behind = append(o.behind[:0], node)
	for i := 0; i < len(o.behind); i++ {
		for _, from := range o.prev[o.behind[i]] {
			if o.mark[from] != o.search && o.place[from] > least {
				o.mark[from] = o.search
				o.behind = append(o.behind, from)
			}
		}
	}
}

// reorder puts what is behind before what is ahead, in the places that they have together.
func (o *order) reorder() {
	byPlace := func(a, b int32) int { return int(o.place[a] - o.place[b]) }
	slices.SortFunc(o.behind, byPlace)
	slices.SortFunc(o.ahead, byPlace)
	o.behind = append(o.behind, o.ahead...)
	o.places = o.places[:0]
	for _, node := range o.behind {
		o.places = append(o.places, o.place[node])
	}
	slices.Sort(o.places)
	for i, node := range o.behind {
		o.place[node] = o.places[i]
	}
}
