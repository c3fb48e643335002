package manager

import (
	"testing"

	"ibsm/finding"
	"ibsm/opensm/names"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/plan"
	"ibsm/view"
)

// TestFindingsOfView: a view has the first findings, those of the subnet as a whole before them, and how many more
// there are.
func TestFindingsOfView(t *testing.T) {
	for count, want := range map[int]int{0: 0, 1: 0, view.MaxFindings - 1: 0, view.MaxFindings: 1,
		view.MaxFindings + 10: 11} {
		l := sweepLog{findings: findings{plan: finding.Of([]finding.Finding{{Kind: finding.NoRoutes}})}}
		out := &sweep.Outcome{SweepPlan: &sweep.SweepPlan{Topo: servedView().Topo, Plan: &plan.Plan{}},
			Found: &discover.Result{}, NotKept: make([]finding.Finding, count)}
		all, more := l.viewFindings(out, programFindings(out, names.Map{}))
		if len(all)+more != 1+count || more != want || all[0].Kind != finding.NoRoutes {
			t.Errorf("%d ports that keep nothing: %d findings and %d more, the first is %+v", count, len(all), more,
				all[0])
		}
	}
}
