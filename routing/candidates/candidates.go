// Package candidates finds, for each switch and each switch with end ports, all ports that would do: what adaptive
// routing can choose from. It is for trees, and other subnets whose switches an engine has ranked. All of them lie on a
// shortest way that goes up and then down; a switch from which one leads down only has no others. Whatever port each
// switch takes for each packet, packets arrive and have no credit loop, on one lane: Prove checks it by the ranks.
package candidates

import (
	"bytes"
	"context"
	"fmt"

	"ibsm/routing"
	"ibsm/topo"
)

// Candidates are immutable.
type Candidates struct {
	graph *routing.Graph
	topo  *topo.Topo
	ranks []int32 // by SwitchIdx; up is to a lower one
	// Links of the ways from each switch to those in question, by from * width + to - first: by going down only, and of
	// all. none is no way; those of more than 253 links count as none.
	down, any []uint8
	first     topo.SwitchIdx // of those in question
	width     int            // how many
}

const none = 0xff

// Find finds the candidates of a subnet by the ranks of its switches, no two of which are equal: routing.Tables.Ranks.
// The error is that of ctx.
func Find(ctx context.Context, workers routing.Workers, t *topo.Topo, ranks []int32) (*Candidates, error) {
	c := newCandidates(t, ranks, 0, len(t.Switches))
	order := c.order()
	err := routing.Parallel(ctx, workers, c.width, func() func(int) {
		return func(to int) { c.find(order, topo.SwitchIdx(to)) }
	})
	return c, err
}

// FindTo is Find for a single destination: Ports may be asked for this one alone, and Prove and Choice not at all.
func FindTo(t *topo.Topo, ranks []int32, to topo.SwitchIdx) *Candidates {
	c := newCandidates(t, ranks, to, 1)
	c.find(c.order(), to)
	return c
}

func newCandidates(t *topo.Topo, ranks []int32, first topo.SwitchIdx, width int) *Candidates {
	cells := len(t.Switches) * width
	return &Candidates{graph: routing.NewGraph(t), topo: t, ranks: ranks, down: bytes.Repeat([]uint8{none}, cells),
		any: bytes.Repeat([]uint8{none}, cells), first: first, width: width}
}

// order are the switches, the lowest first.
func (c *Candidates) order() []topo.SwitchIdx {
	order := make([]topo.SwitchIdx, c.graph.Len())
	for s, place := range routing.Ranks(len(order), func(a, b topo.SwitchIdx) int {
		return int(c.ranks[b]) - int(c.ranks[a])
	}) {
		order[place] = topo.SwitchIdx(s)
	}
	return order
}

// find finds the ways to a switch. order is that of Candidates.order.
func (c *Candidates) find(order []topo.SwitchIdx, to topo.SwitchIdx) {
	c.down[c.cell(to, to)] = 0
	for _, s := range order { // a way down leads to switches that come before
		if s != to {
			c.down[c.cell(s, to)] = c.further(c.down, s, to, false)
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		at := c.cell(order[i], to)
		if c.any[at] = c.down[at]; c.any[at] == none {
			c.any[at] = c.further(c.any, order[i], to, true)
		}
	}
}

// cell is where the ways from one switch to another are.
func (c *Candidates) cell(s, to topo.SwitchIdx) int { return int(s)*c.width + int(to-c.first) }

// further is one link more than the shortest way from the switches above one, or below it.
func (c *Candidates) further(links []uint8, s, to topo.SwitchIdx, up bool) uint8 {
	least := uint8(none - 1)
	peers, _ := c.graph.Edges(s)
	for _, r := range peers {
		if c.rises(s, r) == up {
			least = min(least, links[c.cell(r, to)])
		}
	}
	return least + 1
}

func (c *Candidates) rises(s, to topo.SwitchIdx) bool { return c.ranks[to] < c.ranks[s] }

// Ports are all ports by which packets may leave a switch for another; none at that switch, and where no way goes up
// and then down.
func (c *Candidates) Ports(s, to topo.SwitchIdx) (ports routing.PortMask) {
	links, up := c.any, true
	if c.down[c.cell(s, to)] != none {
		links, up = c.down, false
	}
	own := links[c.cell(s, to)]
	if s == to || own == none {
		return ports
	}
	peers, by := c.graph.Edges(s)
	for i, r := range peers {
		if c.rises(s, r) == up && links[c.cell(r, to)] == own-1 {
			ports.Add(by[i])
		}
	}
	return ports
}

// Prove checks by the ranks alone that packets arrive and have no credit loop whatever candidate each switch takes for
// each packet: each leads to the destination or to a switch that has candidates; and from a switch where packets have
// come down all of these lead down. So packets pass switches in the order of their ranks, first upwards and then
// downwards: no circle closes. The error says where that is not so, or is that of ctx.
func (c *Candidates) Prove(ctx context.Context, workers routing.Workers) error {
	refused := make([]error, c.graph.Len())
	tracer := routing.NewTracer(c.topo, topo.NewLIDs(nil, nil))
	err := routing.Parallel(ctx, workers, len(refused), func() func(int) {
		return func(i int) { refused[i] = c.proveTo(topo.SwitchIdx(i), tracer) }
	})
	for _, r := range refused {
		if err == nil {
			err = r
		}
	}
	return err
}

func (c *Candidates) proveTo(to topo.SwitchIdx, tracer *routing.Tracer) error {
	const (
		up = 1 << iota
		down
	)
	all := make([]uint8, c.graph.Len()) // by switch: where its candidates lead
	for s := range all {
		ports := c.Ports(topo.SwitchIdx(s), to)
		for port := range ports.All {
			switch next := tracer.Next(topo.SwitchIdx(s), port); {
			case next == topo.None:
				return fmt.Errorf("port %d of switch %d leads to no switch", port, s)
			case c.rises(topo.SwitchIdx(s), next):
				all[s] |= up
			default:
				all[s] |= down
			}
		}
	}
	for s := range all {
		ports := c.Ports(topo.SwitchIdx(s), to)
		for port := range ports.All {
			next := tracer.Next(topo.SwitchIdx(s), port)
			switch {
			case next != to && all[next] == 0:
				return fmt.Errorf("from switch %d port %d leads to switch %d, which has no path to switch %d", s, port,
					next, to)
			case all[s] == up|down:
				return fmt.Errorf("from switch %d packets to switch %d go up or down", s, to)
			case all[s]&down != 0 && all[next]&up != 0:
				return fmt.Errorf(
					"from switch %d port %d leads down to switch %d, from where packets to switch %d go up", s, port,
					next, to)
			}
		}
	}
	return nil
}

// Choice is how many ports the switches with hosts have to choose from, for each other such switch.
type Choice struct {
	Least int
	Mean  float64
}

// Choice counts the candidates between the switches that have hosts, as far as they reach each other; zero without two
// of them.
func (c *Candidates) Choice() (choice Choice) {
	hosts := make([]bool, c.graph.Len())
	for _, p := range c.topo.EndPorts {
		if s := c.topo.SwitchOf(p); s != topo.None && c.topo.IsHost(p) {
			hosts[s] = true
		}
	}
	pairs, sum := 0, 0
	for s := range hosts {
		for to := range hosts {
			count := 0
			if hosts[s] && hosts[to] {
				ports := c.Ports(topo.SwitchIdx(s), topo.SwitchIdx(to))
				count = ports.Len()
			}
			if count > 0 {
				if pairs++; pairs == 1 || count < choice.Least {
					choice.Least = count
				}
				sum += count
			}
		}
	}
	if pairs > 0 {
		choice.Mean = float64(sum) / float64(pairs)
	}
	return choice
}
