// Package repair repairs forwarding tables of any origin: those of another manager, of a file, or of any engine.
// Entries by which packets arrive stay as they are, or become again what they were at first. To each LID they form a
// tree that leads to its owner; the other switches are joined to it, and nothing else changes. So what a repair costs
// depends on what has changed in the subnet.
//
// A switch is joined by a shortest way to the tree, by its port of before if that lies on one, or else by
// the least used. The ways of hosts' packets add no credit loop where there is another way, also a longer one:
// the tables have the rules of the engine that made them, such as up before down, in the
// order in which their routes pass channels, and the repaired routes follow it. Where no way follows
// it, dependencies are searched for one that closes no circle. SLs stay; a LID that is new gets those of the
// other LIDs at its switch.
package repair

import (
	"bytes"
	"context"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// In is what is repaired.
type In struct {
	Topo *topo.Topo
	LIDs *topo.LIDs
	// Tables are by the switches and LIDs of Topo and LIDs, with the SLs of paths. Rows may end early, or
	// be nil.
	Tables *routing.Tables
	Maps   *routing.Maps // from SLs to lanes
	// Base are tables to return to, by the same switches and LIDs; nil for none. Their entries take precedence where
	// packets arrive by them alone: what is lost and comes back leaves no trace.
	Base *routing.Tables
	// Was is how the switches forwarded when packets to the LIDs of Good arrived from all of them, and no
	// switch had an entry for those of them that nobody owned; nil if that is not known. It saves time.
	Was  *routing.Forwarding
	Good routing.LIDSet
	// Proof is what was found of the tables before the subnet changed, for traffic between hosts; nil if nothing is
	// known. It saves time.
	Proof   *creditloop.Report
	Workers routing.Workers
}

// Result is what a repair comes to.
type Result struct {
	// Tables have all rows of In.Tables that do not change.
	Tables *routing.Tables
	// Unavoidable are the routes, among those that are repaired, that can add a credit loop because no other
	// way was found: up to MaxUnavoidable, in the order in which they were joined.
	Unavoidable []Route
}

// MaxUnavoidable is how many routes Result names.
const MaxUnavoidable = 16

// Route is a route from a switch to a LID.
type Route struct {
	Switch topo.SwitchIdx
	LID    mad.LID
}

// Tables repairs tables. The result depends on nothing but in; the error is that of ctx.
func Tables(ctx context.Context, in In) (*Result, error) {
	r := newRepair(in)
	if err := r.findBroken(ctx); err != nil {
		return nil, err
	}
	j := newJoiner(r)
	any, err := j.clear(ctx)
	if err != nil {
		return nil, err
	}
	if !any {
		return r.result(nil), nil
	}
	later, err := j.joinAll(ctx)
	if err != nil {
		return nil, err
	}
	unavoidable, err := j.joinLater(ctx, later)
	if err != nil {
		return nil, err
	}
	return r.result(unavoidable), nil
}

// result has the rows of In.Tables and In.Base that have come out as they were.
func (r *repair) result(unavoidable []Route) *Result {
	for s, row := range r.tables.LFT {
		switch {
		case !r.own[s]:
		case s < len(r.In.Tables.LFT) && bytes.Equal(r.In.Tables.LFT[s], row):
			r.tables.LFT[s] = r.In.Tables.LFT[s]
		case r.Base != nil && bytes.Equal(r.Base.LFT[s], row):
			r.tables.LFT[s] = r.Base.LFT[s]
		}
	}
	return &Result{Tables: r.tables, Unavoidable: unavoidable}
}
