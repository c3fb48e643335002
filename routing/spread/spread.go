// Package spread places routes: to one LID after the other, each switch takes, of several ways to the LID, the one
// whose fullest link has the fewest routes between hosts so far.
package spread

import (
	"cmp"
	"context"
	"math"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Way is the first link of a way from a switch.
type Way struct {
	Port uint8
	To   topo.SwitchIdx
}

// Bundle is the cables from a switch to another.
type Bundle struct {
	To   topo.SwitchIdx
	Ways []Way
	Back []Way // those from there
}

// Bundles are those from each switch, by SwitchIdx, in the order of the switches that they lead to.
func Bundles(g *routing.Graph) [][]Bundle {
	all := make([][]Bundle, g.Len())
	for s := range all {
		all[s] = bundlesFrom(g, topo.SwitchIdx(s))
	}
	for s, from := range all {
		for i := range from {
			if b := Find(all[from[i].To], topo.SwitchIdx(s)); b != nil {
				from[i].Back = b.Ways
			}
		}
	}
	return all
}

func bundlesFrom(g *routing.Graph, s topo.SwitchIdx) (bundles []Bundle) {
	peers, ports := g.Edges(s)
	ways := make([]Way, len(peers))
	for i, r := range peers {
		ways[i] = Way{ports[i], r}
	}
	slices.SortStableFunc(ways, func(a, b Way) int { return cmp.Compare(a.To, b.To) })
	for from := 0; from < len(ways); {
		to := from + 1
		for to < len(ways) && ways[to].To == ways[from].To {
			to++
		}
		bundles = append(bundles, Bundle{To: ways[from].To, Ways: ways[from:to]})
		from = to
	}
	return bundles
}

// Find is the bundle to a switch among those from another, nil if there is none.
func Find(bundles []Bundle, to topo.SwitchIdx) *Bundle {
	i, found := slices.BinarySearchFunc(bundles, to, func(b Bundle, to topo.SwitchIdx) int {
		return cmp.Compare(b.To, to)
	})
	if !found {
		return nil
	}
	return &bundles[i]
}

// Destinations are what packets are sent to at each switch, by SwitchIdx, in the order of ports.
func Destinations(in routing.In) [][]routing.Dest {
	all := make([][]routing.Dest, len(in.Topo.Switches))
	for _, d := range routing.Order(in.Topo, in.LIDs, routing.Balancing{}) {
		all[d.Switch] = append(all[d.Switch], d)
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b routing.Dest) int { return cmp.Compare(a.Egress, b.Egress) })
	}
	return all
}

// Placer fills forwarding tables. It belongs to one goroutine.
type Placer struct {
	Rows  [][]uint8
	hosts []uint32 // by SwitchIdx: hosts on it
	load  []uint32 // by SwitchIdx * 256 + port: routes between hosts

	// Of the switch in hand:
	dests  []routing.Dest
	weight uint32 // LIDs of hosts
	number int32
	fixed  []int32 // by SwitchIdx: the number, where the way to all its LIDs is the same

	// Of the LID in hand:
	lid    mad.LID
	base   mad.LID // of its port
	weighs bool
	by     []uint8          // by SwitchIdx: the port
	next   []topo.SwitchIdx // by SwitchIdx: the switch behind it, None at the end
}

// NewPlacer has empty tables. The error is that of ctx.
func NewPlacer(ctx context.Context, in routing.In) (*Placer, error) {
	count := len(in.Topo.Switches)
	rows, err := routing.EmptyRows(ctx, count, in.LIDs.Top)
	if err != nil {
		return nil, err
	}
	p := &Placer{Rows: rows, hosts: make([]uint32, count), load: make([]uint32, count<<8), fixed: make([]int32, count),
		by: make([]uint8, count), next: make([]topo.SwitchIdx, count)}
	for _, e := range in.Topo.EndPorts {
		if s := in.Topo.SwitchOf(e); s != topo.None && in.Topo.IsHost(e) {
			p.hosts[s]++
		}
	}
	return p, nil
}

// Begin turns to a switch with its destinations.
func (p *Placer) Begin(t topo.SwitchIdx, dests []routing.Dest) {
	p.dests, p.weight = dests, 0
	p.number++
	p.fixed[t], p.next[t] = p.number, topo.None
	for i := range dests {
		d := &dests[i]
		if d.Weighs {
			p.weight += 1 << d.LMC
		}
		for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
			p.Rows[t][lid] = d.Egress
		}
	}
}

// Fix gives a switch its only way for all LIDs at the switch in hand, if the rest of the way is the same for all of
// them.
func (p *Placer) Fix(s topo.SwitchIdx, ways []Way) bool {
	if len(ways) != 1 || !p.Fixed(ways[0].To) {
		return false
	}
	w, row := ways[0], p.Rows[s]
	p.fixed[s], p.by[s], p.next[s] = p.number, w.Port, w.To
	for i := range p.dests {
		d := &p.dests[i]
		for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
			row[lid] = w.Port
		}
	}
	p.carry(s, p.hosts[s]*p.weight)
	return true
}

// Fixed reports whether a switch has the same way for all LIDs at the switch in hand.
func (p *Placer) Fixed(s topo.SwitchIdx) bool { return p.fixed[s] == p.number }

// HasHosts reports whether routes from a switch count.
func (p *Placer) HasHosts(s topo.SwitchIdx) bool { return p.hosts[s] > 0 }

// Load is how many routes between hosts leave by each port, by SwitchIdx * 256 + port. It must not be written.
func (p *Placer) Load() []uint32 { return p.load }

// Turn turns to one of the LIDs of a destination.
func (p *Placer) Turn(d *routing.Dest, lid mad.LID) { p.lid, p.base, p.weighs = lid, d.Base, d.Weighs }

// Next is the switch that packets to the LID in hand go on to from a switch that has its way, None at the end. That of
// a fixed switch is known for all LIDs.
func (p *Placer) Next(s topo.SwitchIdx) topo.SwitchIdx { return p.next[s] }

// Place gives a switch one of some ways to the LID in hand, of which there must be one. The switches that they lead to
// have theirs.
func (p *Placer) Place(s topo.SwitchIdx, ways []Way) {
	best := ways[0]
	if len(ways) > 1 {
		best = p.choose(s, ways)
	}
	p.by[s], p.next[s] = best.Port, best.To
	p.Rows[s][p.lid] = best.Port
	if p.weighs {
		p.carry(s, p.hosts[s])
	}
}

// carry adds routes to the links of the way from a switch.
func (p *Placer) carry(s topo.SwitchIdx, routes uint32) {
	if routes == 0 {
		return
	}
	for ; p.next[s] != topo.None; s = p.next[s] {
		p.load[int(s)<<8|int(p.by[s])] += routes
	}
}

// choose is the best way: one that the fewest LIDs of the same port have, and of these the emptiest.
func (p *Placer) choose(s topo.SwitchIdx, ways []Way) (best Way) {
	fewest, least := math.MaxInt, uint64(math.MaxUint64)
	for _, w := range ways {
		same := 0
		for _, port := range p.Rows[s][p.base:p.lid] {
			if port == w.Port {
				same++
			}
		}
		if full := p.fullness(s, w); same < fewest || same == fewest && full < least {
			fewest, least, best = same, full, w
		}
	}
	return best
}

// fullness compares ways: by the routes of the fullest link, and then by those of all links.
func (p *Placer) fullness(s topo.SwitchIdx, w Way) uint64 {
	most := p.load[int(s)<<8|int(w.Port)]
	sum := most
	for at := w.To; p.next[at] != topo.None; at = p.next[at] {
		n := p.load[int(at)<<8|int(p.by[at])]
		most, sum = max(most, n), sum+n
	}
	return uint64(most)<<32 | uint64(sum)
}
