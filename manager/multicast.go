package manager

import (
	"fmt"

	"ibsm/registry"
	"ibsm/sweep"
)

// Grow runs a GrowJob and returns its result as MulticastComputed. A further one may be given
// out before the result of one is there, which then is of no account.
type Grow struct{ Job *sweep.GrowJob }

// Forwarded says that the tables of the switches carry what was registered up to Seq. It
// comes for the last of the States that were given with RegistryChanged, also where no
// table had to change and where some switch did not take its own: Failures tells. A
// manager that is not master forwards nothing.
type Forwarded struct{ sweep.Forwarding }

func (Grow) action()      {}
func (Forwarded) action() {}

// setRegistry takes what is registered now.
func (c *Core) setRegistry(s *registry.State) {
	c.multicast.SetRegistry(s)
	c.sweeper.SetMulticastTop(c.multicast.Top())
	c.raise()
}

// raise asks for a sweep that raises MulticastFDBTop where it is too low: also after one for
// which the groups came too late that need it.
func (c *Core) raise() {
	if c.view != nil && c.multicast.Short() {
		c.wantQuick("switches are to forward more multicast LIDs")
	}
}

// multicastOn goes on with the multicast tables, and reports whether there is more to be
// asked.
func (c *Core) multicastOn() (more bool) {
	job, told, more := c.multicast.Settle(c.now)
	if job != nil {
		c.do(Grow{job})
	}
	if told != nil {
		c.forwarded(told)
	}
	return more
}

// forwarded publishes the tables of a round that is over, and tells of it.
func (c *Core) forwarded(told *sweep.Forwarding) {
	if c.view != nil {
		if mfts := c.multicast.MFTs(c.view.Topo); mfts != c.view.MFTs {
			c.gen++
			v := *c.view
			v.Gen, v.MFTs = c.gen, mfts
			c.view = &v
			c.do(Publish{&v})
		}
	}
	c.tellMulticast(told)
	c.do(Forwarded{*told})
}

// tellMulticast tells what is wrong with multicast when that has changed.
func (c *Core) tellMulticast(told *sweep.Forwarding) {
	trouble := ""
	if told.Err != nil {
		trouble = told.Err.Error()
	} else if len(told.Failures) > 0 {
		trouble = told.Failures[0].String()
	}
	if trouble != c.multicastTrouble {
		if c.multicastTrouble = trouble; trouble != "" {
			c.log(erro, "multicast tables are not as they should be", "first", trouble, "failures", len(told.Failures))
		} else {
			c.log(info, "all multicast tables are as they should be again")
		}
	}
	if told.Missed != c.multicastMissed {
		c.multicastMissed = told.Missed
		c.log(warn, fmt.Sprintf("members that no multicast tree reaches: %d", told.Missed))
	}
}
