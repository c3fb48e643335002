package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/sweep/elect"
)

// maxEarly is how many requests wait for us to know who we are.
const maxEarly = 16

// request takes what others ask of us on QP0: SMInfo, and traps. Everything else is
// the port's own agent's to answer. Before we know the GUID of our port, which is who
// we are, there is nothing to say: who asks waits for the moment that it takes.
func (c *Core) request(d *mad.Datagram) {
	p := &d.Packet
	if !p.MgmtClass().IsSubnet() || c.cfg.DryRun {
		return
	}
	if c.own.guid == 0 {
		if len(c.early) < maxEarly {
			c.early = append(c.early, *d)
		}
		return
	}
	switch {
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet:
		if c.mayRead(p.MKey()) {
			c.answerSMInfo(d, mad.StatusOK)
			c.meet(p)
			c.act(c.elect.Asked((*smp.SMInfo)(p.Data())))
		}
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodSet:
		if c.own.mkey == 0 || p.MKey() == c.own.mkey {
			c.control(d)
		}
	case p.AttrID() == smp.AttrNotice && p.Method() == mad.MethodTrap:
		c.trap(d)
	}
}

// introduce learns who we are, and answers who has asked for it.
func (c *Core) introduce() {
	if c.own.guid != 0 {
		return
	}
	if guid := c.sweeper.Self(); guid != 0 {
		c.introduced(guid)
	}
}

// introduced takes the GUID of our port.
func (c *Core) introduced(guid mad.GUID) {
	c.own.guid = guid
	c.elect.SetGUID(c.own.guid)
	if !c.cfg.DryRun {
		c.log(info, osmlog.Binding(mad.ClassDirected, c.own.guid))
		c.log(info, osmlog.Binding(mad.ClassSA, c.own.guid))
		c.log(info, osmlog.SettingIsSM(c.own.guid))
	}
	for i := range c.early {
		c.request(&c.early[i])
	}
	c.early = nil
}

// mayRead applies the protection of our own port's M_Key to a Get (IBA 14.2.4).
func (c *Core) mayRead(key mad.MKey) bool {
	return c.own.mkey == 0 || key == c.own.mkey || c.own.protect < 2
}

// control takes a Set(SMInfo).
func (c *Core) control(d *mad.Datagram) {
	from := (*smp.SMInfo)(d.Packet.Data())
	wasPolled := from.GUID() == c.elect.Polled()
	do, status := c.elect.Control(c.now, d.Packet.AttrMod(), from)
	c.answerSMInfo(d, status)
	c.act(do)
	switch {
	case do == elect.BeMaster && wasPolled:
		c.acknowledge()
	case do == elect.StandBy && !c.rememberPolled():
		c.act(c.elect.Astray())
	}
}

// answerSMInfo sends our SMInfo back the way the request came. The SM_Key is shown
// only to who knows the M_Key.
func (c *Core) answerSMInfo(d *mad.Datagram, status mad.Status) {
	reply := response(d, mad.MethodGetResp)
	own := c.elect.Answer((*smp.SMInfo)(d.Packet.Data()))
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
