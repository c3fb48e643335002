package sweep

import (
	"context"

	"ibsm/sweep/vports"
	"ibsm/topo"
)

// SetVPorts sets the vPorts that are known. The next sweep that computes takes them; NewVPortList has them in the
// present subnet before.
func (s *Sweeper) SetVPorts(known *vports.Known) { s.vPorts = known }

// VPortList lists vPorts at their places in a subnet. Run may run outside the core: it takes long where there are many.
type VPortList struct {
	of     *topo.Topo
	known  *vports.Known
	vPorts *topo.VPorts
}

// NewVPortList is for the vPorts of the present subnet; nil if there is no subnet, or it has them already.
func (s *Sweeper) NewVPortList() *VPortList {
	if s.state.prev == nil || s.state.listed == s.vPorts {
		return nil
	}
	return &VPortList{of: s.state.prev, known: s.vPorts}
}

// Run makes the list. It returns l.
func (l *VPortList) Run(context.Context) *VPortList {
	if l.vPorts = l.known.On(l.of); l.vPorts.Equal(l.of.VPorts) {
		l.vPorts = l.of.VPorts
	}
	return l
}

// List takes a list that Run has made. It returns a copy of the subnet with it, which replaces the present one; nil if
// the subnet has these vPorts already, or is not the one that the list is of.
func (s *Sweeper) List(l *VPortList) *topo.Topo {
	if l.of != s.state.prev {
		return nil
	}
	if s.state.listed = l.known; l.vPorts == l.of.VPorts {
		return nil
	}
	c := *l.of
	c.VPorts = l.vPorts
	s.state.prev = &c
	return &c
}

// VPortsUnread reports whether LIDs that switches forward and that no port has kept their entries, because they may be
// those of vPorts which have not been read in this term.
func (c *SweepPlan) VPortsUnread() bool { return c.vPortsUnread }

// VPortSubnet is the subnet for the machine that brings vPorts up.
func (o *Outcome) VPortSubnet() vports.Subnet {
	return vports.Subnet{
		Topo: o.Topo, LIDs: o.LIDs, Partitions: o.Partitions, Full: !o.Found.Quick, Exhausted: o.Exhausted,
		Reregister: vports.RegisterAgain{None: o.Values.NoReregister, All: o.Values.ReregisterAll},
	}
}
