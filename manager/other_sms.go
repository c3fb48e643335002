package manager

import (
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/topo"
)

// met takes the managers that a walk found.
func (c *Core) met(sms []discover.SM) {
	c.elect.verify(sms)
	c.elect.met(sms)
	for i := range sms {
		c.judgeManager(&sms[i].Info, sms[i].LID, sms[i].Route)
	}
}

// judgeManager raises an alarm about a manager that is ignored. The route is that to its port, where
// the port is not in the view.
func (c *Core) judgeManager(sm *smp.SMInfo, lid mad.LID, route mad.Route) {
	if !c.elect.Ignores(sm) {
		return
	}
	a := Alarm{Kind: AlarmManager, Port: sm.GUID(), LID: lid, Where: "directed route " + route.String()}
	if v := c.published.view; v != nil {
		if p := v.Topo.FindPort(sm.GUID()); p != topo.None {
			a.LID, a.Where = v.Topo.Ports[p].Info.LID(), whereIs(v, p)
		}
	}
	c.alarms.raise(&c.fx, c.cfg.Epoch, a, "state", sm.SMState(), "priority", sm.Priority())
}

func isMaster(o smp.SMInfo) bool { return o.SMState() == smp.Master }

// isDuplicate reports whether this manager must not become master, as another one has its
// GUID: neither can see in the other's SMInfo which of them ranks higher. One that is
// master already goes on. Any host can answer with our GUID: one that does not show the secret, where there is one, is
// ignored like every manager without it.
func (c *Core) isDuplicate(found *sweep.Found, others []smp.SMInfo) bool {
	there := false
	c.elect.verify(found.Duplicates)
	for i := range found.Duplicates {
		sm := &found.Duplicates[i]
		there = there || !c.elect.Ignores(&sm.Info)
		c.judgeManager(&sm.Info, 0, sm.Route)
	}
	if c.elect.duplicate = c.elect.duplicate && there; !there {
		return false
	}
	if !c.elect.duplicate {
		c.elect.duplicate = true
		c.fx.log(
			erro, "another subnet manager has the same GUID: the manager that started later does not become master. Stop one of them and give each port a unique GUID", "guid", c.port.guid)
	}
	if c.elect.State() == smp.Master || slices.ContainsFunc(others, isMaster) {
		return false
	}
	if c.cfg.Once {
		c.exit(fmt.Errorf("%w: it has the same GUID as this one, %v", ErrOtherMaster, c.port.guid))
		return true
	}
	c.sweeps.drop(found)
	c.sweeps.schedule(c.fx.now, portPoll)
	return true
}

// fewAnswers is how many answers a walk must have for their lateness to say something.
const fewAnswers = 16

// maxPostponed is the maximum number of consecutive walks with many lost packets, about two minutes in all, before a
// standby takes over from a master that none of them found: with three quarters of the attempts lost, one walk in seven
// finds a master that is there.
const maxPostponed = 60

// maxUnproved is the number of consecutive walks without a new node before a manager becomes master of a subnet of
// which it sees only a small part: a little longer than the lease of M_Keys with security tenants.
const maxUnproved = 45

// maxRefusing is how many walks in a row it makes before it takes nodes for dead that it knows and that do not answer:
// another manager may have changed their M_Keys during the walk.
const maxRefusing = 2

// postpones reports whether a manager that was STANDBY must not become master yet: it does not hear
// the master, but the other nodes no better. A manager without answers takes nothing over. One that has seen where the
// other managers have ended need not hear the master; where packets are lost, it must have heard all nodes.
func (c *Core) postpones(found *sweep.Found, others []smp.SMInfo) bool {
	h, limit := &found.Heard, 0
	switch why := found.Evidence(); {
	case c.elect.State() == smp.Discovering && found.MostMissing() && !slices.ContainsFunc(others, isMaster):
		if nodes := found.Builder.Len(); nodes > c.elect.reached {
			c.elect.reached, c.elect.postponed = nodes, 0
		}
		if c.elect.waits == waitsNot {
			c.fx.log(
				warn, "nodes do not answer to any known M_Key: before this manager becomes master, it waits until their M_Key leases expire or the master admits it",
				"links", found.Unproved+found.Refusing, "nodes", found.Builder.Len())
		}
		if limit = maxRefusing; c.elect.waits != hasWaited { // else another manager may have become master meanwhile
			c.elect.waits, limit = waitsMKey, maxUnproved
		}
	case c.elect.State() == smp.Discovering && found.Refusing > 0 && !slices.ContainsFunc(others, isMaster):
		limit = maxRefusing
	case c.elect.State() != smp.Discovering || c.term.state != stoodBy || slices.ContainsFunc(others, isMaster):
	case why == discover.MostUnresponsive:
		return true
	case c.elect.accountsFor(found.Result) && (why == discover.Conclusive && !h.Lossy || !found.LeavesNodesOut()):
	case why != discover.Conclusive || h.Answers < fewAnswers && h.Late+found.TimedOut > 0:
		limit = maxPostponed
	case h.Late > 0 && found.TimedOut > 0:
		limit = 1 // the loss may have ended during this walk
	}
	if c.elect.postponed >= limit {
		c.elect.postponed, c.elect.reached = 0, 0
		if c.elect.waits == waitsMKey && !slices.ContainsFunc(others, isMaster) {
			c.elect.waits = hasWaited
			return true
		}
		c.elect.waits = waitsNot
		return false
	}
	c.elect.postponed++
	return true
}
