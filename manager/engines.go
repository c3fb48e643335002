package manager

import (
	"fmt"
	"slices"

	"ibsm/finding"
	osmlog "ibsm/opensm/log"
	"ibsm/routing"
	"ibsm/sweep"
	"ibsm/sweep/routes"
	"ibsm/view"
)

// RoutingOf says where the routes of a plan come from.
func RoutingOf(r *sweep.SweepPlan) view.Routing {
	v := view.Routing{Engine: r.Engine, Kept: r.Tables != nil && r.Keep == routing.KeepWorking, Foreign: r.Foreign,
		Awaited: r.Awaited, Fabric: r.Seen}
	if r.Tables != nil {
		v.Notes = r.Tables.Notes
	}
	switch r.Fitting.State {
	case routes.Fitted:
		v.Lanes = fmt.Sprintf("need %d service levels to avoid credit loops", r.Fitting.Needed)
	case routes.TooFewLanes:
		v.Lanes = "have a credit loop: they need " + lanesNeeded(&r.Fitting)
	}
	for _, f := range r.Refused {
		v.Refused = append(v.Refused, view.Refusal{Engine: f.Engine, Reason: f.Err.Error()})
	}
	return v
}

// logRefusals logs in OpenSM's words which engines have begun to refuse the subnet.
func logRefusals(fx *effects, r *sweep.SweepPlan, began []finding.Finding) {
	for i := range began {
		for _, f := range r.Refused {
			if began[i].Kind != finding.EngineRefused || began[i].Detail != f.String() {
				continue
			}
			for _, words := range osmlog.EngineRefused(f.Engine, f.Err) {
				fx.log(erro, words)
			}
		}
	}
}

// logNotes logs the engine's notes about its routes, if they have changed.
func (l *sweepLog) logNotes(fx *effects, r *sweep.SweepPlan) {
	if r.Taken {
		fx.log(info, "the routes of the routing engine replace the interim routes", "engine", r.Engine)
	}
	if r.Tables != nil && !slices.Equal(r.Tables.Notes, l.notes) {
		l.notes = r.Tables.Notes
		for _, note := range l.notes {
			fx.log(info, note, "engine", r.Engine)
		}
	}
}
