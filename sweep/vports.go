package sweep

import (
	"context"
	"fmt"
	"strings"

	"ibsm/mad/smp"
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

// vPortSteps yields a line of text for each block of P_Keys, and each LID, that vPorts get because of the plan, beside
// the sweep. It reports whether yield wants more.
func (c *SweepPlan) vPortSteps(yield func(string) bool) bool {
	t := c.Topo
	if c.Partitions == nil || len(c.Partitions.VPorts) != t.VPorts.Len() {
		return true
	}
	for v, want := range c.Partitions.VPorts {
		p := t.VPorts.At(topo.VPortIdx(v))
		port := &t.Ports[p.Port]
		node := &t.Nodes[port.Node]
		where := fmt.Sprintf("%v %v %q port %d vPort %d, %v:", node.Type, node.GUID, node.Desc.String(), port.Num, p.Index,
			p.GUID)
		if own, is := c.LIDs.VPort(p.GUID); is && p.Up() && own.Port == p.Port && own.LID != p.LID &&
			!yield(fmt.Sprintf("%s LID %d -> %d", where, p.LID, own.LID)) {
			return false
		}
		if want == nil || p.State <= smp.PortDown || want.Equal(p.PKeys) {
			continue
		}
		for block := range topo.PKeyBlocks(p.PKeyTableSize()) {
			if text := vPortKeys(p.PKeys.Block(block), want.Block(block), block); text != "" && !yield(where+text) {
				return false
			}
		}
	}
	return true
}

// vPortKeys is how a block of P_Keys changes, "" if it does not.
func vPortKeys(is, then smp.PKeyTable, block int) (text string) {
	for i := range smp.PKeysPerBlock {
		if a, z := is.PKey(i), then.PKey(i); a != z {
			text += fmt.Sprintf(" index %d %v -> %v;", block*smp.PKeysPerBlock+i, a, z)
		}
	}
	if text == "" {
		return ""
	}
	return " P_Keys:" + strings.TrimSuffix(text, ";")
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
