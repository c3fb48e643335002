package manager

import (
	"ibsm/mad/smp"
	"ibsm/sweep"
)

// Planned answers Plan and PlanReroute. Computed is the receiver's alone, whatever the
// manager does next; it is nil where Err says why there is no plan.
type Planned struct {
	Computed *sweep.Computed
	Err      error
}

func (Planned) action() {}

// planning is a plan that is asked for, or being made: a heavy sweep that walks and
// computes like any other, beside the memory of the others, and then is dropped.
type planning struct {
	wanted  bool
	reroute bool
	under   bool // the sweep under way is one
}

// beginPlan begins the walk. It clears nothing, so that no change is lost to the next
// sweep.
func (c *Core) beginPlan(state smp.SMState) {
	if state != smp.Master {
		c.refusePlan(ErrNotMaster)
		return
	}
	c.beginSlow()
	c.plan.wanted, c.plan.under = false, true
	c.stats.Sweeps[PlanSweep]++
	c.sweeper.Walk(false, false)
}

// planWalked goes on from the walk to the computation.
func (c *Core) planWalked(selfDown bool) {
	if selfDown {
		c.refusePlan(ErrPortDown)
		c.sweeper.Drop()
		return
	}
	c.do(Compute{Job: c.sweeper.Preview(c.plan.reroute).WithMulticast(c.multicast)})
}

// planned ends it.
func (c *Core) planned(r *sweep.Computed) {
	c.plan.under = false
	c.sweeper.Drop()
	c.do(Planned{r, r.Err})
}

// refusePlan answers who waits for a plan, if anybody does.
func (c *Core) refusePlan(err error) {
	if c.plan.wanted || c.plan.under {
		c.plan = planning{}
		c.do(Planned{Err: err})
	}
}
