package sim_test

import (
	"slices"
	"testing"
	"time"

	"ibsm/manager"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net/nettest"
)

// planAskers are several that ask a manager for plans.
type planAskers struct {
	*harness
	m       *watched
	answers []manager.Planned
	out     bool // a plan is being computed
}

func newPlanAskers(t *testing.T) *planAskers {
	b := newHarness(t, nettest.Generate(t, "fattree:k=4"), fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.SweepInterval = 0
	a := &planAskers{harness: b, m: b.comeUp(cfg)}
	forward := a.m.OnAction
	a.m.OnAction = func(now time.Duration, did manager.Action) {
		switch did := did.(type) {
		case manager.Planned:
			a.answers, a.out = append(a.answers, did), false
		case manager.Task:
			if did.Routes != nil {
				a.out = did.Purpose == manager.ForPlan
			}
		}
		forward(now, did)
	}
	return a
}

// long is longer than all that a test waits for otherwise.
const long = 10 * settling

// ask asks for a plan, under the next number.
func (a *planAskers) ask(number uint64, what manager.SweepRequested) {
	what.Number = number
	a.Request(a.m.Manager, what)
}

// computing goes on until a plan is being computed, which takes long.
func (a *planAskers) computing() {
	a.Helper()
	short := a.ComputeTime
	a.ComputeTime = long
	a.Run(a.Fabric.Now()+settling, func() bool { return a.out })
	if a.ComputeTime = short; !a.out {
		a.Fatal("no plan is being computed")
	}
}

// Of several that ask for plans at once each gets its own, of the subnet and the configuration that
// are in force when it begins.
func TestPlansAtOnce(t *testing.T) {
	a := newPlanAskers(t)
	away := a.m.View.Topo.Nodes[a.m.View.Topo.Switches[len(a.m.View.Topo.Switches)-1]].GUID
	policy := &sweep.Policy{Settings: minhopConfig().Sweep.Settings, Partitions: minhopConfig().Sweep.Partitions}
	a.ask(1, manager.SweepRequested{Sweep: manager.Plan})
	a.ask(2, manager.SweepRequested{Sweep: manager.PlanReroute})
	a.ask(3, manager.SweepRequested{
		Sweep: manager.Plan, Preview: manager.Preview{Without: []routing.SwitchPort{{Switch: away}}},
	})
	a.ask(4, manager.SweepRequested{Sweep: manager.Plan, Preview: manager.Preview{Policy: policy}})
	a.computing()
	switches := len(a.m.View.Topo.Switches)
	a.Fabric.NodeDown(uplinkPeer(a.net))
	cfg := minhopConfig()
	cfg.SweepInterval = 0
	a.Configure(a.m.Manager, cfg)
	a.pass(settling)
	if len(a.answers) > 0 {
		t.Fatalf("%d plans were answered while the first was computed", len(a.answers))
	}
	a.pass(long)
	if len(a.answers) != 4 {
		t.Fatalf("4 plans, %d answers", len(a.answers))
	}
	for i, want := range []struct {
		switches int
		outdated bool
	}{{switches, true}, {switches - 1, false}, {switches - 2, false}, {switches - 1, true}} {
		p := a.answers[i]
		if p.Err != nil || p.Number != uint64(i+1) {
			t.Fatalf("answer %d: number %d, %v", i, p.Number, p.Err)
		}
		if n := len(p.Plan.Topo.Switches); n != want.switches || p.Outdated != want.outdated {
			t.Errorf("plan %d: %d switches, outdated: %t; want %d, %t", p.Number, n, p.Outdated, want.switches,
				want.outdated)
		}
	}
	a.m.sweep(manager.Heavy)
	a.mustBeWhole(a.m)
}

// A plan ends when the client that asked for it leaves: one that is computed at once, so that the next begins. One that
// waits does not begin.
func TestPlansLeave(t *testing.T) {
	a := newPlanAskers(t)
	for number := range uint64(4) {
		a.ask(number, manager.SweepRequested{Sweep: manager.Plan})
	}
	a.computing()
	a.ask(2, manager.SweepRequested{Sweep: manager.EndPlan})
	a.ask(0, manager.SweepRequested{Sweep: manager.EndPlan})
	a.pass(settling)
	var answered []uint64
	for _, p := range a.answers {
		if answered = append(answered, p.Number); p.Err != nil {
			t.Errorf("plan %d: %v", p.Number, p.Err)
		}
	}
	if !slices.Equal(answered, []uint64{1, 3}) {
		t.Errorf("after 0 and 2 have left, %d were answered, want 1 and 3", answered)
	}
	count := a.m.Core.Stats().Sweeps[manager.PlanSweep]
	a.ask(9, manager.SweepRequested{Sweep: manager.Plan})
	a.ask(9, manager.SweepRequested{Sweep: manager.EndPlan}) // its walk has begun
	a.pass(settling)
	if n := a.m.Core.Stats().Sweeps[manager.PlanSweep]; len(a.answers) != 2 || n != count+1 {
		t.Errorf("%d answers, %d walks for a plan that was not waited for", len(a.answers), n-count)
	}
	a.m.sweep(manager.Heavy)
	a.mustBeWhole(a.m)
}
