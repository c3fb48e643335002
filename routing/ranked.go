package routing

import (
	"context"

	"ibsm/topo"
)

// Direction is where a link leads between switches that an engine has ranked.
type Direction uint8

// Directions; Level is between switches of one rank, where an engine has that.
const (
	Up Direction = iota
	Down
	Level
)

// Rule says which ways through ranked switches are allowed. Ways are followed backwards, from the
// destination.
type Rule struct {
	// Leads is where the link from a switch to one next to it leads.
	Leads func(s, to topo.SwitchIdx) Direction
	// Start is the direction at the destination. After Last no way goes on in direction Never: it
	// would turn there.
	Start, Last, Never Direction
	// KeepsDirection has a Level link change nothing in what may follow; only Permitted knows it.
	KeepsDirection bool
	// Penalty allows such turns, and counts them as so many links; 0 does not.
	Penalty uint8
	// Direct are the switches to which the cheapest ways lead that may turn anywhere, by SwitchIdx, except
	// where an allowed one has fewer links than that costs; nil for none. Hops are needed for them.
	Direct []bool
	Hops   *Hops
}

// RankedWays are the ports of each switch that lie on a shortest allowed way to each other, as OpenSM
// finds them: it remembers one direction for a switch, that of the first way that came there, and
// visits the switch again whenever a further port of it is found. So it can join ways that are not
// allowed together.
type RankedWays struct {
	Longest uint8 // links of the longest way
	rule    Rule
	graph   *Graph
	edges   []rankedEdge // of switch s: first[s] .. first[s+1]-1
	first   []int32
	way     [][]uint16   // by source and destination SwitchIdx: index into ways
	ways    [][]PortMask // by source: sets of ports
}

// rankedEdge is a link as one of its switches sees it.
type rankedEdge struct {
	to    topo.SwitchIdx
	port  uint8
	cost  uint8
	back  int32 // the same link as to sees it
	leads Direction
}

// batch is how many destinations are searched for before the port sets of switches are looked up.
const batch = 64

// NewRankedWays finds the ways of a subnet.
func NewRankedWays(ctx context.Context, workers Workers, t *topo.Topo, g *Graph, rule Rule) (*RankedWays, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := g.Len()
	w := &RankedWays{rule: rule, graph: g, way: make([][]uint16, n), ways: make([][]PortMask, n)}
	w.connect(t)
	known := make([]map[PortMask]uint16, n)
	for s := range w.way {
		w.way[s], known[s] = make([]uint16, n), map[PortMask]uint16{}
	}
	found := make([][batch]PortMask, n) // of the batch in hand
	longest := make([]uint8, n)
	for from := 0; from < n; from += batch {
		err := Parallel(ctx, workers, min(batch, n-from), func() func(int) {
			b := newBackwards(w)
			return func(i int) { longest[from+i] = b.search(topo.SwitchIdx(from+i), i, found) }
		})
		if err != nil {
			return nil, err
		}
		err = Parallel(ctx, workers, n, func() func(int) {
			return func(s int) {
				for i := range min(batch, n-from) {
					mask := found[s][i]
					index, is := known[s][mask]
					if !is {
						index = uint16(len(w.ways[s]))
						known[s][mask] = index
						w.ways[s] = append(w.ways[s], mask)
					}
					w.way[s][from+i] = index
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, links := range longest {
		w.Longest = max(w.Longest, links)
	}
	return w, nil
}

// connect makes the edges. A cable from a switch to itself is one, too: no way gains by it, but the
// switch is visited again, in the direction in which it leads.
func (w *RankedWays) connect(t *topo.Topo) {
	at := make([]int32, len(t.Ports)) // by PortIdx
	for s := range topo.SwitchIdx(w.graph.Len()) {
		w.first = append(w.first, int32(len(w.edges)))
		peers, nums := w.graph.Edges(s)
		node := t.Switches[s]
		for num, i := 1, 0; num <= ports(t, node); num++ {
			edge := rankedEdge{to: s, port: uint8(num), cost: 1}
			p := t.Port(node, edge.port)
			if peer := t.Ports[p].Peer; i < len(nums) && nums[i] == edge.port {
				edge.to, edge.cost = peers[i], w.graph.Cost(s, i)
				i++
			} else if peer == topo.None || t.Ports[peer].Node != node {
				continue
			}
			edge.leads = w.rule.Leads(s, edge.to)
			at[p] = int32(len(w.edges))
			w.edges = append(w.edges, edge)
		}
	}
	w.first = append(w.first, int32(len(w.edges)))
	for s := range topo.SwitchIdx(w.graph.Len()) {
		for e := w.first[s]; e < w.first[s+1]; e++ {
			w.edges[e].back = at[t.Ports[t.Port(t.Switches[s], w.edges[e].port)].Peer]
		}
	}
}

// Ports is for Balance.NewPlacer.
func (w *RankedWays) Ports(s topo.SwitchIdx, into *PortSets) {
	for to, index := range w.way[s] {
		into.Set(topo.SwitchIdx(to), &w.ways[s][index])
	}
}

// backwards follows ways back from one destination after the other. It belongs to one goroutine.
type backwards struct {
	*RankedWays
	hops  []uint8     // by edge: links to the destination by this port
	least []uint8     // by SwitchIdx
	leads []Direction // by SwitchIdx: of the way that came there
	waits []bool      // by SwitchIdx: is in the queue
	last  []visit     // by SwitchIdx
	queue []topo.SwitchIdx
}

// visit is what the visit of a switch depends on.
type visit struct {
	least uint8 // Unreachable before the first
	leads Direction
}

func newBackwards(w *RankedWays) *backwards {
	n := w.graph.Len()
	return &backwards{RankedWays: w, hops: make([]uint8, len(w.edges)), least: make([]uint8, n),
		leads: make([]Direction, n), waits: make([]bool, n), last: make([]visit, n)}
}

// search puts the ports of each switch that are nearest to a destination into found, at index i. It
// returns the links of the longest way.
func (b *backwards) search(d topo.SwitchIdx, i int, found [][batch]PortMask) (longest uint8) {
	for e := range b.hops {
		b.hops[e] = Unreachable
	}
	for s := range b.least {
		b.least[s], b.last[s] = Unreachable, visit{least: Unreachable}
	}
	if b.rule.Direct != nil && b.rule.Direct[d] {
		b.preset(d)
	}
	b.least[d], b.leads[d] = 0, b.rule.Start
	b.queue = append(b.queue[:0], d)
	for at := 0; at < len(b.queue); at++ {
		s := b.queue[at]
		b.waits[s] = false
		now := visit{b.least[s], b.leads[s]}
		if b.last[s] == now {
			continue // nothing has changed since
		}
		b.last[s] = now
		longest = max(longest, b.visit(s))
	}
	for s := range b.least {
		var mask PortMask
		for e := b.first[s]; e < b.first[s+1]; e++ {
			if port := b.edges[e].port; b.hops[e] == b.least[s] && b.hops[e] != Unreachable {
				mask.Add(port)
			}
		}
		found[s][i] = mask
	}
	return longest
}

// visit follows the ways from a switch back to those next to it.
func (b *backwards) visit(s topo.SwitchIdx) (longest uint8) {
	leads := b.leads[s]
	for e := b.first[s]; e < b.first[s+1]; e++ {
		edge := &b.edges[e]
		links := int(b.least[s]) + 1
		if leads == b.rule.Last && edge.leads == b.rule.Never {
			if b.rule.Penalty == 0 {
				continue
			}
			links += int(b.rule.Penalty)
		}
		if links >= int(b.hops[edge.back]) {
			continue
		}
		b.hops[edge.back] = uint8(links)
		b.least[edge.to] = min(b.least[edge.to], uint8(links))
		longest = max(longest, uint8(links))
		if !b.waits[edge.to] {
			b.leads[edge.to], b.waits[edge.to] = edge.leads, true
			b.queue = append(b.queue, edge.to)
		}
	}
	return longest
}

// preset gives ports what the cheapest ways of any kind cost.
func (b *backwards) preset(d topo.SwitchIdx) {
	for s := range b.least {
		b.least[s] = b.rule.Hops.From(topo.SwitchIdx(s))[d]
		for e := b.first[s]; e < b.first[s+1]; e++ {
			if edge := &b.edges[e]; edge.to != topo.SwitchIdx(s) {
				b.hops[e] = uint8(min(Unreachable, int(b.rule.Hops.From(edge.to)[d])+int(edge.cost)))
			}
		}
	}
}
