package layers

import "slices"

// lane is the edges of the paths on one lane, with an order of the channels in which each leads upwards
// (Pearce and Kelly, 2006). Channels in one circle have places next to each other, so that a search stays in
// the circle.
type lane struct {
	*graph
	is    []status  // by edge
	place []int32   // by channel
	after [][]int32 // by channel: edges that leave it; nil for channels outside circles
	from  []int32   // by edge: the channel that it leaves
	prev  [][]int32 // by channel: channels from which edges come

	mark          []int32 // by channel: the search that came by
	search        int32
	ahead, behind []int32 // scratch
}

func newLane(g *graph) *lane {
	l := &lane{
		graph: g, is: make([]status, len(g.edgeTo)), place: slices.Clone(g.place), after: make([][]int32, len(g.next)), from: make([]int32, len(g.edgeTo)),
		prev: make([][]int32, len(g.next)), mark: make([]int32, len(g.next)),
	}
	for c := range g.next {
		for e := g.edgeFrom[c]; e < g.edgeFrom[c+1]; e++ {
			l.from[e] = int32(c)
		}
	}
	return l
}

// status is what is known of an edge in a lane.
type status uint8

const (
	absent  status = iota
	present        // paths on the lane have it
	refused        // with those that are present it closes a circle, and that will not change
)

// add adds edges, unless a circle would come of them.
func (l *lane) add(edges []int32) bool {
	for _, e := range edges {
		if l.is[e] == refused {
			return false
		}
	}
	first := true // of those that are new
	for i, e := range edges {
		if l.is[e] == present {
			continue
		}
		if !l.insert(e) {
			if first {
				l.is[e] = refused
			}
			for _, added := range edges[:i] {
				l.undo(added)
			}
			return false
		}
		first = false
	}
	for _, e := range edges {
		l.is[e] = present
	}
	return true
}

// insert adds an edge and corrects the order. It reports false, and adds nothing, if that closes a
// circle.
func (l *lane) insert(e int32) bool {
	from, to := l.from[e], l.edgeTo[e]
	if l.place[to] <= l.place[from] {
		l.search++
		l.ahead, l.behind = l.ahead[:0], l.behind[:0]
		if from == to || !l.forward(to, from) {
			return false
		}
		l.backward(from, l.place[to])
		l.reorder()
	}
	l.after[from] = append(l.after[from], to)
	l.prev[to] = append(l.prev[to], from)
	return true
}

// undo removes an edge that was added last among those of its channels, unless the lane had it
// before.
func (l *lane) undo(e int32) {
	if l.is[e] == present {
		return
	}
	from, to := l.from[e], l.edgeTo[e]
	l.after[from] = remove(l.after[from], to)
	l.prev[to] = remove(l.prev[to], from)
}

func remove(list []int32, c int32) []int32 {
	if i := slices.Index(list, c); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// forward collects the channels that follow one, no farther than end in the order. It reports false
// when it comes to end.
func (l *lane) forward(c, end int32) bool {
	l.mark[c] = l.search
	l.ahead = append(l.ahead, c)
	for i := len(l.ahead) - 1; i < len(l.ahead); i++ {
		for _, to := range l.after[l.ahead[i]] {
			if to == end {
				return false
			}
			if l.mark[to] != l.search && l.place[to] < l.place[end] {
				l.mark[to] = l.search
				l.ahead = append(l.ahead, to)
			}
		}
	}
	return true
}

// backward collects the channels that come before one, down to a place.
func (l *lane) backward(c, least int32) {
	l.mark[c] = l.search
	l.behind = append(l.behind, c)
	for i := 0; i < len(l.behind); i++ {
		for _, from := range l.prev[l.behind[i]] {
			if l.mark[from] != l.search && l.place[from] > least {
				l.mark[from] = l.search
				l.behind = append(l.behind, from)
			}
		}
	}
}

// reorder puts what is behind before what is ahead, in the places that they have together.
func (l *lane) reorder() {
	byPlace := func(a, b int32) int { return int(l.place[a] - l.place[b]) }
	slices.SortFunc(l.behind, byPlace)
	slices.SortFunc(l.ahead, byPlace)
	l.behind = append(l.behind, l.ahead...)
	places := make([]int32, len(l.behind))
	for i, c := range l.behind {
		places[i] = l.place[c]
	}
	slices.Sort(places)
	for i, c := range l.behind {
		l.place[c] = places[i]
	}
}
