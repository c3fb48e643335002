// Package topo is the subnet as the manager knows it: nodes, ports and links in
// flat arrays, frozen at the end of a sweep and never written again. Indexes
// are given in GUID order, so the same fabric gives the same arrays whatever
// order the replies came in.
package topo

import (
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// NodeIdx is an index into Topo.Nodes.
type NodeIdx int32

// PortIdx is an index into Topo.Ports.
type PortIdx int32

// SwitchIdx is an index into Topo.Switches.
type SwitchIdx int32

// None stands for "no such node, port or switch" in every index type.
const None = -1

// Topo is a frozen subnet. While a sweep writes its plan, it keeps its Topo, or a Clone, as devices answer;
// once that is published it is safe for concurrent use: nobody writes it.
type Topo struct {
	Nodes    []Node    // ascending NodeGUID
	Ports    []Port    // of each node together, ascending port number, see Node.First
	Switches []NodeIdx // SwitchIdx to node, so ascending NodeGUID too
	EndPorts []PortIdx // ports that own LIDs: of CAs and routers, and switch port 0; ascending port GUID
	Self     PortIdx   // the manager's own port

	// Extended is the ExtendedPortInfo of ports that were asked for it.
	Extended map[PortIdx]smp.ExtendedPortInfo
	// VPorts are the vPorts behind Ports; nil where there are none, or the manager ignores virtualization. They change
	// between sweeps, too, in a copy of the Topo.
	VPorts *VPorts
}

// SetExtended stores the ExtendedPortInfo of a port, and what it says of FDR10.
func (t *Topo) SetExtended(p PortIdx, info *smp.ExtendedPortInfo) {
	if t.Extended == nil {
		t.Extended = map[PortIdx]smp.ExtendedPortInfo{}
	}
	t.Extended[p], t.Ports[p].FDR10 = *info, FDR10Of(info)
}

// Node is a switch, channel adapter or router.
type Node struct {
	GUID        mad.GUID
	Type        mad.NodeType
	NumPorts    uint8 // physical ports, switch port 0 not counted
	Aggregation bool  // SHARP aggregation node: an end port without weight in routing
	Missed      uint8 // sweeps in a row that the node did not answer while its link was up; 0 it answered
	// Whether requests for PortInfo have bit 31 of the modifier: Gets, which would else hide extended speeds, and Sets.
	GetsExtended, SetsExtended bool
	AR                         ARState    // NVIDIA switches
	PrivateLFT                 PrivateLFT // likewise
	First                      PortIdx    // of port 0 (which CAs and routers leave unused); port n is First+n
	Switch                     SwitchIdx  // None for CAs and routers
	Route                      mad.Route  // directed route to the node from the manager's
	Info                       smp.NodeInfo
	Desc                       smp.NodeDescription
	SwitchInfo                 smp.SwitchInfo // switches
	ARInfo                     *smp.ARInfo    // of switches whose AR is AROff or AROn, else nil; nobody writes to it
}

// ARState says what is known of NVIDIA's adaptive routing on a switch.
type ARState uint8

// Adaptive routing states.
const (
	ARUnknown ARState = iota // not asked, or no answer
	ARAbsent                 // the switch does not know it
	AROff
	AROn // the switch forwards by AR groups, so linear tables alone do not determine its routes
)

// AROf is what an ARInfo says: hash-based forwarding goes by the same groups.
func AROf(a *smp.ARInfo) ARState {
	if a.Enabled() || a.HBFEnabled() || a.WHBFEnabled() {
		return AROn
	}
	return AROff
}

// PrivateLFT says what is known of NVIDIA's private linear forwarding tables on a switch.
type PrivateLFT uint8

// States of private tables.
const (
	PrivateLFTUnknown PrivateLFT = iota // not asked, or no answer
	PrivateLFTAbsent                    // the switch does not know them
	PrivateLFTOff
	PrivateLFTOn // the switch forwards by them in place of its linear table
)

// UsesPrivateLFT reports whether a switch forwards by private tables, which ibsm neither reads nor writes: its
// linear table is not in use.
func (n *Node) UsesPrivateLFT() bool { return n.PrivateLFT == PrivateLFTOn }

// AdaptiveSomehow reports whether adaptive routing is on at a switch, or anything that depends on it.
func (n *Node) AdaptiveSomehow() bool {
	if n.AR != AROn && n.AR != AROff {
		return false
	}
	off := *n.ARInfo
	off.TurnOff()
	return off != *n.ARInfo
}

// Port is one port of a node. A subnet has very many: the order of the fields leaves no gaps.
type Port struct {
	GUID  mad.GUID   // of end ports; switch external ports have their switch's port 0's
	PKeys *PKeyTable // nil when not known, as that of external ports mostly is
	Node  NodeIdx
	Peer  PortIdx // other end of the link; None when there is none or nothing answers behind it
	Num   uint8
	Seen  bool // PortInfo was read
	// Shunned says that what answers behind the port has been left out, as a node
	// with another's GUID is.
	Shunned bool
	// Unhealthy says that no route between switches may use the link.
	Unhealthy bool
	FDR10     FDR10
	Info      smp.PortInfo
}

// FDR10 is what is known of a port's FDR10, a speed of NVIDIA's own.
type FDR10 uint8

// What is known of it.
const (
	FDR10Unknown FDR10 = 0 // was not asked for
	FDR10Absent  FDR10 = 1 // the port has none
	FDR10Off     FDR10 = 2
	FDR10On      FDR10 = 3
)

// FDR10Of is what an ExtendedPortInfo says.
func FDR10Of(e *smp.ExtendedPortInfo) FDR10 {
	switch {
	case e.LinkSpeedSupported()&smp.SpeedFDR10 == 0:
		return FDR10Absent
	case e.LinkSpeedEnabled()&smp.SpeedFDR10 == 0:
		return FDR10Off
	}
	return FDR10On
}

// Equal reports whether two Topos are the same in all that was read, the routes along which
// that was included.
func (t *Topo) Equal(o *Topo) bool {
	if t.Self != o.Self || len(t.Nodes) != len(o.Nodes) || len(t.Ports) != len(o.Ports) {
		return false
	}
	for i := range t.Nodes {
		if !t.Nodes[i].equal(&o.Nodes[i]) {
			return false
		}
	}
	for i := range t.Ports {
		if !t.Ports[i].equal(&o.Ports[i]) {
			return false
		}
	}
	return true
}

// Same reports whether one of two Topos can take the place of the other: they are equal, and so are the
// ExtendedPortInfo and the vPorts of their ports.
func (t *Topo) Same(o *Topo) bool {
	return t.Equal(o) && maps.Equal(t.Extended, o.Extended) && t.VPorts.Equal(o.VPorts)
}

// SharesPorts reports whether two Topos have the same nodes and ports in one place of memory: they differ in vPorts at
// most. Either may be nil.
func (t *Topo) SharesPorts(o *Topo) bool {
	if t == o || t == nil || o == nil {
		return t == o
	}
	return len(t.Nodes) == len(o.Nodes) && len(t.Ports) == len(o.Ports) && len(t.Ports) > 0 &&
		&t.Nodes[0] == &o.Nodes[0] && &t.Ports[0] == &o.Ports[0]
}

// Clone is a copy of what may change while a plan is carried out.
func (t *Topo) Clone() *Topo {
	c := *t
	c.Nodes, c.Ports, c.Extended = slices.Clone(t.Nodes), slices.Clone(t.Ports), maps.Clone(t.Extended)
	return &c
}

// equal looks into ARInfo only where it is not one and the same.
func (n *Node) equal(o *Node) bool {
	if n.ARInfo == nil || o.ARInfo == nil || *n.ARInfo != *o.ARInfo {
		return *n == *o
	}
	same := *n
	same.ARInfo = o.ARInfo
	return same == *o
}

// equal looks into the partition tables only where they are not one and the same.
func (p *Port) equal(o *Port) bool {
	if *p == *o {
		return true
	}
	if p.PKeys == nil || o.PKeys == nil || !p.PKeys.Equal(o.PKeys) {
		return false
	}
	same := *p
	same.PKeys = o.PKeys
	return same == *o
}

// Port is the port of a node by number, which must be 0..NumPorts.
func (t *Topo) Port(n NodeIdx, num uint8) PortIdx { return t.Nodes[n].First + PortIdx(num) }

// IsSwitchPort reports whether the port is an external port of a switch.
func (t *Topo) IsSwitchPort(p PortIdx) bool {
	return t.Ports[p].Num != 0 && t.Nodes[t.Ports[p].Node].Type == mad.Switch
}

// IsBasePort0 reports whether the port is the base port 0 of a switch: it has no link, and its
// PortState, as all that PortInfo says of a link, means nothing.
func (t *Topo) IsBasePort0(p PortIdx) bool {
	node := &t.Nodes[t.Ports[p].Node]
	return t.Ports[p].Num == 0 && node.Type == mad.Switch && !node.SwitchInfo.EnhancedPort0()
}

// LinkSpeed is the speed of the lanes of a port's link, which must be up. Whether the
// extended speeds apply, the capabilities of the end port say.
func (t *Topo) LinkSpeed(p PortIdx) mad.LinkSpeed {
	caps := &t.Ports[t.EndPort(p)].Info
	return t.Ports[p].Info.LinkSpeed(caps.CapabilityMask(), caps.CapabilityMask2())
}

// LinkRate is the rate of a port's link as it runs, 0 if that is not known.
func (t *Topo) LinkRate(p PortIdx) mad.Rate {
	return mad.LinkRate(t.Ports[p].Info.LinkWidthActive(), t.LinkSpeed(p))
}

// BestLinkRate is the one that both ends of a port's link support, whatever is enabled; 0 if that is not known, as
// without a cable.
func (t *Topo) BestLinkRate(p PortIdx) mad.Rate {
	return t.commonRate(p, func(info *smp.PortInfo, caps smp.CapMask, caps2 smp.CapMask2) (mad.LinkWidth,
		smp.SpeedMask) {
		return info.LinkWidthSupported(), info.SpeedsSupported(caps, caps2)
	})
}

// EnabledLinkRate is the highest that both ends of a port's link have enabled; 0 if that is not known, as without a
// cable.
func (t *Topo) EnabledLinkRate(p PortIdx) mad.Rate {
	return t.commonRate(p, func(info *smp.PortInfo, caps smp.CapMask, caps2 smp.CapMask2) (mad.LinkWidth,
		smp.SpeedMask) {
		return info.LinkWidthEnabled(), info.SpeedsEnabled(caps, caps2)
	})
}

// commonRate is the highest rate that both ends of a port's link have.
func (t *Topo) commonRate(p PortIdx, of func(*smp.PortInfo, smp.CapMask, smp.CapMask2) (mad.LinkWidth,
	smp.SpeedMask)) mad.Rate {
	peer := t.Ports[p].Peer
	if peer == None {
		return 0
	}
	ends := func(p PortIdx) (mad.LinkWidth, smp.SpeedMask) {
		caps := &t.Ports[t.EndPort(p)].Info
		return of(&t.Ports[p].Info, caps.CapabilityMask(), caps.CapabilityMask2())
	}
	width, speeds := ends(p)
	farWidth, farSpeeds := ends(peer)
	return mad.LinkRate((width & farWidth).Widest(), (speeds & farSpeeds).Fastest())
}

// SwitchOf is the switch that the port belongs to, or for an end port of a CA or
// router the one it hangs on; None when there is no switch.
func (t *Topo) SwitchOf(p PortIdx) SwitchIdx {
	if sw := t.Nodes[t.Ports[p].Node].Switch; sw != None {
		return sw
	}
	if peer := t.Ports[p].Peer; peer != None {
		return t.Nodes[t.Ports[peer].Node].Switch
	}
	return None
}

// BetweenSwitches reports whether a port of a switch has a cable to a port of a switch.
func (t *Topo) BetweenSwitches(p PortIdx) bool {
	peer := t.Ports[p].Peer
	return peer != None && t.IsSwitchPort(p) && t.IsSwitchPort(peer)
}

// IsHost reports whether an end port is that of a channel adapter or router which sends and receives: aggregation nodes
// do not.
func (t *Topo) IsHost(p PortIdx) bool {
	n := &t.Nodes[t.Ports[p].Node]
	return n.Type != mad.Switch && !n.Aggregation
}

// Agent is the GUID of the port whose agent manages a port: of a switch its port 0.
func (t *Topo) Agent(i PortIdx) mad.GUID {
	if node := &t.Nodes[t.Ports[i].Node]; node.Type == mad.Switch {
		i = node.First
	}
	return t.Ports[i].GUID
}

// MKey is the M_Key that the agent of a port showed when it was read; 0 for none. The ports
// of a switch have that of its port 0 (IBA 14.2.4).
func (t *Topo) MKey(i PortIdx) mad.MKey {
	if node := &t.Nodes[t.Ports[i].Node]; node.Type == mad.Switch {
		i = node.First
	}
	return t.Ports[i].Info.MKey()
}
