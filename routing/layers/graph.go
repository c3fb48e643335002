package layers

import (
	"context"
	"math/bits"
	"sync/atomic"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// graph is the channels, which are directions of links between switches, and the dependencies of
// all paths. A channel is a number: switch * ports + port.
type graph struct {
	*routing.Forwarding
	workers routing.Workers
	ports   int              // of the switch with the most, port 0 included
	next    []topo.SwitchIdx // by channel: the switch that it leads to, None if it leads to no switch
	homes   [][]int          // by switch: LIDs to which packets go that leave the switches there
	sources []int32          // switches where packets start
	// deps has, by channel * words, a bit for each port of the switch that the channel leads to: packets
	// go on by that port.
	deps  []uint64
	words int

	circle   []int32 // by channel: number of the circles that it is in, -1 for none
	circles  bool    // there are any
	place    []int32 // by channel: in an order in which dependencies between circles lead upwards
	edgeFrom []int32 // by channel: its first edge; channels in circles only, and the end
	edgeTo   []int32 // by edge, which is a dependency within circles: the channel that it leads to
}

func newGraph(in In) *graph {
	t := in.Topo
	g := &graph{Forwarding: in.Forwarding, workers: in.Workers, homes: make([][]int, len(t.Switches))}
	for _, n := range t.Switches {
		g.ports = max(g.ports, int(t.Nodes[n].NumPorts)+1)
	}
	g.next = make([]topo.SwitchIdx, len(t.Switches)*g.ports)
	for c := range g.next {
		g.next[c] = g.Tracer.Next(topo.SwitchIdx(c/g.ports), uint8(c%g.ports))
	}
	for lid, p := range in.LIDs.Owner {
		if s := g.Home(mad.LID(lid)); s != topo.None && !(in.Hosts && t.Nodes[t.Ports[p].Node].Type == mad.Switch) {
			g.homes[s] = append(g.homes[s], lid)
		}
	}
	for s, lids := range g.homes {
		if len(lids) > 0 {
			g.sources = append(g.sources, int32(s))
		}
	}
	g.words = (g.ports + 63) / 64
	g.deps = make([]uint64, len(g.next)*g.words)
	return g
}

// channel is the one that packets to a LID take from a switch, None if they take none.
func (g *graph) channel(s int32, lid int) int32 {
	row := g.Rows[s]
	if lid >= len(row) || int(row[lid]) >= g.ports {
		return topo.None
	}
	if c := s*int32(g.ports) + int32(row[lid]); g.next[c] >= 0 {
		return c
	}
	return topo.None
}

// arrives reports whether packets from a switch to a LID end anywhere.
func (g *graph) arrives(s int32, lid int) bool {
	for range len(g.Rows) {
		c := g.channel(s, lid)
		if c < 0 {
			return true
		}
		s = int32(g.next[c])
	}
	return false
}

// byHome processes the LIDs of each switch on a worker, whose scratch space is by switch.
func (g *graph) byHome(ctx context.Context, do func(home topo.SwitchIdx, lid int, scratch []state)) error {
	return routing.Parallel(ctx, g.workers, len(g.homes), func() func(int) {
		scratch := make([]state, len(g.Rows))
		return func(home int) {
			for _, lid := range g.homes[home] {
				clear(scratch)
				do(topo.SwitchIdx(home), lid, scratch)
			}
		}
	})
}

// state is what is known of the path from a switch to the LID in hand.
type state uint8

const (
	unknown  state = iota
	passed         // it has been followed
	circular       // it has an edge in a circle
)

// follow finds the dependencies of all paths.
func (g *graph) follow(ctx context.Context) error {
	return g.byHome(ctx, func(_ topo.SwitchIdx, lid int, of []state) {
		for _, s := range g.sources {
			c := g.channel(s, lid)
			for c >= 0 && of[s] == unknown {
				of[s] = passed
				s = int32(g.next[c])
				c = g.depend(c, g.channel(s, lid))
			}
		}
	})
}

// depend notes that packets go on from a channel by the next one, which it returns.
func (g *graph) depend(from, to int32) int32 {
	if to < 0 {
		return to
	}
	port := to % int32(g.ports)
	word, bit := &g.deps[int(from)*g.words+int(port/64)], uint64(1)<<(port%64)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
	return to
}

// set is a set of switches.
type set []uint64

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

// onCycle are, by source, the destinations of paths with an edge in a circle.
func (g *graph) onCycle(ctx context.Context) ([]set, error) {
	words := (len(g.Rows) + 63) / 64
	all := make([]uint64, len(g.Rows)*words)
	sets := make([]set, len(g.Rows))
	for s := range sets {
		sets[s] = all[s*words:][:words]
	}
	err := g.byHome(ctx, func(home topo.SwitchIdx, lid int, of []state) {
		for _, s := range g.sources {
			if g.trace(s, lid, of) == circular {
				atomic.OrUint64(&sets[s][home/64], 1<<(home%64))
			}
		}
	})
	return sets, err
}

// trace finds the state of the path from a switch to a LID, and of those that lead into it.
func (g *graph) trace(source int32, lid int, of []state) state {
	is, s := passed, source
	for {
		if of[s] != unknown {
			is = of[s]
			break
		}
		of[s] = passed
		c := g.channel(s, lid)
		if c < 0 {
			break
		}
		s = int32(g.next[c])
		next := g.channel(s, lid)
		if next < 0 {
			break
		}
		if g.edge(c, next) >= 0 {
			is = circular
			break
		}
	}
	for at := source; is == circular && at != s; at = int32(g.next[g.channel(at, lid)]) {
		of[at] = circular
	}
	return is
}

// edge is the number of a dependency in a circle, -1 for others.
func (g *graph) edge(from, to int32) int32 {
	if g.circle[from] < 0 || g.circle[from] != g.circle[to] {
		return -1
	}
	for e := g.edgeFrom[from]; e < g.edgeFrom[from+1]; e++ {
		if g.edgeTo[e] == to {
			return e
		}
	}
	return -1
}

// each calls do for each channel that packets take after a channel.
func (g *graph) each(from int32, do func(to int32)) {
	for w, word := range g.deps[int(from)*g.words:][:g.words] {
		for ; word != 0; word &= word - 1 {
			do(int32(g.next[from])*int32(g.ports) + int32(64*w+bits.TrailingZeros64(word)))
		}
	}
}
