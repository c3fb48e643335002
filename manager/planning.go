package manager

import "ibsm/sweep"

// Planned answers Plan and PlanReroute. Computed is the receiver's alone, whatever the
// manager does next; it is nil where Err says why there is no plan.
type Planned struct {
	Computed *sweep.SweepPlan
	Err      error
}

func (Planned) action() {}

// planning is the machine of plans, which are asked for one after the other. A plan is a heavy
// sweep that walks and computes like any other and then is dropped.
type planning struct {
	state   planState
	reroute bool // of the plan that was asked for last
}

// planState is how far a plan is.
type planState uint8

const (
	noPlan       planState = iota
	planWanted             // one was asked for
	planRunning            // the sweep under way is one
	planRepeated           // the same, and another one was asked for since
)

func (s planState) String() string { return [...]string{"none", "wanted", "running", "repeated"}[s] }

// ask takes a request for a plan.
func (p *planning) ask(reroute bool) {
	p.reroute = reroute
	switch p.state {
	case noPlan:
		p.state = planWanted
	case planRunning:
		p.state = planRepeated
	}
}

// wanted reports whether a sweep is wanted for a plan.
func (p *planning) wanted() bool { return p.state == planWanted }

// begin takes that the sweep that is beginning is one.
func (p *planning) begin() { p.state = planRunning }

// putOff takes that it was dropped for another sweep.
func (p *planning) putOff() {
	if p.state == planRunning || p.state == planRepeated {
		p.state = planWanted
	}
}

// done answers the plan.
func (p *planning) done(fx *effects, r *sweep.SweepPlan) {
	if p.state == planRepeated {
		p.state = planWanted
	} else {
		p.state = noPlan
	}
	fx.do(Planned{r, r.Err})
}

// refuse answers all plans that were asked for.
func (p *planning) refuse(fx *effects, err error) {
	if p.state != noPlan {
		*p = planning{}
		fx.do(Planned{Err: err})
	}
}
