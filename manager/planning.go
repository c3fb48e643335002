package manager

import (
	"slices"
	"time"

	"ibsm/sweep"
)

// Planned answers Plan and PlanReroute. The Plan belongs to the receiver, whatever the manager does next; it is nil if
// Err says why there is no plan.
type Planned struct {
	Number uint64 // of the request
	Plan   *sweep.SweepPlan
	// the subnet or the configuration may have changed since the Plan's walk, or the configuration since the request
	Outdated bool
	Err      error
}

func (Planned) action() {}

// planning is the machine of plans, which are made one after the other: each holds a subnet of its own, and has
// one processor, so that two at a time would be no sooner done. A plan walks as a heavy
// sweep does. Then it is computed from a snapshot, beside the sweep that comes next, and
// nothing of it is kept.
type planning struct {
	state planState
	asked []planRequest // and not begun, in order; the number of clients bounds theirs
	begun planRequest   // where state is planWalking or planComputing
	since time.Duration // when its computation began
}

// planState is how far a plan is.
type planState uint8

const (
	noPlan        planState = iota
	planWalking             // the sweep under way is one
	planComputing           // its task is out
	planCancelled           // it was given up; the result of its task is awaited
)

// planRequest is the pending request for a plan.
type planRequest struct {
	number    uint64
	reroute   bool // with new routes
	overtaken bool // what it brings was made of a configuration that is not in force any more
	Preview
}

// ask takes a request for a plan.
func (p *planning) ask(r planRequest) { p.asked = append(p.asked, r) }

// wanted reports whether a sweep is wanted for a plan.
func (p *planning) wanted() bool { return p.state == noPlan && len(p.asked) > 0 }

// begin notes that the sweep that begins is the walk of the first plan.
func (p *planning) begin() {
	p.state, p.begun = planWalking, p.asked[0]
	p.asked = slices.Delete(p.asked, 0, 1)
}

// compute goes on from the walk.
func (p *planning) compute(fx *effects, task *sweep.RouteTask) {
	p.state, p.since = planComputing, fx.now
	fx.do(routeTask(ForPlan, task))
}

// computes reports whether a task is out.
func (p *planning) computes() bool { return p.state >= planComputing }

// underWay reports whether a plan is.
func (p *planning) underWay() bool { return p.state == planWalking || p.state == planComputing }

// putOff gives up the plan under way; it is the next that is made.
func (p *planning) putOff(fx *effects) {
	if p.underWay() {
		p.asked = slices.Insert(p.asked, 0, p.begun)
	}
	p.giveUp(fx)
}

func (p *planning) giveUp(fx *effects) {
	p.begun = planRequest{}
	switch p.state {
	case planWalking:
		p.state = noPlan
	case planComputing:
		p.state = planCancelled
		fx.do(Cancel{ForPlan})
	}
}

// left gives up a plan whose asker has left.
func (p *planning) left(fx *effects, number uint64) {
	p.asked = slices.DeleteFunc(p.asked, func(r planRequest) bool { return r.number == number })
	if p.underWay() && p.begun.number == number {
		p.giveUp(fx)
	}
}

// reconfigured takes that the configuration is another. A plan that brings nothing takes the one in force when it
// begins.
func (p *planning) reconfigured() {
	note := func(r *planRequest) { r.overtaken = r.overtaken || r.Engines != nil || r.Policy != nil }
	note(&p.begun)
	for i := range p.asked {
		note(&p.asked[i])
	}
}

// done answers the plan with the result of its task.
func (p *planning) done(fx *effects, r *sweep.SweepPlan, outdated bool) {
	if p.state != planCancelled && r != nil {
		fx.do(Planned{p.begun.number, r, outdated || p.begun.overtaken, r.Err})
	}
	p.state, p.begun = noPlan, planRequest{}
}

// refuse answers all plans that were asked for.
func (p *planning) refuse(fx *effects, err error) {
	if p.underWay() {
		number := p.begun.number
		p.giveUp(fx)
		fx.do(Planned{Number: number, Err: err})
	}
	for _, r := range p.asked {
		fx.do(Planned{Number: r.number, Err: err})
	}
	p.asked = nil
}
