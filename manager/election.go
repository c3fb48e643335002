package manager

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/view"
)

// stall is for how long this manager may stand still before another one may have taken
// its place: one poll. One of our own kind is polled every two seconds; less than half a
// second is what a busy machine may take, and no death is declared after one poll.
func (c *Core) stall() time.Duration {
	const least, most = 500 * time.Millisecond, 2 * time.Second
	if i := c.cfg.Elect.PollInterval; i > 0 {
		return max(least, min(i, most))
	}
	return most
}

var errStoodStill = errors.New("this manager stood still; ask again")

// woken asks every other manager again after this one has stood still, before anything
// is written.
func (c *Core) woken(slept time.Duration) {
	c.elect.Woken(c.now)
	if state := c.elect.State(); state != smp.Master && state != smp.Discovering {
		return
	}
	c.log(warn, "this manager stood still: others are asked before anything is written", "for", slept.Round(time.Millisecond))
	c.refusePlan(errStoodStill)
	c.hasRuled()
	c.pause()
	c.want(true, "this manager stood still")
}

// mayWrite reports whether this manager is MASTER and knows of no other.
func (c *Core) mayWrite() bool { return c.elect.State() == smp.Master && c.asked }

// watch does what the election wants done by now.
func (c *Core) watch() {
	for {
		due, ok := c.elect.Due()
		if !ok || due > c.now {
			return
		}
		polled := c.elect.Polled()
		do := c.elect.Tick(c.now)
		switch {
		case do == elect.Poll || do == elect.Look:
		case do == elect.HandOver || c.elect.Overdue() == polled:
			c.log(warn, "another subnet manager is handed the mastership without a mirror of what clients have registered", "guid", polled)
		default:
			c.log(warn, "the other subnet manager does not answer any more", "guid", polled)
		}
		c.act(do)
	}
}

// Tags of the election's requests.
const (
	tagPoll uint64 = iota
	tagHandover
	tagAcknowledge
	tagPort
	tagPeer
	tagOwn
	tagPetition
	tagSelf
)

// heardOf takes the outcome of a request of the election's.
func (c *Core) heardOf(o *txn.Outcome) {
	ok := o.Result == txn.Replied && o.Status == mad.StatusOK
	port := (*smp.PortInfo)(&o.Data)
	polled := c.elect.Polled()
	switch o.Tag {
	case tagPoll:
		if info := (*smp.SMInfo)(&o.Data); ok {
			if info.SMState() == smp.Master {
				c.following.alive = c.now
			}
			c.heard(info)
			c.act(c.elect.Reply(c.now, info))
			if info.SMState() == smp.Master {
				c.stranger()
			}
		} else if o.Result == txn.TimedOut {
			c.unanswered(smp.AttrSMInfo, c.polledAt)
		}
	case tagPort:
		if !ok {
			break
		}
		if lid := port.LID(); lid != 0 {
			c.polledLID = lid // it may have had none, or another, when it was met
		}
		if do := c.elect.Port(c.now, port.CapabilityMask().Has(smp.IsSM)); do != elect.Nothing {
			c.log(warn, "the other subnet manager has ended: IsSM is cleared", "guid", polled)
			c.act(do)
		}
	case tagPeer:
		if !ok || port.PortState() != smp.PortDown {
			break
		}
		if do := c.elect.Unplugged(c.now); do != elect.Nothing {
			c.log(warn, "the port of the other subnet manager has no link any more", "guid", polled)
			c.act(do)
		}
	case tagOwn:
		if ok {
			c.own.holds(port)
			c.sendPetition(port)
		}
	case tagHandover:
		if !ok {
			c.log(warn, "the other subnet manager did not take the mastership", "status", o.Status)
		}
		c.departed()
	case tagSelf:
		c.knowSelf(o, ok)
	case tagAcknowledge, tagPetition:
	}
}

// directed is a request of the election's along a route.
func (c *Core) directed(r mad.Route, m mad.Method, attr mad.AttrID, mod uint32, tag uint64) txn.Request {
	return txn.Request{Route: r, Method: m, Attr: attr, Mod: mod, MKey: c.cfg.Sweep.Settings.MKey.Value, Node: -1, Owner: ownerElection, Tag: tag}
}

// poll sends a question to the manager that is polled.
func (c *Core) poll() {
	req := c.directed(c.polledAt, mad.MethodGet, smp.AttrSMInfo, 0, tagPoll)
	req.Data = c.elect.Question()
	c.table.Submit(&req)
}

// look asks whether its port still says that a manager runs there, and the port at the
// other end of its cable whether there is a link.
func (c *Core) look() {
	req := c.directed(c.polledAt, mad.MethodGet, smp.AttrPortInfo, 0, tagPort)
	c.table.Submit(&req)
	ports := c.polledAt.Ports()
	if n := len(ports); n > 0 {
		req = c.directed(mad.MakeRoute(ports[:n-1]...), mad.MethodGet, smp.AttrPortInfo, uint32(ports[n-1]), tagPeer)
		c.table.Submit(&req)
	}
}

// petition tells the master that is polled that this manager ranks higher, as soon as our
// own port has said what LIDs there are.
func (c *Core) petition() {
	req := c.directed(mad.Route{}, mad.MethodGet, smp.AttrPortInfo, 0, tagOwn)
	c.table.Submit(&req)
}

// sendPetition sends trap 144, the flag of a changed priority set (IBA 14.2.5.1). It goes
// to where the walk met the master: our port may still have another one, even ourselves.
func (c *Core) sendPetition(own *smp.PortInfo) {
	to := cmp.Or(c.polledLID, own.MasterSMLID())
	if own.LID() == 0 || to == 0 || c.elect.Polled() == 0 {
		return // the master has not seen our port yet
	}
	var n smp.Notice
	n.SetIsGeneric(true)
	n.SetType(smp.NoticeInformational)
	n.SetProducerType(smp.ProducerCA)
	n.SetTrapNumber(smp.TrapLocalChange)
	n.SetIssuerLID(own.LID())
	d := n.LocalChange()
	d.SetLID(own.LID())
	d.SetCapabilityMask(own.CapabilityMask())
	d.SetOtherLocalChanges(true)
	d.SetChangeFlags(smp.ChangedSMPriority)
	req := txn.Request{Class: mad.ClassLIDRouted, Addr: mad.Addr{LID: to}, Method: mad.MethodTrap, Attr: smp.AttrNotice,
		MKey: c.own.mkey, Data: n, Node: -1, Owner: ownerElection, Tag: tagPetition}
	c.table.Submit(&req)
}

// handOver tells the manager that ranks higher to take the mastership. The packet leaves
// before what is under way is dropped.
func (c *Core) handOver() {
	c.rememberPolled()
	c.hasRuled()
	c.cancel()
	c.order(smp.ControlHandover, smp.Master, tagHandover)
	c.send = c.table.Output(c.now, c.send)
	c.log(info, "handing the mastership over", "guid", c.elect.Polled())
}

// acknowledge tells the manager that handed the mastership over that it is taken.
func (c *Core) acknowledge() { c.order(smp.ControlAcknowledge, smp.Standby, tagAcknowledge) }

// order sends Set(SMInfo) to the manager that is, or was, polled. state is the one that
// entitles the sender.
func (c *Core) order(mod uint32, state smp.SMState, tag uint64) {
	req := c.directed(c.polledAt, mad.MethodSet, smp.AttrSMInfo, mod, tag)
	own := c.elect.Info()
	own.SetSMState(state)
	own.SetActCount(c.actCount)
	req.Data = own
	c.table.Submit(&req)
}

// rememberPolled keeps the way to the manager that is polled, and reports whether the last
// walk found one.
func (c *Core) rememberPolled() (known bool) {
	if found := c.sweeper.Found(); found != nil {
		for i := range found.SMs {
			if found.SMs[i].Port == c.elect.Polled() {
				c.polledAt, c.polledLID = found.SMs[i].Route, found.SMs[i].LID
				known = true
			}
		}
	}
	return known
}

// met notes the managers that a walk found.
func (c *Core) met(sms []discover.SM) {
	c.others = slices.Clone(sms)
	c.rivals = make([]view.SM, len(sms))
	for i := range sms {
		c.rivals[i] = rival(&sms[i].Info, sms[i].LID)
	}
	slices.SortFunc(c.rivals, func(a, b view.SM) int { return cmp.Compare(a.GUID, b.GUID) })
}

// heard notes what one of them says of itself.
func (c *Core) heard(info *smp.SMInfo) {
	for i := range c.others {
		if o := &c.others[i]; o.Info.GUID() == info.GUID() {
			o.Info = *info
		}
	}
	for i := range c.rivals {
		if r := &c.rivals[i]; r.GUID == info.GUID() {
			if now := rival(info, r.LID); now != *r {
				c.rivals = slices.Clone(c.rivals)
				c.rivals[i] = now
			}
		}
	}
}

func rival(info *smp.SMInfo, lid mad.LID) view.SM {
	return view.SM{GUID: info.GUID(), LID: lid, Priority: info.Priority(), State: uint8(info.SMState()), ActCount: info.ActCount()}
}

// self is this manager, with the LID of its port.
func (c *Core) self(lid mad.LID) view.SM {
	own := c.elect.Info()
	sm := rival(&own, lid)
	sm.ActCount = c.actCount
	return sm
}
