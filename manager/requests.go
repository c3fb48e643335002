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
	if c.port.identity == ownUnknown {
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
			if !c.toShow(d) && !c.proofWaits(d) {
				c.elect.answer(&c.fx, d, mad.StatusOK, &c.port, false, c.sent)
			}
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

// response is the request turned round.
func response(d *mad.Datagram, m mad.Method) mad.Datagram {
	r := mad.Datagram{Addr: d.Addr, Packet: d.Packet}
	r.Packet.SetMethod(m)
	if d.Packet.MgmtClass() == mad.ClassDirected {
		r.Packet.SetReturning()
	}
	return r
}
