package routes

import (
	"context"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/mcast"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// proof is the proof about tables before they are written: packets between hosts cannot wait for each other for ever,
// on the lanes that ports will have by then.
type proof struct {
	credit  *creditloop.Report
	rules   *plan.LaneRules // nil where each SL is on the lane of its number, as far as anybody knows
	trees   []mcast.Group   // multicast trees that the proof covers
	fitting Fitting         // of SLs to tables found
}

// prove proves r's tables with the lanes that ports will have. Where nothing but routes has changed
// since the last proof, only the changed ones are followed.
func (a *attempt) prove(ctx context.Context, r *routed) (err error) {
	r.rules = a.rules(r.tables.SLs, r.fitting.State == Fitted)
	r.trees = a.Groups
	in := a.search(r)
	in.Multicast, in.Since = a.Groups, a.was.credit
	r.credit, err = creditloop.Find(ctx, in)
	return err
}

// withoutTrees is the proof of r without multicast trees.
func (a *attempt) withoutTrees(ctx context.Context, r *routed) (*creditloop.Report, error) {
	if len(a.Groups) == 0 {
		return r.credit, nil
	}
	return creditloop.Find(ctx, a.search(r))
}

// search is one for credit loops among packets between hosts by r.
func (a *attempt) search(r *routed) creditloop.In {
	in := proofOf(a.Topo, a.LIDs, r.report.Forwarding(), r.tables.SLs, r.rules)
	in.Workers = a.Workers
	return in
}

// proofOf is a search among packets between hosts.
func proofOf(t *topo.Topo, l *topo.LIDs, f *routing.Forwarding, sls *routing.SLs, rules *plan.LaneRules) creditloop.In {
	in := creditloop.In{Topo: t, LIDs: l, Forwarding: f, SLs: sls, Traffic: creditloop.BetweenHosts}
	if rules != nil {
		in.Maps, in.Lanes, in.Turns = rules.Maps, rules.Lanes, rules.Turns
	}
	return in
}

// rules are the ports' future use of lanes; the rules of the last proof if they are the same.
func (a *attempt) rules(sls *routing.SLs, fitted bool) *plan.LaneRules {
	rules := plan.NewLaneRules(a.Topo, a.in.Lanes, a.Settings.uses(sls, fitted), sls.Lanes(), a.Ports,
		a.Devices.Optional)
	if rules.Same(a.was.rules) {
		return a.was.rules
	}
	return rules
}
