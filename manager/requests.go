package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
)

func smInfoRequest(r mad.Route, m mad.Method, mod uint32, tag uint64) txn.Request {
	return txn.Request{Class: mad.ClassDirected, Route: r, Method: m, Attr: smp.AttrSMInfo, Mod: mod, Node: -1, Tag: tag}
}

// request takes what others ask of us on QP0: SMInfo, and traps. Everything else is
// the port's own agent's to answer. Before we know the GUID of our port, which is who
// we are, there is nothing to say.
func (c *Core) request(d *mad.Datagram) {
	p := &d.Packet
	if !p.MgmtClass().IsSubnet() || c.cfg.DryRun || c.own.guid == 0 {
		return
	}
	switch {
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet:
		if c.mayRead(p.MKey()) {
			c.answerSMInfo(d, mad.StatusOK)
		}
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodSet:
		if c.own.mkey == 0 || p.MKey() == c.own.mkey {
			c.control(d)
		}
	case p.AttrID() == smp.AttrNotice && p.Method() == mad.MethodTrap:
		c.trap(d)
	}
}

// mayRead applies the protection of our own port's M_Key to a Get (IBA 14.2.4).
func (c *Core) mayRead(key mad.MKey) bool {
	return c.own.mkey == 0 || key == c.own.mkey || c.own.protect < 2
}

// control takes a Set(SMInfo).
func (c *Core) control(d *mad.Datagram) {
	do, status := c.elect.Control(c.now, d.Packet.AttrMod(), (*smp.SMInfo)(d.Packet.Data()))
	c.answerSMInfo(d, status)
	c.act(do)
}

// answerSMInfo sends our SMInfo back the way the request came. The SM_Key is shown
// only to who knows the M_Key.
func (c *Core) answerSMInfo(d *mad.Datagram, status mad.Status) {
	reply := response(d, mad.MethodGetResp)
	own := c.elect.Info()
	own.SetActCount(c.actCount)
	if c.own.protect > 0 && d.Packet.MKey() != c.own.mkey {
		own.SetSMKey(0)
	}
	*reply.Packet.Data() = own
	reply.Packet.SetStatus(status)
	c.send = append(c.send, reply)
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
