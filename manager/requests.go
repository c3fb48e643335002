package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
)

// request takes what others ask of us on QP0: SMInfo, and traps. Everything else is
// the port's own agent's to answer. Before we know the GUID of our port there is
// nothing to say: requests wait for that. LID 0 is our own port's.
func (c *Core) request(d *mad.Datagram) {
	p := &d.Packet
	if !p.MgmtClass().IsSubnet() || c.cfg.DryRun {
		return
	}
	if c.port.guid == 0 {
		c.port.wait(d)
		return
	}
	if p.MgmtClass() == mad.ClassLIDRouted {
		from := *d
		if from.LID == 0 {
			from.LID = c.port.lid
		}
		if !from.LID.IsUnicast() {
			return
		}
		d = &from
	}
	switch {
	case p.AttrID() == smp.AttrSMInfo && c.isOutdated(d):
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet:
		if c.port.mayRead(p.MKey()) {
			c.elect.answer(&c.fx, d, mad.StatusOK, &c.port, c.sent)
			c.question(d)
		}
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodSet:
		if c.port.mayWrite(p.MKey()) {
			c.control(d)
		}
	case p.AttrID() == smp.AttrNotice && p.Method() == mad.MethodTrap:
		c.trap(d)
	}
}

// isOutdated reports whether a request waits until our own port has been read again. An M_Key that was made of our own secret is shown to the port itself: it
// knows whether it is the right one.
func (c *Core) isOutdated(d *mad.Datagram) bool {
	shown := d.Packet.MKey()
	if shown == c.port.mkey {
		return false
	}
	if c.isMade(d) {
		return c.port.outdated(c.fx.now, d, madeKey, func() bool { return c.port.read(&c.fx, shown) })
	}
	return c.port.outdated(c.fx.now, d, triedKey, func() bool { return c.port.read(&c.fx, c.sweeps.sweeper.Key(c.port.guid, c.port.tries)) })
}

// isMade reports whether a request shows an M_Key of our own port of the present number, the one before or the next. It does not pass that on: a stack that is
// printed has arguments of functions.
func (c *Core) isMade(d *mad.Datagram) bool {
	ports := &c.cfg.Sweep.Settings.PortMKeys
	if !ports.On() {
		return false
	}
	for number := max(ports.Number(), 2) - 1; number <= ports.Number()+1; number++ {
		if mad.MKey(ports.With(number, uint64(c.port.guid))) == d.Packet.MKey() {
			return true
		}
	}
	return false
}

// response is the request turned round.
func response(d *mad.Datagram, m mad.Method) mad.Datagram {
	r := mad.Datagram{Addr: d.Addr, Packet: d.Packet}
	r.Packet.SetMethod(m)
	if d.Packet.MgmtClass() == mad.ClassDirected {
		r.Packet.SetReturning()
	}
	return r
}
