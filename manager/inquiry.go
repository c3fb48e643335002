package manager

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/topo"
)

// inquiry asks a manager that has named itself in a Question to the master what it is, at the port
// that sent the Question. One is asked at a time; others repeat their Questions.
type inquiry struct {
	asked discover.SM   // Port is 0 while nobody is asked
	after time.Duration // none is asked before
}

// inquiryPause is the shortest time between inquiries.
const inquiryPause = 10 * time.Millisecond

// maxMet bounds the managers that are known by their Questions, and not by a walk.
const maxMet = 16

// question takes a Get(SMInfo), which anybody can send in any name. A standby ibsm that the last
// walk has not found, because it did not answer then, is stored for a later handover; one that
// ranks higher causes a sweep.
func (c *Core) question(d *mad.Datagram) {
	info, v := (*smp.SMInfo)(d.Packet.Data()), c.published.view
	if v == nil || !elect.IsQuestion(info) || info.GUID() == c.port.guid || c.cfg.Elect.IgnoreOthers {
		return
	}
	known := c.elect.knows(info.GUID())
	if c.elect.Asked(info) != elect.Inquire && (known || len(c.elect.others) >= maxMet) {
		return
	}
	route, directed := returnRoute(&d.Packet)
	p := senderOf(v, d)
	switch {
	case p != topo.None && v.Topo.Ports[p].GUID != info.GUID() || !directed:
		c.alarms.raise(&c.fx, c.cfg.Epoch, alarmAbout(AlarmQuestion, v, d), "claims", info.GUID())
	case p == topo.None:
		if key := d.Packet.MKey(); key != 0 && key == c.port.mkey {
			c.sweeps.sweeper.Expect(route, info.GUID())
		}
		c.traps.sweep(c.fx.now, true, "a subnet manager at an unknown port")
	case c.inquiry.asked.Port == 0 && c.inquiry.after <= c.fx.now:
		c.inquire(discover.SM{Port: info.GUID(), LID: v.Topo.Ports[p].Info.LID(), Route: route})
	}
}

// inquire asks a manager at its port.
func (c *Core) inquire(sm discover.SM) {
	key := c.sweeps.sweeper.Key(sm.Port, 0)
	if allowed := c.cfg.Sweep.AllowedSMs; len(allowed) > 0 && !slices.Contains(allowed, sm.Port) {
		key = 0
	}
	req := directed(ownerElection, tagInquiry, sm.Route, mad.MethodGet, smp.AttrSMInfo, 0, key)
	req.Data = c.elect.Question()
	if c.fx.request(&req) {
		c.inquiry = inquiry{asked: sm, after: c.fx.now + inquiryPause}
	}
}

// inquired takes its answer.
func (c *Core) inquired(o *txn.Outcome) {
	sm := c.inquiry.asked
	c.inquiry.asked = discover.SM{}
	info := (*smp.SMInfo)(&o.Data)
	if !isOK(o) || info.GUID() != sm.Port || c.elect.State() != smp.Master {
		return
	}
	sm.Info = *info
	c.judgeManager(info, sm.LID, sm.Route)
	if !c.elect.knows(sm.Port) {
		c.elect.others = append(c.elect.others, sm)
		c.published.addSM(&c.fx, viewOf(info, sm.LID))
	}
	c.elect.heard(info)
	if c.elect.Seen(info) == elect.Resweep {
		c.traps.sweep(c.fx.now, true, "another subnet manager")
	}
}

// knows reports whether a manager is stored.
func (e *election) knows(guid mad.GUID) bool {
	return slices.ContainsFunc(e.others, func(o discover.SM) bool { return o.Info.GUID() == guid })
}
