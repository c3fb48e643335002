package manager

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep"
	"ibsm/sweep/discover"
	"ibsm/sweep/elect"
	"ibsm/topo"
)

// inquiry queries a manager that has named itself in a Question to the master, at the port that sent the Question. One
// manager is queried at a time; others repeat their Questions.
type inquiry struct {
	state inquiryState
	asked discover.SM   // in inquiryAsking
	after time.Duration // none is asked before
}

// inquiryState says whether a manager is asked.
type inquiryState uint8

const (
	inquiryIdle inquiryState = iota
	inquiryAsking
)

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
			c.sweeps.sweeper.MKeys().Expect(route, info.GUID())
		}
		c.traps.sweep(c.fx.now, wishFull, "a subnet manager at an unknown port")
	case c.inquiry.state == inquiryIdle && c.inquiry.after <= c.fx.now:
		key := c.sweeps.sweeper.Key(info.GUID(), 0)
		if allowed := c.cfg.Sweep.AllowedSMs; len(allowed) > 0 && !slices.Contains(allowed, info.GUID()) {
			key = 0
		}
		question, asked := c.elect.question(sweep.PlaceAlong(v.Topo, &route))
		c.inquiry.ask(&c.fx, discover.SM{Port: info.GUID(), LID: v.Topo.Ports[p].Info.LID(), Route: route,
			Asked: asked}, key, question)
	}
}

// ask asks a manager at its port.
func (q *inquiry) ask(fx *effects, sm discover.SM, key mad.MKey, question smp.SMInfo) {
	req := urgent(ownerInquiry, 0, sm.Route, mad.MethodGet, smp.AttrSMInfo, 0, key)
	req.Data = question
	if fx.request(req) {
		*q = inquiry{inquiryAsking, sm, fx.now + inquiryPause}
	}
}

// done takes the outcome, and returns the manager if it is the one that it has said to be.
func (q *inquiry) done(o *txn.Outcome) (sm discover.SM, is bool) {
	sm, sm.Info = q.asked, o.Data
	is = q.state == inquiryAsking && isOK(o) && sm.Info.GUID() == sm.Port
	q.state = inquiryIdle
	return sm, is
}

// inquired takes the outcome of an inquiry.
func (c *Core) inquired(o *txn.Outcome) {
	sm, is := c.inquiry.done(o)
	if !is || c.elect.State() != smp.Master {
		return
	}
	info := &sm.Info
	sm.Proved = c.elect.Verify(&sm.Asked, info)
	c.judgeManager(info, sm.LID, sm.Route)
	if !c.elect.knows(sm.Port) {
		c.elect.others = append(c.elect.others, sm)
		c.published.addSM(&c.fx, viewOf(info, sm.LID))
	}
	c.elect.heard(info, sm.Proved)
	if c.elect.Seen(info) == elect.Resweep {
		c.traps.sweep(c.fx.now, wishFull, "another subnet manager")
	}
}

// knows reports whether a manager is stored.
func (e *election) knows(guid mad.GUID) bool {
	return slices.ContainsFunc(e.others, func(o discover.SM) bool { return o.Info.GUID() == guid })
}
