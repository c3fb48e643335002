package manager

import (
	"time"

	"ibsm/mad/smp"
	"ibsm/mad/txn"
)

// reservedForLeases is how many requests that renew leases may be under way however many others wait: a deadline must
// not depend on what a sweep asks for.
const reservedForLeases = 8

// mostForLeases bounds them to three quarters of what may be on the wire. A request to a port that does not answer
// stays there for all its attempts, and the sweep that finds another way to the port must not wait for it.
const mostForLeases = 96

// mayRenew reports whether one more lease may be renewed now.
func (c *Core) mayRenew() bool {
	return c.elect.State() == smp.Master && c.handover.state != exited &&
		(c.fx.table.Room() > 0 && c.leases.Asked() < mostForLeases || c.leases.Asked() < reservedForLeases)
}

// renewLeases asks the ports whose leases are due for renewal. It goes on between sweeps and during them, also where
// they are held back.
func (c *Core) renewLeases() {
	if c.elect.State() != smp.Master {
		return
	}
	c.leases.Follow(c.fx.now)
	for c.mayRenew() {
		req, ok := c.leases.Next(c.fx.now, c.fx.table.Room() > 0)
		if !ok {
			return
		}
		if req.Owner = ownerLeases; !c.fx.request(&req) {
			c.leases.Done(&txn.Outcome{Tag: req.Tag, Result: txn.Cancelled})
			return
		}
	}
}

// renewed takes the outcome of such a request. The full sweep for a port that has lost its protection is held off as
// one because of a trap is: an agent that lies may say so after each sweep.
func (c *Core) renewed(o *txn.Outcome) {
	if lost := c.leases.Done(o); lost != "" {
		c.fx.log(info, "heavy sweep needed", "reason", lost)
		c.traps.sweep(c.fx.now, wishFull, lost)
	}
}

// leasesDue is when renewLeases has something to do; false for never. Where no more requests are allowed, the end of
// one comes first.
func (c *Core) leasesDue() (time.Duration, bool) {
	at, ok := c.leases.Due(c.fx.table.Room() > 0)
	return at, ok && c.mayRenew()
}
