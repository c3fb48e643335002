package layers

import "math/bits"

// findCircles finds the channels from which dependencies lead back to them (Tarjan, 1972), and numbers
// the dependencies among them.
func (g *graph) findCircles() {
	n := len(g.next)
	g.circle, g.place = make([]int32, n), make([]int32, n)
	t := &tarjan{graph: g, index: make([]int32, n), low: make([]int32, n), place: int32(n)}
	for c := range g.circle {
		g.circle[c] = -1
	}
	for c := range int32(n) {
		if t.index[c] == 0 {
			t.search(c)
		}
	}
	g.edgeFrom = make([]int32, n+1)
	for c := range int32(n) {
		if g.circle[c] >= 0 {
			g.each(c, func(to int32) {
				if g.circle[to] == g.circle[c] {
					g.edgeTo = append(g.edgeTo, to)
				}
			})
		}
		g.edgeFrom[c+1] = int32(len(g.edgeTo))
	}
}

// tarjan is the search for strongly connected components. They come out in reverse order of
// dependencies, so that places are given from the last on.
type tarjan struct {
	*graph
	index, low []int32 // by channel: 1 + when it was reached; the least index that it leads back to
	reached    int32
	open       []int32 // channels whose component is not complete
	calls      []call
	place      int32
	components int32
}

// call is a channel whose dependencies are being looked at.
type call struct {
	channel int32
	word    int    // of its dependencies
	left    uint64 // those of the word that were not looked at yet
}

func (t *tarjan) search(root int32) {
	t.enter(root)
	for len(t.calls) > 0 {
		at := &t.calls[len(t.calls)-1]
		c := at.channel
		if at.left == 0 && at.word+1 < t.words {
			at.word++
			at.left = t.deps[int(c)*t.words+at.word]
			continue
		}
		if at.left == 0 {
			t.leave()
			continue
		}
		port := 64*at.word + bits.TrailingZeros64(at.left)
		at.left &= at.left - 1
		to := int32(t.next[c])*int32(t.ports) + int32(port)
		switch {
		case t.index[to] == 0:
			t.enter(to)
		case t.low[to] > 0: // still open
			t.low[c] = min(t.low[c], t.index[to])
		}
	}
}

func (t *tarjan) enter(c int32) {
	t.reached++
	t.index[c], t.low[c] = t.reached, t.reached
	t.open = append(t.open, c)
	t.calls = append(t.calls, call{channel: c, left: t.deps[int(c)*t.words]})
}

// leave ends the look at a channel. If nothing leads from it to one that was reached before, what is
// open from it on is a component; low is 0 from then on.
func (t *tarjan) leave() {
	c := t.calls[len(t.calls)-1].channel
	t.calls = t.calls[:len(t.calls)-1]
	if t.low[c] < t.index[c] {
		last := t.calls[len(t.calls)-1].channel
		t.low[last] = min(t.low[last], t.low[c])
		return
	}
	first := len(t.open) - 1
	for t.open[first] != c {
		first--
	}
	circle := int32(-1)
	if members := t.open[first:]; len(members) > 1 || t.leadsTo(c, c) {
		circle = t.components
		t.components++
		t.circles = true
	}
	for _, member := range t.open[first:] {
		t.place--
		t.graph.place[member], t.circle[member], t.low[member] = t.place, circle, 0
	}
	t.open = t.open[:first]
}

func (t *tarjan) leadsTo(from, to int32) (is bool) {
	t.each(from, func(c int32) { is = is || c == to })
	return is
}
