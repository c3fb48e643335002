package manager

import (
	"time"

	osmlog "ibsm/opensm/log"
	"ibsm/sweep"
)

// A link that changes its state is looked at by a quick sweep, which costs little and so is
// soon done. It goes before whatever takes longer; that is begun again after it. A storm
// of traps puts it off for so long and no longer.

// maxPutOff is how long a sweep may be put off, and begun again, for quick ones.
const maxPutOff = 5 * time.Second

// beginHeavy starts a heavy sweep: a quick one where that is enough, or where a link has
// changed its state and what else is to be asked can wait for it.
func (c *Core) beginHeavy() {
	c.quick = c.mayQuick() && (!c.full || c.urgent && !c.overdue())
	c.log(debug, osmlog.HeavySweep, "reason", c.why, "quick", c.quick)
	c.heavy = c.quick && c.full
	c.full, c.light, c.urgent = c.heavy, c.quick && c.light, false
	if !c.quick {
		c.beginSlow()
	}
	if !c.quick || c.trouble == "" {
		c.nextSweep = 0
	}
	c.started = c.now
	c.sweeper.Walk(c.mayWrite(), c.quick)
	c.countHeavy()
}

// mayQuick reports whether what is known of the subnet is enough for a quick sweep.
func (c *Core) mayQuick() bool {
	return c.mayWrite() && !c.distrust && c.sweeper.Known()
}

// beginSlow notes that a sweep begins that links which change their state do not wait for.
func (c *Core) beginSlow() {
	if c.slowSince == 0 {
		c.slowSince = c.now
	}
}

// overdue reports whether a sweep has been put off for as long as it may be.
func (c *Core) overdue() bool { return c.slowSince > 0 && c.now-c.slowSince > maxPutOff }

// hurry has a quick sweep look at once where a link has changed its state. A slow sweep that
// is still asking is begun again after it, unless that has been going on for too long.
func (c *Core) hurry() {
	c.urgent = true
	if !c.mayQuick() || c.overdue() {
		return
	}
	switch phase := c.sweeper.Phase(); {
	case phase == sweep.Looking:
		c.light = true
	case phase == sweep.Walking && c.plan.under:
		c.plan.under, c.plan.wanted = false, true
	case phase == sweep.Walking && !c.quick:
		c.full = true
	default:
		return
	}
	c.log(debug, "the sweep under way is put off for a quick one")
	c.cancelSweep()
	c.sweeper.Drop()
}
