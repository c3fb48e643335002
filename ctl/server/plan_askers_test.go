package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/manager"
	"ibsm/sweep"
	"ibsm/sweep/routes"
)

// planned is what became of a client's request.
type planned struct {
	manager.Planned
	err error
}

// newPlanning is a server with a manager that is a test.
func newPlanning() (d *Server, asks chan manager.SweepRequested,
	ask func(ctx context.Context, what manager.Sweep) <-chan planned) {
	asks = make(chan manager.SweepRequested)
	d = New(Config{Asks: asks})
	return d, asks, func(ctx context.Context, what manager.Sweep) <-chan planned {
		ended := make(chan planned, 1)
		go func() {
			p, err := d.planned(ctx, manager.SweepRequested{Sweep: what})
			ended <- planned{p, err}
		}()
		return ended
	}
}

// answer is a plan by an engine, which names whose it is.
func answer(number uint64, engine string) manager.Planned {
	found := routes.Result{Choice: routes.Choice{Engine: engine}}
	return manager.Planned{Number: number, Plan: &sweep.SweepPlan{Result: found}}
}

// TestTwoPlans: two clients that ask at once get each its own plan, in whatever order these come.
func TestTwoPlans(t *testing.T) {
	d, asks, ask := newPlanning()
	first := ask(t.Context(), manager.Plan)
	a := <-asks
	second := ask(t.Context(), manager.PlanReroute)
	b := <-asks
	if a.Sweep != manager.Plan || b.Sweep != manager.PlanReroute || a.Number == b.Number {
		t.Fatalf("asked for %+v and %+v", a, b)
	}
	d.Notify(answer(b.Number, "tree"))
	d.Notify(answer(a.Number, "minhop"))
	d.Notify(answer(a.Number, "once more, for nobody"))
	for engine, ended := range map[string]<-chan planned{"minhop": first, "tree": second} {
		if p := <-ended; p.err != nil || p.Plan.Engine != engine {
			t.Errorf("%+v, %v; want that of %s", p.Planned, p.err, engine)
		}
	}
}

// TestPlanLeaves: the manager learns that a client has left, and the answer that comes nevertheless is nobody else's.
func TestPlanLeaves(t *testing.T) {
	d, asks, ask := newPlanning()
	ctx, leave := context.WithCancel(t.Context())
	gone := ask(ctx, manager.Plan)
	a := <-asks
	leave()
	if e := <-asks; e.Sweep != manager.EndPlan || e.Number != a.Number {
		t.Errorf("the manager gets %+v when the client of plan %d has left", e, a.Number)
	}
	if p := <-gone; !errors.Is(p.err, context.Canceled) {
		t.Errorf("the asker that has left: %+v, %v", p.Planned, p.err)
	}
	next := ask(t.Context(), manager.Plan)
	b := <-asks
	d.Notify(answer(a.Number, "stale"))
	d.Notify(answer(b.Number, "minhop"))
	if p := <-next; p.err != nil || p.Plan.Engine != "minhop" {
		t.Errorf("the next: %+v, %v", p.Planned, p.err)
	}
}

// TestPlansWithoutManager: all that wait have an answer when the manager ends, also one whose request it has not taken,
// and one that leaves a manager which takes nothing any more does not wait for it.
func TestPlansWithoutManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, asks, ask := newPlanning()
		ctx, leave := context.WithCancel(t.Context())
		left := ask(ctx, manager.Plan)
		<-asks
		begun := time.Now()
		leave()
		if p := <-left; !errors.Is(p.err, context.Canceled) || time.Since(begun) > endPatience {
			t.Errorf("the asker that has left: %v after %v", p.err, time.Since(begun))
		}
		all := []<-chan planned{ask(t.Context(), manager.Plan), ask(t.Context(), manager.Plan)}
		<-asks
		<-asks
		all = append(all, ask(t.Context(), manager.Plan))
		synctest.Wait()
		d.Wait("no cable")
		for _, ended := range all {
			if p := <-ended; p.err != nil || !errors.Is(p.Err, errNoManager) {
				t.Errorf("without a manager: %v, %v", p.err, p.Err)
			}
		}
	})
}
