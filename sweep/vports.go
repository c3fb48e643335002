package sweep

import (
	"ibsm/sweep/vports"
	"ibsm/topo"
)

// SetVPorts sets the vPorts of the subnet, also of a sweep that runs. It returns a copy of the subnet with them, which
// replaces the present one; nil if there is no subnet, or it has them already.
func (s *Sweeper) SetVPorts(known *vports.Known) *topo.Topo {
	s.vPorts = known
	if s.state.prev == nil {
		return nil
	}
	t := withVPorts(s.state.prev, known)
	if t == s.state.prev {
		return nil
	}
	s.state.prev = t
	return t
}

// withVPorts is a subnet with vPorts, the same one if it has them already.
func withVPorts(t *topo.Topo, known *vports.Known) *topo.Topo {
	list := known.On(t)
	if list.Equal(t.VPorts) {
		return t
	}
	c := *t
	c.VPorts = list
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
