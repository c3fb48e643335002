package manager

import (
	"time"

	"ibsm/sweep"
)

// Planned answers Plan and PlanReroute. Computed is the receiver's alone, whatever the
// manager does next; it is nil where Err says why there is no plan.
type Planned struct {
	Computed *sweep.SweepPlan
	Outdated bool // the subnet or the configuration may have changed since Computed's walk
	Err      error
}

func (Planned) action() {}

// planning is the machine of plans, which are made one after the other. A plan walks as a heavy
// sweep does. Then it is computed from a snapshot, beside the sweep that comes next, and
// nothing of it is kept.
type planning struct {
	state    planState
	asked    planRequest   // and not begun
	begun    planRequest   // of the plan under way
	next, of Preview       // asked and begun
	since    time.Duration // when its computation began
}

// planState is how far a plan is.
type planState uint8

const (
	noPlan        planState = iota
	planWalking             // the sweep under way is one
	planComputing           // its task is out
	planCancelled           // it was given up; the result of its task is awaited
)

func (s planState) String() string {
	return [...]string{"none", "walking", "computing", "cancelled"}[s]
}

// planRequest is what was asked for.
type planRequest uint8

const (
	noRequest  planRequest = iota
	keepRoutes             // as a heavy sweep
	newRoutes              // as a reroute
)

func (r planRequest) String() string { return [...]string{"none", "keep routes", "new routes"}[r] }

// ask takes a request for a plan.
func (p *planning) ask(r planRequest) { p.asked, p.next = r, Preview{} }

// wanted reports whether a sweep is wanted for a plan.
func (p *planning) wanted() bool { return p.state == noPlan && p.asked != noRequest }

// begin notes that the sweep that begins is the walk of the plan.
func (p *planning) begin() {
	p.state, p.begun, p.of = planWalking, p.asked, p.next
	p.asked, p.next = noRequest, Preview{}
}

// compute goes on from the walk.
func (p *planning) compute(fx *effects, task *sweep.RouteTask) {
	p.state, p.since = planComputing, fx.now
	fx.do(Compute{Task: task, For: ForPlan})
}

// computes reports whether a task is out.
func (p *planning) computes() bool { return p.state >= planComputing }

// putOff gives up the plan under way; it is made again.
func (p *planning) putOff(fx *effects) {
	if p.asked == noRequest {
		p.asked, p.next = p.begun, p.of
	}
	p.giveUp(fx)
}

func (p *planning) giveUp(fx *effects) {
	p.begun = noRequest
	switch p.state {
	case planWalking:
		p.state = noPlan
	case planComputing:
		p.state = planCancelled
		fx.do(Cancel{ForPlan})
	}
}

// done answers the plan with the result of its task.
func (p *planning) done(fx *effects, r *sweep.SweepPlan, outdated bool) {
	if p.state != planCancelled && r != nil {
		fx.do(Planned{r, outdated, r.Err})
	}
	p.state, p.begun = noPlan, noRequest
}

// refuse answers all plans that were asked for.
func (p *planning) refuse(fx *effects, err error) {
	if p.asked != noRequest || p.begun != noRequest {
		p.asked = noRequest
		p.giveUp(fx)
		fx.do(Planned{Err: err})
	}
}
