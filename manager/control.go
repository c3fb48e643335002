package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/elect"
)

// control is the state machine that proves which manager has sent a control packet, Set(SMInfo), before it
// is obeyed: it asks the port to which the return path leads. One packet is proved at a time.
type control struct {
	state   controlState
	request mad.Datagram // unless idle
	route   mad.Route    // back to its sender
	anyone  bool         // the master is not known: it is the one whose LID our own port has as MasterSMLID
	lid     mad.LID      // of the sender, in state asksOwn
}

// controlState says what is asked.
type controlState uint8

const (
	controlIdle controlState = iota
	asksNode                 // NodeInfo of the sender: its port GUID
	asksPort                 // PortInfo of the sender: its LID
	asksOwn                  // PortInfo of our own port: the LID of the master
)

// same reports whether d is a repetition of the request that is proved.
func (c *control) same(d *mad.Datagram) bool {
	a, b := &c.request.Packet, &d.Packet
	return a.AttrMod() == b.AttrMod() && *a.Data() == *b.Data() && *a.ReturnPath() == *b.ReturnPath() &&
		a.HopCount() == b.HopCount()
}

// ask sends the next question.
func (c *control) ask(fx *effects, state controlState, key mad.MKey) {
	c.state = state
	route, attr := c.route, smp.AttrPortInfo
	switch state {
	case asksNode:
		attr = smp.AttrNodeInfo
	case asksOwn:
		route = mad.Route{}
	}
	if !fx.request(urgent(ownerControl, 0, route, mad.MethodGet, attr, 0, key)) {
		c.state = controlIdle
	}
}

// control takes a Set(SMInfo).
func (c *Core) control(d *mad.Datagram) {
	from := (*smp.SMInfo)(d.Packet.Data())
	order := c.elect.Judge(d.Packet.AttrMod(), from)
	if order == elect.Harmless {
		c.obey(d)
		return
	}
	route, ok := returnRoute(&d.Packet)
	switch proof := &c.controls; {
	case order == elect.Refused || !ok:
		c.refuse(d)
	case order == elect.FromMaster && route == c.elect.route:
		c.obey(d)
	case proof.state == controlIdle:
		proof.request, proof.route, proof.anyone = *d, route, order == elect.FromUnknown
		proof.ask(&c.fx, asksNode, c.senderKey())
	case proof.same(d):
		proof.request = *d // its sender waits for the answer to the latest attempt
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
	proof := &c.controls
	if proof.state == controlIdle {
		return // an outcome before it has ended the proof
	}
	from := (*smp.SMInfo)(proof.request.Packet.Data())
	node, port, ok := (*smp.NodeInfo)(&o.Data), (*smp.PortInfo)(&o.Data), false
	switch state := proof.state; {
	case !isOK(o):
	case state == asksNode && node.PortGUID() == from.GUID():
		if ok = !proof.anyone; !ok {
			proof.ask(&c.fx, asksPort, c.senderKey())
			return
		}
	case state == asksPort && port.LID() != 0:
		proof.lid = port.LID()
		proof.ask(&c.fx, asksOwn, c.ownKey())
		return
	case state == asksOwn:
		ok = port.MasterSMLID() == proof.lid
	}
	proof.state = controlIdle
	if ok {
		c.obey(&proof.request)
	} else {
		c.refuse(&proof.request)
	}
}

// refuse answers a control packet that is not the master's.
func (c *Core) refuse(d *mad.Datagram) {
	c.elect.answer(&c.fx, d, mad.StatusBadField, &c.port, c.sent)
	c.alarms.raise(&c.fx, c.cfg.Epoch, alarmAbout(AlarmControl, c.published.view, d), "modifier", d.Packet.AttrMod(),
		"claims", (*smp.SMInfo)(d.Packet.Data()).GUID())
}

// obey takes a control packet from a proved sender, or one that changes nothing.
func (c *Core) obey(d *mad.Datagram) {
	from := (*smp.SMInfo)(d.Packet.Data())
	wasPolled := from.GUID() == c.elect.Polled()
	do, status := c.elect.Control(c.fx.now, d.Packet.AttrMod(), from)
	c.elect.answer(&c.fx, d, status, &c.port, c.sent)
	c.act(do)
	switch {
	case do == elect.TakeOver && wasPolled:
		c.elect.order(&c.fx, c.polledKey(), smp.ControlAcknowledge, smp.Standby, c.sent)
	case do == elect.StandBy && !c.elect.locate(c.sweeps.found):
		c.act(c.elect.LosePath())
	}
}
