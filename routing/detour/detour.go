// Package detour routes around missing cables and switches, and keeps these routes free of credit loops. The paths of
// an engine pass channels in an order that the engine knows. Where no such path exists, a switch sends packets to any
// neighbour that has a path to the destination, if no credit loop results. If each neighbour would cause one, the paths
// get a higher SL, whose lanes have no loop.
//
// Paths of the engine keep SL 0.
package detour

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/acyclic"
	"ibsm/topo"
)

// In is a subnet with its tables.
type In struct {
	Topo *topo.Topo
	LIDs *topo.LIDs
	// Rows are the forwarding tables. A switch has a port for all LIDs at another, or for none of them.
	Rows [][]uint8
	// Maps are the lanes of all SLs. They must be the same for packets from all end ports of a switch.
	Maps *routing.Maps
	SLs  int // that paths may have: 0 and so on
	// Odd marks the paths that may break the engine's order, by SwitchIdx of the source * switches + SwitchIdx of the
	// destination. It is nil if there are none.
	Odd []bool
	// Load is the number of routes between hosts that leave by each port, by SwitchIdx * 256 + port. It may be nil.
	Load []uint32
	// Trunks are trees for multicast groups. The first one whose packets close no credit loop is used. It may be nil.
	Trunks iter.Seq[Tree]
}

// ErrNoRoom says that every SL that a path between hosts could have closes a credit loop.
var ErrNoRoom = errors.New("a credit loop remains")

// Result is what Complete found.
type Result struct {
	// SLs are the SLs of paths, by SwitchIdx of the source and of the destination. Both directions between two switches
	// have the same SL, so that a response with the SL of its request closes no loop.
	SLs [][]uint8
	// Unproved says that packets from or to switches without hosts can be part of a credit loop.
	Unproved bool
	// Trunk is one of the trees of In, or nil.
	Trunk *routing.Trunk
}

// Note is the remark about tables that are Unproved.
const Note = "packets from or to switches without hosts can be part of a credit loop, for want of lanes; packets between hosts cannot"

// Complete adds the missing routes to Rows wherever cables lead to the destination. Paths between switches with hosts
// come first. The error is ErrNoRoom, with two switches, or that of ctx.
func Complete(ctx context.Context, in In) (*Result, error) {
	g := newGraph(in)
	if !g.lost() && !slices.Contains(in.Odd, true) && (in.Trunks == nil || g.known()) {
		return &Result{SLs: g.noSLs(), Trunk: g.trunk}, ctx.Err()
	}
	if err := g.distinguish(ctx); err != nil {
		return nil, err
	}
	g.order = acyclic.New(make([]int32, g.lanes()*len(g.next)))
	if !g.addEven(ctx, true) {
		return nil, fmt.Errorf("%w: among the routes that need no detour", ErrNoRoom)
	}
	var a *attempt
	for _, rule := range [...]rule{{short: true, onlySL0: true}, {even: true, onlySL0: true}, {onlySL0: true},
		{onlySL0: true, backwards: true}, {}, {backwards: true}} {
		if a = g.try(ctx, rule); a.failed == nil || ctx.Err() != nil {
			break
		}
	}
	if err := cmp.Or(ctx.Err(), a.failed); err != nil {
		return nil, err
	}
	for _, c := range a.chosen {
		g.set(c.from, c.to, c.port)
	}
	return &a.Result, nil
}

// graph is the channels between switches on lanes, and their dependencies. A channel on a lane is the node lane * count
// + channel.
type graph struct {
	In
	channel []int32            // by SwitchIdx * 256 + port: that of the link to another switch, -1 for none
	next    []topo.SwitchIdx   // by channel: the switch that it leads to
	into    []uint8            // by channel: the port of next
	out     []topo.PortIdx     // by channel: the port that it leaves by
	peers   [][]topo.SwitchIdx // by SwitchIdx: those that its links lead to
	homes   [][]mad.LID        // by SwitchIdx: LIDs at it
	unlike  [][]mad.LID        // likewise, without those that have the ways of another
	hosts   []uint32           // by SwitchIdx: hosts on it
	zero    []uint8            // the SLs from a switch whose paths have SL 0
	order   *acyclic.Graph
	trunk   *routing.Trunk // that is known to close no loop where no path is missing or odd; nil for none

	// Of the attempt in hand:
	rule   rule
	odd    []bool
	chosen []choice
	kept   [][2]int32 // edges
	added  [][2]int32 // edges of the paths in hand
	never  [][]int32  // by node: those to which an edge closes a circle, and will as long as edges only come
	load   []uint32   // by SwitchIdx * 256 + port: routes between hosts
	last   []uint8    // by SwitchIdx: the port that has been chosen last

	// Scratch:
	scratch, near []step
	same          []sameness // by SwitchIdx
	way           []topo.SwitchIdx
}

func newGraph(in In) *graph {
	t, n := in.Topo, len(in.Rows)
	if in.Odd == nil {
		in.Odd = make([]bool, n*n)
	}
	g := &graph{In: in, odd: in.Odd, channel: slices.Repeat([]int32{-1}, n<<8), homes: make([][]mad.LID, n),
		hosts: make([]uint32, n), peers: make([][]topo.SwitchIdx, n), zero: make([]uint8, n), same: make([]sameness, n)}
	links := routing.NewGraph(t)
	for s := range topo.SwitchIdx(n) {
		peers, ports := links.Edges(s)
		g.peers[s] = peers
		for i, r := range peers {
			p := t.Port(t.Switches[s], ports[i])
			g.channel[int(s)<<8|int(ports[i])] = int32(len(g.next))
			g.next, g.into, g.out = append(g.next, r), append(g.into, t.Ports[t.Ports[p].Peer].Num), append(g.out, p)
		}
	}
	for lid, p := range in.LIDs.Owner {
		if s, _ := routing.Home(t, p); s != topo.None {
			g.homes[s] = append(g.homes[s], mad.LID(lid))
			if t.IsHost(p) && in.LIDs.Base[p] == mad.LID(lid) {
				g.hosts[s]++
			}
		}
	}
	return g
}

// lost reports whether a switch has no way to another.
func (g *graph) lost() bool {
	for _, row := range g.Rows {
		for _, lids := range g.homes {
			if len(lids) > 0 && row[lids[0]] == routing.NoPath {
				return true
			}
		}
	}
	return false
}

// distinguish finds the LIDs of each switch whose ways differ.
func (g *graph) distinguish(ctx context.Context) error {
	g.unlike = make([][]mad.LID, len(g.homes))
	for t, lids := range g.homes {
		for _, lid := range lids {
			same := func(o mad.LID) bool {
				for s, row := range g.Rows {
					if row[lid] != row[o] && s != t {
						return false
					}
				}
				return true
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if !slices.ContainsFunc(g.unlike[t], same) {
				g.unlike[t] = append(g.unlike[t], lid)
			}
		}
	}
	return nil
}

// noSLs give all paths SL 0.
func (g *graph) noSLs() [][]uint8 { return slices.Repeat([][]uint8{g.zero}, len(g.Rows)) }

// follow calls do for each channel on the path of packets of an SL from a switch to a LID, with the channel before it
// (-1 for the first one), until do returns false.
func (g *graph) follow(s topo.SwitchIdx, lid mad.LID, sl uint8, do func(from, to int32) bool) {
	in, from := uint8(0), int32(-1)
	for range g.Rows {
		c := g.channel[int(s)<<8|int(g.Rows[s][lid])]
		if c < 0 {
			return // arrived, or lost
		}
		to := g.node(g.Maps.Table(in, g.out[c]).VL(sl), c)
		if !do(from, to) {
			return
		}
		from, in, s = to, g.into[c], g.next[c]
	}
}

// lanes is 1 + the highest lane of any SL.
func (g *graph) lanes() (lanes int) {
	for sl := range uint8(g.SLs) {
		for _, p := range g.out {
			for from := range g.Topo.Nodes[g.Topo.Ports[p].Node].NumPorts + 1 {
				lanes = max(lanes, int(g.Maps.Table(from, p).VL(sl))+1)
			}
		}
	}
	return lanes
}

// place finds the lowest SL for the paths between two switches, and adds their dependencies.
func (g *graph) place(i, j topo.SwitchIdx) (sl uint8, fits bool) {
	for sl := range uint8(g.SLs) {
		if g.add(i, j, sl) && g.add(j, i, sl) {
			g.keep()
			return sl, true
		}
		if g.undo(); g.rule.onlySL0 && g.between(i, j) {
			break
		}
	}
	return 0, false
}

// keep keeps the edges of the paths in hand as long as the attempt lasts.
func (g *graph) keep() { g.kept, g.added = append(g.kept, g.added...), g.added[:0] }

// undo removes the edges of the paths in hand.
func (g *graph) undo() {
	for _, e := range g.added {
		g.order.Unlink(e[0], e[1])
	}
	g.added = g.added[:0]
}

// add adds the dependencies of the paths from a switch to another. It reports false when one of them closes a circle.
func (g *graph) add(from, to topo.SwitchIdx, sl uint8) (fits bool) {
	fits = true
	for _, lid := range g.unlike[to] {
		g.follow(from, lid, sl, func(a, b int32) bool {
			fits = a < 0 || g.depend(a, b)
			return fits
		})
		if !fits {
			return false
		}
	}
	return true
}

// depend adds a dependency, unless it closes a circle.
func (g *graph) depend(from, to int32) (fits bool) {
	switch {
	case g.order.Has(from, to):
		return true
	case slices.Contains(g.never[from], to):
		return false
	case g.order.Add(from, to):
		g.added = append(g.added, [2]int32{from, to})
		return true
	}
	if len(g.added) == 0 {
		g.never[from] = append(g.never[from], to)
	}
	return false
}

func (g *graph) name(s topo.SwitchIdx) string {
	return g.Topo.Nodes[g.Topo.Switches[s]].Desc.String()
}
