// Package layers gives paths service levels, so that any forwarding tables are free of credit loops:
// those of another manager, of a file, or of an engine that knows no lanes. Each SL has a lane of its
// own, and paths are divided among lanes so that no lane has a loop. The tables stay as they are.
//
// Only dependencies that are part of a circle matter, and only paths that have one: all others keep
// SL 0. In a fat tree these are few or none.
package layers

import (
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// In is what lanes are assigned to.
type In struct {
	Topo *topo.Topo
	LIDs *topo.LIDs
	// Forwarding is by the tables, in the subnet. Routes that do not arrive are left out.
	Forwarding *routing.Forwarding
	Lanes      int  // that there are, 1 to 15
	Hosts      bool // paths from and to port 0 of switches do not count, and keep SL 0
	Workers    routing.Workers
}

// Result is what Assign found.
type Result struct {
	SLs    *routing.SLs // nil if all paths have SL 0, and if there are too few lanes
	Needed int          // lanes; 16 for more than there can be
	// OneWay says that a path can have another SL than the one back. If so, packets that a host sends
	// back with the SL that it received can be part of a loop, as with OpenSM's dfsssp.
	OneWay bool
}

// mostLanes is more than there can be.
const mostLanes = 16

// Assign gives paths the lowest SL with whose other paths theirs form no credit loop: first all paths
// between two switches, in both directions, have the same one. If that takes too many lanes, the SL
// depends on the switch of the source and on the destination LID. The result depends on nothing but
// in; the error is that of ctx.
func Assign(ctx context.Context, in In) (*Result, error) {
	g := newGraph(in)
	if err := g.follow(ctx); err != nil {
		return nil, err
	}
	if g.findCircles(); !g.circles {
		return &Result{Needed: 1}, nil
	}
	onCycle, err := g.onCycle(ctx)
	if err != nil {
		return nil, err
	}
	a := &assigner{graph: g, in: in, onCycle: onCycle, passed: make([]int32, len(g.edgeTo))}
	r, err := a.byPair(ctx)
	if r == nil && err == nil {
		r, err = a.byLID(ctx)
	}
	return r, err
}

// assigner divides paths among lanes.
type assigner struct {
	*graph
	in      In
	onCycle []set
	lanes   []*lane
	edges   []int32 // in circles, of the paths in hand
	passed  []int32 // by edge: the last paths that have it
	number  int32   // of the paths in hand
}

// byPair gives each pair of switches an SL; nil if that takes too many lanes.
func (a *assigner) byPair(ctx context.Context) (*Result, error) {
	a.lanes = nil
	zero := make([]uint8, len(a.onCycle)) // the row of all switches without another SL
	rows := slices.Repeat([][]uint8{zero}, len(a.onCycle))
	set := func(i, j int, sl uint8) {
		if &rows[i][0] == &zero[0] {
			rows[i] = slices.Clone(zero)
		}
		rows[i][j] = sl
	}
	for i := range a.onCycle {
		for j := range i {
			if !a.onCycle[i].has(j) && !a.onCycle[j].has(i) {
				continue
			}
			a.begin()
			for _, lid := range a.homes[j] {
				a.collect(int32(i), lid)
			}
			for _, lid := range a.homes[i] {
				a.collect(int32(j), lid)
			}
			switch sl, fits := a.place(a.in.Lanes); {
			case !fits:
				return nil, nil
			case sl > 0:
				set(i, j, sl)
				set(j, i, sl)
			}
		}
		routing.Spend(ctx, 8*len(a.sources))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if len(a.lanes) <= 1 { // routes that do not arrive had the circles
		return &Result{Needed: 1}, nil
	}
	return &Result{SLs: routing.SLsBySwitch(a.in.Topo, a.in.LIDs, rows), Needed: len(a.lanes)}, nil
}

// byLID gives paths SLs by the switch of the source and the destination LID.
func (a *assigner) byLID(ctx context.Context) (*Result, error) {
	a.lanes = nil
	c := newColumns(a.in.LIDs, len(a.onCycle))
	for home, lids := range a.homes {
		for _, lid := range lids {
			clear(c.column)
			for _, s := range a.sources {
				if !a.onCycle[s].has(home) {
					continue
				}
				a.begin()
				a.collect(s, lid)
				sl, fits := a.place(mostLanes - 1)
				if !fits {
					return &Result{Needed: mostLanes, OneWay: true}, nil
				}
				c.column[s] = sl
			}
			c.end(lid)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	r := &Result{Needed: max(len(a.lanes), 1), OneWay: true}
	if r.Needed > 1 && r.Needed <= a.in.Lanes {
		r.SLs = c.sls(a.in.Topo, a.in.LIDs)
	}
	return r, nil
}

// begin begins with other paths.
func (a *assigner) begin() {
	a.number++
	a.edges = a.edges[:0]
}

// collect adds the edges in circles of the path from a switch to a LID.
func (a *assigner) collect(from int32, lid int) {
	if !a.arrives(from, lid) {
		return
	}
	for c := a.channel(from, lid); c >= 0; {
		next := a.channel(int32(a.next[c]), lid)
		if next < 0 {
			return
		}
		if e := a.edge(c, next); e >= 0 && a.passed[e] != a.number {
			a.passed[e] = a.number
			a.edges = append(a.edges, e)
		}
		c = next
	}
}

// place finds the first of so many lanes that has room for the paths in hand.
func (a *assigner) place(most int) (sl uint8, fits bool) {
	for v := range most {
		if v == len(a.lanes) {
			a.lanes = append(a.lanes, newLane(a.graph))
		}
		if len(a.edges) == 0 || a.lanes[v].add(a.edges) {
			return uint8(v), true
		}
	}
	return 0, false
}

// columns are SLs by destination LID; LIDs with equal SLs share a column.
type columns struct {
	to     []int32          // by LID: its column
	known  map[string]int32 // by SLs
	all    [][]uint8
	column []uint8 // by SwitchIdx of the source: that of the LID in hand
}

func newColumns(l *topo.LIDs, switches int) *columns {
	c := &columns{to: make([]int32, len(l.Owner)), known: map[string]int32{}, column: make([]uint8, switches)}
	for lid := range c.to {
		c.end(lid) // SL 0 from all
	}
	return c
}

// end makes column that of a LID.
func (c *columns) end(lid int) {
	at, known := c.known[string(c.column)]
	if !known {
		at = int32(len(c.all))
		c.known[string(c.column)] = at
		c.all = append(c.all, slices.Clone(c.column))
	}
	c.to[lid] = at
}

func (c *columns) sls(t *topo.Topo, l *topo.LIDs) *routing.SLs {
	from := make([]int32, len(l.Owner))
	for lid, p := range l.Owner {
		s, _ := routing.Home(t, p)
		from[lid] = int32(s)
	}
	rows := make([][]uint8, len(c.column))
	for s := range rows {
		rows[s] = make([]uint8, len(c.all))
		for i, column := range c.all {
			rows[s][i] = column[s]
		}
	}
	return routing.NewSLs(from, c.to, rows)
}
