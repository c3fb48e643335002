package sweep

import (
	"context"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/sweep/plan"
)

// proof is what is proved of tables before they are written: that packets between hosts cannot wait
// for each other for ever, on the lanes that ports have by then.
type proof struct {
	credit  *creditloop.Report
	rules   *plan.LaneRules // nil where each SL is on the lane of its number, as far as anybody knows
	fitting Fitting         // of SLs to tables found
}

// prove proves r's tables with the lanes that ports will have. Where nothing but routes has changed
// since the last proof, only the changed ones are followed.
func (a *attempts) prove(ctx context.Context, r *routed) (err error) {
	r.rules = a.rules(r.tables.SLs, r.fitting.State == Fitted)
	in := a.search(r)
	in.Since = a.state.credit
	r.credit, err = creditloop.Find(ctx, in)
	return err
}

// search is one for credit loops among packets between hosts by r.
func (a *attempts) search(r *routed) creditloop.In {
	in := creditloop.In{Topo: a.out.Topo, LIDs: a.out.LIDs, Forwarding: r.report.Forwarding(), SLs: r.tables.SLs, Traffic: creditloop.BetweenHosts}
	if r.rules != nil {
		in.Maps, in.Lanes, in.Turns = r.rules.Maps, r.rules.Lanes, r.rules.Turns
	}
	return in
}

// rules are how ports will use their lanes, those of the last proof where they are the same.
func (a *attempts) rules(sls *routing.SLs, fitted bool) *plan.LaneRules {
	rules := plan.NewLaneRules(a.out.Topo, a.in.Lanes, usesOf(&a.settings, sls, fitted), sls.Lanes(), a.out.delta.ports)
	if rules.Same(a.state.rules) {
		return a.state.rules
	}
	return rules
}
