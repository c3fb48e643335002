package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/elect"
	"ibsm/sweep/proof"
)

// control is the state machine that proves which manager has sent a control packet, Set(SMInfo), before it
// is obeyed: it asks the port to which the return path leads. One packet is proved at a time.
type control struct {
	state   controlState
	request mad.Datagram   // unless idle
	route   mad.Route      // back to its sender
	anyone  bool           // the master is not known: it is the one whose LID our own port has as MasterSMLID
	asked   proof.Question // in state asksManager
	lid     mad.LID        // of the sender, in state asksOwn
}

// controlState says what is asked.
type controlState uint8

const (
	controlIdle controlState = iota
	asksNode                 // NodeInfo of the sender: its port GUID
	asksPort                 // PortInfo of the sender: its LID
	asksOwn                  // PortInfo of our own port: the LID of the master
	// of a Set with a code, which may be a copy of an earlier one
	asksBefore  // NodeInfo of the node before the sender: where the sender is
	asksManager // SMInfo of the sender: a proof that it is the manager that the Set names, and is not MASTER
)

// same reports whether d is a repetition of the request that is proved.
func (c *control) same(d *mad.Datagram) bool {
	a, b := &c.request.Packet, &d.Packet
	return a.AttrMod() == b.AttrMod() && *a.Data() == *b.Data() && *a.ReturnPath() == *b.ReturnPath() &&
		a.HopCount() == b.HopCount()
}

// askSender sends the next question.
func (c *Core) askSender(state controlState) {
	p := &c.controls
	route, attr, key := p.route, smp.AttrPortInfo, c.senderKey()
	var data smp.SMInfo
	switch state {
	case asksNode:
		attr = smp.AttrNodeInfo
	case asksBefore:
		ports := route.Ports()
		route, attr = mad.MakeRoute(ports[:len(ports)-1]...), smp.AttrNodeInfo
		key, _ = c.sweeps.sweeper.MKeys().KeyAlong(route.Ports())
	case asksManager:
		attr = smp.AttrSMInfo
		data, p.asked = c.elect.question(p.asked.Place)
	case asksOwn:
		route, key = mad.Route{}, c.ownKey()
	}
	req := urgent(ownerControl, 0, route, mad.MethodGet, attr, 0, key)
	req.Data = data
	if p.state = state; !c.fx.request(req) {
		p.state = controlIdle
	}
}

// senderIn is the SMInfo in a Set(SMInfo), whether it has a code, and whether that is new. A right code counts as the
// SM_Key.
func (c *Core) senderIn(d *mad.Datagram) (from smp.SMInfo, coded, fresh bool) {
	from = *d.Packet.Data()
	fresh = c.elect.IsFresh(d.Packet.AttrMod(), c.elect.asked[:], &from)
	coded = c.elect.Verifies(d.Packet.AttrMod(), &from)
	return from, coded, fresh
}

// control takes a Set(SMInfo).
func (c *Core) control(d *mad.Datagram) {
	from, coded, fresh := c.senderIn(d)
	order := c.elect.Judge(d.Packet.AttrMod(), &from)
	if order == elect.Harmless {
		c.obey(d)
		return
	}
	route, ok := returnRoute(&d.Packet)
	switch p := &c.controls; {
	case order == elect.Refused || !ok || len(route.Ports()) == 0:
		c.refuse(d)
	case order == elect.FromMaster && route == c.elect.route && !coded || coded && fresh:
		c.obey(d)
	case p.state == controlIdle:
		p.request, p.route, p.anyone = *d, route, order == elect.FromUnknown
		switch {
		case !coded:
			c.askSender(asksNode)
		case route == c.elect.route && from.GUID() == c.elect.Polled():
			p.asked.Place = c.elect.place
			c.askSender(asksManager)
		default:
			c.askSender(asksBefore)
		}
	case p.same(d):
		p.request = *d // its sender waits for the answer to the latest attempt
	}
}

// senderKey is the M_Key of the port to which the route of the packet that is proved leads, 0 for one that is not
// known: what a packet says of its sender is no reason to show it the key of that port.
func (c *Core) senderKey() mad.MKey {
	key, _ := c.sweeps.sweeper.MKeys().KeyAlong(c.controls.route.Ports())
	return key
}

// proved takes an answer to what control has asked.
func (c *Core) proved(o *txn.Outcome) {
	p := &c.controls
	if p.state == controlIdle {
		return // an outcome before it has ended the proof
	}
	from, _, _ := c.senderIn(&p.request)
	node, port, ok := (*smp.NodeInfo)(&o.Data), (*smp.PortInfo)(&o.Data), false
	switch state := p.state; {
	case !isOK(o):
	case state == asksNode && node.PortGUID() == from.GUID():
		if ok = !p.anyone; !ok {
			c.askSender(asksPort)
			return
		}
	case state == asksPort && port.LID() != 0:
		p.lid = port.LID()
		c.askSender(asksOwn)
		return
	case state == asksOwn:
		ok = port.MasterSMLID() == p.lid
	case state == asksBefore:
		ports := p.route.Ports()
		p.asked.Place.Node, p.asked.Place.Port = node.NodeGUID(), ports[len(ports)-1]
		c.askSender(asksManager)
		return
	case state == asksManager:
		sm := (*smp.SMInfo)(&o.Data)
		ok = c.elect.Verify(&p.asked, sm) && sm.GUID() == from.GUID() && sm.SMState() != smp.Master
	}
	p.state = controlIdle
	if ok {
		c.obey(&p.request)
	} else {
		c.refuse(&p.request)
	}
}

// refuse answers a control packet that is not the master's.
func (c *Core) refuse(d *mad.Datagram) {
	c.elect.answer(&c.fx, d, mad.StatusBadField, &c.port, false, c.sent)
	c.alarms.raise(&c.fx, c.cfg.Epoch, alarmAbout(AlarmControl, c.published.view, d), "modifier", d.Packet.AttrMod(),
		"claims", (*smp.SMInfo)(d.Packet.Data()).GUID())
}

// obey takes a control packet from a proved sender, or one that changes nothing.
func (c *Core) obey(d *mad.Datagram) {
	from, _, _ := c.senderIn(d)
	wasPolled := from.GUID() == c.elect.Polled()
	do, status := c.elect.Control(c.fx.now, d.Packet.AttrMod(), &from)
	c.elect.answer(&c.fx, d, status, &c.port, false, c.sent)
	c.act(do)
	switch {
	case do == elect.TakeOver && wasPolled:
		c.elect.order(&c.fx, c.polledKey(), smp.ControlAcknowledge, from.GUID(), smp.Standby, c.sent)
	case do == elect.StandBy && !c.elect.locate(c.sweeps.found):
		c.act(c.elect.LosePath())
	}
}
