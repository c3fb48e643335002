package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/view"
)

// setVPorts gives a subnet to the machine that brings vPorts up.
func (c *Core) setVPorts(out *sweep.Outcome) {
	s := out.VPortSubnet()
	s.Reset, c.portsReset = c.portsReset, nil
	c.vPorts.SetSubnet(c.fx.now, s)
	c.vPortsUnread = out.VPortsUnread()
}

// haltVPorts drops what is under way with vPorts, and what another manager may change.
func (c *Core) haltVPorts(how scheduleState) {
	c.portsReset, c.vPortsUnread = nil, false
	if how == abandoned {
		c.vPorts.Abdicate()
		c.sweeps.sweeper.SetVPorts(nil)
		return
	}
	c.vPorts.Pause()
}

// settleVPorts goes on with vPorts, publishes what has changed of them, and asks for a sweep where they need one.
func (c *Core) settleVPorts() (more bool) {
	if task := c.vPorts.Settle(c.fx.now); task != nil {
		c.fx.do(newTask(ForVPorts, task.Run))
	}
	reason := c.vPorts.WantsSweep(c.fx.now)
	if reason == "" && c.vPortsUnread && c.vPorts.Complete() {
		c.vPortsUnread, reason = false, "all vPorts have been read"
	}
	known := c.vPorts.Show(c.fx.now)
	if reason != "" {
		known = c.vPorts.Known() // the sweep is about what has just been found
		c.sweeps.want(wishQuick, reason)
	}
	if known != nil {
		c.sweeps.sweeper.SetVPorts(known)
		replace(&c.fx, &c.logged.vPorts, c.vPorts.Findings(c.fx.now).All(), c.nameNode)
		c.published.replaceVPorts(&c.fx, nil, c.vPortsView(), c.logged.vPorts)
	}
	c.listVPorts()
	return reason != ""
}

// listVPorts has the vPorts listed in the view, where it shows others.
func (c *Core) listVPorts() {
	if c.vPortList == nil {
		if c.vPortList = c.sweeps.sweeper.NewVPortList(); c.vPortList != nil {
			c.fx.do(newTask(ForVPortList, c.vPortList.Run))
		}
	}
}

// vPortsListed takes the list; nil if its task was ended.
func (c *Core) vPortsListed(l *sweep.VPortList) {
	if c.vPortList = nil; l == nil {
		return
	}
	if t := c.sweeps.sweeper.List(l); t != nil {
		c.published.replaceVPorts(&c.fx, t, c.vPortsView(), c.logged.vPorts)
		c.multicast.SetVPorts(t)
	}
}

// dropResetVPorts has what clients of vPorts registered dropped that were found in INIT.
func (c *Core) dropResetVPorts() {
	reset := c.vPorts.Reset()
	if len(reset) == 0 {
		return
	}
	ev := sa.PortsReset{VPorts: make([]sa.VPortAt, len(reset))}
	for i, at := range reset {
		ev.VPorts[i] = sa.VPortAt(at)
	}
	c.fx.do(ForRegistrar{ev})
}

// reregisterVPorts has the clients of those among some GUIDs that are of vPorts register again, and returns the others:
// their clients are asked by a sweep.
func (c *Core) reregisterVPorts(guids []mad.GUID) (ports []mad.GUID) {
	var virtual []mad.GUID
	for _, guid := range guids {
		if v := c.published.view; v != nil && v.Topo.FindVPort(guid) != topo.None {
			virtual = append(virtual, guid)
		} else {
			ports = append(ports, guid)
		}
	}
	c.vPorts.Reregister(c.fx.now, virtual)
	return ports
}

// vPortsDue is when there is something to do; false for never. Where no more requests are allowed, the end of one comes
// first.
func (c *Core) vPortsDue() (time.Duration, bool) {
	at, ok := c.vPorts.Due()
	return at, ok && c.fx.table.Room() > 0
}

// vPortsView is what a view says of its vPorts.
func (c *Core) vPortsView() view.VPorts {
	v := c.cfg.VPorts
	v.Unread = !c.vPorts.Complete()
	return v
}

// vPortTrap takes a trap about vPorts. IgnoreTraps leaves what changes to the next full sweep, as it does of links.
func (c *Core) vPortTrap(n *smp.Notice) {
	if n.IsGeneric() || !smp.NVIDIAVendor(n.VendorID()) || c.cfg.IgnoreTraps {
		return
	}
	at := func(lid mad.LID) (guid mad.GUID, known bool) {
		p := portOf(c.published.view, lid)
		if p == topo.None {
			return 0, false
		}
		return c.published.view.Topo.Ports[p].GUID, true
	}
	switch n.TrapNumber() {
	case smp.TrapVPortStateChange:
		if guid, known := at(n.VPortStateChange().LID()); known {
			c.vPorts.Trap(c.fx.now, guid)
		}
	case smp.TrapVPortLocalChange:
		if guid, known := at(n.VPortLocalChange().LID()); known {
			c.vPorts.Changed(c.fx.now, guid, n.VPortLocalChange().VPortIndex())
		}
	}
}
