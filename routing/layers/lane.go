package layers

import (
	"slices"

	"ibsm/routing/acyclic"
)

// lane is the edges of the paths on one lane. Channels in one circle have places next to each other in its order, so
// that a search stays in the circle.
type lane struct {
	*graph
	is    []status // by edge
	from  []int32  // by edge: the channel that it leaves
	order *acyclic.Graph
}

func newLane(g *graph) *lane {
	l := &lane{graph: g, is: make([]status, len(g.edgeTo)), from: make([]int32, len(g.edgeTo)),
		order: acyclic.New(slices.Clone(g.place))}
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
		if !l.order.Add(l.from[e], l.edgeTo[e]) {
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

// undo removes an edge, unless the lane had it before.
func (l *lane) undo(e int32) {
	if l.is[e] != present {
		l.order.Unlink(l.from[e], l.edgeTo[e])
	}
}
