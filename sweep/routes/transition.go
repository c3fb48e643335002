package routes

import (
	"bytes"
	"context"
	"slices"

	"ibsm/routing/creditloop"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// Transition is the change of switches from their present tables to those of a plan. Between the first Set and the
// last, some switches have the present tables, and some the new ones.
type Transition struct {
	State TransitionState
	// Order is In.Order of the plan: in each list, switches can be written in any order.
	Order [][]topo.SwitchIdx
	// Risk is a credit loop that packets can be in while the switches of the last list are written, or all without an
	// Order; nil unless State is AtRisk or AtRiskUntilAsked.
	Risk []creditloop.Channel
}

// TransitionState says whether packets can come to wait for each other for ever.
type TransitionState uint8

// States.
const (
	Safe   TransitionState = iota // not in Order
	AtRisk                        // while the switches of the last list are written
	// while switches are written, and after that as long as hosts use SLs of before
	AtRiskUntilAsked
	LoopedAnyway // the routes before or after it have a credit loop themselves
)

// transition finds an order of writing r's tables in which packets cannot come to wait for each other
// for ever. Routes that have a credit loop, or had one before, have no such order.
func (a *attempt) transition(ctx context.Context, r *routed) (tr Transition, err error) {
	if a.in.Prev == nil {
		return tr, nil
	}
	if r.credit.Loop != nil || a.was.credit != nil && a.was.credit.Loop != nil {
		return Transition{State: LoopedAnyway}, nil
	}
	if r.rules == a.was.rules && slices.EqualFunc(r.tables.LFT, a.in.Prev.LFT, bytes.Equal) {
		return tr, nil // no switch is written
	}
	in := a.search(r)
	in.Multicast = a.Groups
	before := a.before(&in)
	// hosts use those of before until they ask again: with a loop then, no order of writing helps
	if in.SLs != before.SLs {
		tr.Risk, err = loopOf(ctx, in, &creditloop.Rules{Forwarding: in.Forwarding, SLs: before.SLs, Maps: in.Maps})
		tr.State = AtRiskUntilAsked
	}
	if err == nil && tr.Risk == nil {
		in.Since, in.Before = r.credit, before
		var found *creditloop.Transition
		if found, err = creditloop.Order(ctx, in, a.searches()); err == nil {
			tr = Transition{AtRisk, found.Stages, found.Risk}
		}
	}
	switch {
	case err != nil:
		return tr, err
	case tr.Risk == nil:
		return Transition{Order: tr.Order}, nil
	}
	old := in
	old.Forwarding, old.SLs, old.Maps, old.Since = before.Forwarding, before.SLs, before.Maps, nil
	if was, err := loopOf(ctx, old, nil); err != nil || was != nil {
		return Transition{State: LoopedAnyway}, err // the risk is there, and ends with the last Set
	}
	return tr, nil
}

// loopOf is a credit loop of a search where each switch follows the rules of before, too.
func loopOf(ctx context.Context, in creditloop.In, before *creditloop.Rules) ([]creditloop.Channel, error) {
	in.Before = before
	r, err := creditloop.Find(ctx, in)
	if err != nil {
		return nil, err
	}
	return r.Loop, nil
}

// before are the rules of packets before the plan; those of in where they are the same.
func (a *attempt) before(in *creditloop.In) *creditloop.Rules {
	rows := slices.Clone(a.in.Prev.LFT)
	for s := range rows {
		if !plan.InUse(a.Topo, topo.SwitchIdx(s)) {
			rows[s] = in.Forwarding.Rows[s] // it is written before packets pass it
		}
	}
	before := &creditloop.Rules{Forwarding: in.Forwarding.With(rows, a.in.Prev.Top), SLs: a.was.sls}
	if before.SLs.Equal(in.SLs) {
		before.SLs = in.SLs
	}
	if held := plan.NewLaneRules(a.Topo, a.in.Lanes, nil, nil, a.Ports,
		a.Devices.Optional); held != nil {
		before.Maps = held.Maps
	}
	if before.Maps.Equal(in.Maps) {
		before.Maps = in.Maps
	}
	return before
}

// maxSearched is how many entries of forwarding tables all searches for an order go through: about two seconds of work.
const maxSearched = 60e6

// searches is how many searches an order of writing may take: one where a link is lost, because packets
// are until the tables are written.
func (a *attempt) searches() int {
	if a.Prev != nil && linksAdded(a.Topo, a.Prev) {
		return 1
	}
	entries := len(a.Topo.Switches) * (int(a.LIDs.Top) + 1)
	return min(max(maxSearched/entries, 3), 64)
}
