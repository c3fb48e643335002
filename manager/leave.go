package manager

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
)

// Unlist says that this manager hands the mastership over and ends: its port is to say no
// more that a manager runs there, before what follows is sent. Otherwise the new master
// would wait for its answer.
type Unlist struct{}

func (Unlist) action() {}

// leaving is the end of a manager that was told to end.
type leaving struct {
	by time.Duration // when it ends at the latest; 0 before it was told to
	to mad.GUID      // who is to be handed the mastership
}

// leave ends this manager, a MASTER when it has handed the mastership over, if there is
// somebody who takes it. Until then it answers from what was published, and writes nothing.
func (c *Core) leave() {
	if c.elect.State() == smp.Master {
		c.pause()
	}
	c.leaving.by = c.now + elect.LeavePatience
	others := make([]smp.SMInfo, len(c.others))
	for i := range c.others {
		others[i] = c.others[i].Info
	}
	c.act(c.elect.Leave(c.now, others))
}

// maxMet bounds the managers that this one knows by their questions.
const maxMet = 16

// meet notes a standby of our own kind that asks, and the way back to it, if the last walk
// has not met it: it may not have answered then.
func (c *Core) meet(p *mad.Packet) {
	info := (*smp.SMInfo)(p.Data())
	known := func(o discover.SM) bool { return o.Info.GUID() == info.GUID() }
	if !elect.IsQuestion(info) || info.GUID() == c.own.guid || p.MgmtClass() != mad.ClassDirected || slices.ContainsFunc(c.others, known) || len(c.others) >= maxMet {
		return
	}
	hops := min(p.HopCount(), mad.MaxHops)
	back := slices.Clone(p.ReturnPath()[1 : 1+hops])
	slices.Reverse(back)
	c.others = append(c.others, discover.SM{Port: info.GUID(), Route: mad.MakeRoute(back...), Info: *info})
}

// offer begins to ask a standby what it is.
func (c *Core) offer() {
	c.leaving.to = c.elect.Polled()
	for i := range c.others {
		if c.others[i].Info.GUID() == c.leaving.to {
			c.polledAt, c.polledLID = c.others[i].Route, c.others[i].LID
		}
	}
}

// depart hands the mastership over for good.
func (c *Core) depart() {
	c.abandon()
	c.log(info, "ending: handing the mastership over", "guid", c.leaving.to)
	c.do(Unlist{})
	c.order(smp.ControlHandover, smp.Master, tagHandover)
}

// departed ends this manager when its HANDOVER was answered, or was not.
func (c *Core) departed() {
	if c.leaving.by > 0 && !c.stopped {
		c.exit(nil)
	}
}
