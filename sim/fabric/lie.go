package fabric

import (
	"encoding/binary"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Lie is what the agent of a node that lies says. It answers each directed-route SMP that reaches the node or would
// pass it, whatever M_Key the SMP has: one that would pass it in the name of nodes that are not there. It obeys every
// Set, and remembers it. Requests of a station at the node, LID-routed SMPs and all other packets are not its business.
type Lie struct {
	Self    Claim
	Behind  map[uint8]Claim // the nodes behind ports of Self, where that is a switch
	Endless bool            // behind all its other ports, and those of what is behind them, are switches like Self
	Delay   time.Duration   // before each answer, besides Config.Latency
	// Heard, when set, is shown each SMP that the agent answers, and the rest of its directed route, which is empty
	// where it reaches the node. It keeps nothing of either.
	Heard func(p *mad.Packet, beyond []uint8)
}

// Claim is a node that a Lie makes up.
type Claim struct {
	// Info is its NodeInfo. LocalPortNum is the port by which it is reached; of Lie.Self it is that of the node itself.
	Info smp.NodeInfo
	// SM is the SMInfo of a manager there; nil for none. The node answers the method Get alone. Where it is nil at the
	// node that lies, a station there gets the requests for SMInfo.
	SM *smp.SMInfo
}

// ClaimOf is the claim to be a node of the fabric, reached by the port at.
func (f *Fabric) ClaimOf(node int32, port uint8) Claim {
	c := Claim{Info: f.nodes[node].info}
	i := f.mgmt(f.nodes[node].first + int32(port))
	c.Info.SetPortGUID(f.ports[i].guid)
	c.Info.SetLocalPortNum(port)
	return c
}

// SwitchClaim is the claim to be a switch with so many ports, 1 to 254, and a GUID.
func SwitchClaim(guid mad.GUID, ports uint8) Claim {
	var c Claim
	c.Info.SetBaseVersion(1)
	c.Info.SetClassVersion(1)
	c.Info.SetNodeType(mad.Switch)
	c.Info.SetNumPorts(ports)
	c.Info.SetSystemImageGUID(guid)
	c.Info.SetNodeGUID(guid)
	c.Info.SetPortGUID(guid)
	c.Info.SetPartitionCap(32)
	c.Info.SetLocalPortNum(1)
	return c
}

// SetLie has the agent of a node lie from now on; nil has the node's own agent answer again.
func (f *Fabric) SetLie(node int32, l *Lie) {
	f.nodes[node].liar = nil
	if l != nil {
		f.nodes[node].liar = &liar{Lie: *l, nodes: map[string]*imagined{}}
	}
}

// liar is an agent that lies, and what it remembers of the nodes that it has made up, by the directed route from its
// own.
type liar struct {
	Lie
	nodes map[string]*imagined
}

// imagined is a node that is not there.
type imagined struct {
	claim Claim
	up    func(port uint8) bool
	held  map[imaginedAttr][mad.DataSize]byte // by Sets
}

type imaginedAttr struct {
	attr mad.AttrID
	mod  uint32
}

// atLiar has a liar answer a request that has come to its port at after so many hops of its directed route.
func (f *Fabric) atLiar(at int32, hops int, d *mad.Datagram) {
	p := &d.Packet
	l := f.nodeOf(at).liar
	beyond := p.InitialPath()[hops+1 : p.HopCount()+1]
	if l.Heard != nil {
		q := *p // lest every packet be allocated for its sake
		l.Heard(&q, slices.Clone(beyond))
	}
	f.stats.count(p)
	if p.AttrID() == smp.AttrSMInfo && len(beyond) == 0 && l.Self.SM == nil && f.ports[f.mgmt(at)].station != nil {
		p.SetHopPointer(uint8(hops) + 1)
		d.LID = mad.PermissiveLID
		f.deliver(at, 0, d)
		return
	}
	n := l.find(f, at, beyond)
	isRequest := p.Method() == mad.MethodGet || p.Method() == mad.MethodSet
	if n == nil || !isRequest || !f.imagine(at, n, len(beyond) == 0, p) {
		f.drop(DropUnresponsive, d)
		return
	}
	p.SetMethod(mad.MethodGetResp)
	p.SetReturning()
	for i := hops + 1; i <= int(p.HopCount()); i++ {
		p.ReturnPath()[i] = 1
	}
	to, why := f.back(at, hops, p)
	if why != Delivered {
		f.drop(why, d)
		return
	}
	p.SetHopPointer(0)
	f.onWireAfter(l.Delay, evDeliver, to, 0, d)
}

// find is the node at the end of a route from that of the liar; nil for none.
func (l *liar) find(f *Fabric, at int32, route []uint8) *imagined {
	n := l.nodes[string(route)]
	if n != nil {
		return n
	}
	claim := l.Self
	claim.Info.SetLocalPortNum(f.ports[at].num)
	if len(route) > 0 {
		before := l.find(f, at, route[:len(route)-1])
		out := route[len(route)-1]
		if before == nil || before.claim.Info.NodeType() != mad.Switch || !before.up(out) {
			return nil
		}
		known := false
		if claim, known = l.Behind[out]; !known || len(route) > 1 {
			claim = l.further(route)
		}
	}
	self, hops := claim.Info.LocalPortNum(), len(route)
	n = &imagined{claim: claim, held: map[imaginedAttr][mad.DataSize]byte{}, up: func(port uint8) bool {
		_, claimed := l.Behind[port]
		return port == self || l.Endless || claimed && hops == 0
	}}
	l.nodes[string(route)] = n
	return n
}

// further is the switch at the end of a route of an Endless lie. Its GUID is that of Self with the route mixed in.
func (l *liar) further(route []uint8) Claim {
	guid := uint64(l.Self.Info.NodeGUID())
	for _, port := range route {
		guid = guid*0x100000001b3 + uint64(port)
	}
	return SwitchClaim(mad.GUID(guid), l.Self.Info.NumPorts())
}

// imagine has a node that is not there obey a request, and reports whether it answers. own says that it is the liar's
// own, at whose port at the request came in.
func (f *Fabric) imagine(at int32, n *imagined, own bool, p *mad.Packet) bool {
	key := imaginedAttr{p.AttrID(), p.AttrMod()}
	set, d := p.Method() == mad.MethodSet, p.Data()
	p.SetStatus(mad.StatusOK)
	switch key.attr {
	case smp.AttrNodeInfo:
		*d = n.claim.Info
		if own {
			(*smp.NodeInfo)(d).SetLocalPortNum(f.ports[at].num)
		}
		return true
	case smp.AttrSMInfo:
		if n.claim.SM == nil || set {
			return false
		}
		*d = *n.claim.SM
		return true
	case smp.AttrPortInfo:
		key.mod &^= smp.ExtendedSpeedsMod
		if set {
			n.setPort(f, at, key, (*smp.PortInfo)(d))
		}
	case smp.AttrNodeDescription, smp.AttrSwitchInfo, smp.AttrPKeyTable, smp.AttrSLtoVLMappingTable,
		smp.AttrVLArbitrationTable, smp.AttrLinearForwardingTable, smp.AttrMulticastForwardingTable, smp.AttrGUIDInfo:
		if set {
			n.held[key] = *d
		}
	default:
		p.SetStatus(mad.StatusBadMethodAttr)
		return true
	}
	*d = n.value(f, at, key)
	return true
}

// setPort stores a PortInfo as it was asked for.
func (n *imagined) setPort(f *Fabric, at int32, key imaginedAttr, want *smp.PortInfo) {
	had := smp.PortInfo(n.value(f, at, key))
	if want.PortState() == smp.PortNoChange {
		want.SetPortState(had.PortState())
	}
	if want.PortPhysicalState() == smp.PhysNoChange {
		want.SetPortPhysicalState(had.PortPhysicalState())
	}
	n.held[key] = *want
}

// value is what a node that is not there holds: what was set, or a device's value after power-up.
func (n *imagined) value(f *Fabric, at int32, key imaginedAttr) (d [mad.DataSize]byte) {
	if held, is := n.held[key]; is {
		return held
	}
	switch key.attr {
	case smp.AttrNodeDescription:
		(*smp.NodeDescription)(&d).Set("imagined")
	case smp.AttrSwitchInfo:
		info := (*smp.SwitchInfo)(&d)
		info.SetLinearFDBCap(uint16(mad.MaxUnicastLID) + 1)
		info.SetMulticastFDBCap(1024)
		info.SetPortStateChange(true)
	case smp.AttrPKeyTable:
		if key.mod&0xffff == 0 {
			binary.BigEndian.PutUint16(d[:], uint16(mad.DefaultPKey))
		}
	case smp.AttrLinearForwardingTable:
		for i := range d {
			d[i] = noPort
		}
	case smp.AttrPortInfo:
		n.powerUpPort(f, at, uint8(key.mod), (*smp.PortInfo)(&d))
	}
	return d
}

// powerUpPort fills in the PortInfo of a port after power-up, with the abilities of the liar's own.
func (n *imagined) powerUpPort(f *Fabric, at int32, num uint8, info *smp.PortInfo) {
	*info = f.ports[at].info
	info.SetLID(0)
	info.SetMasterSMLID(0)
	info.SetMKey(0)
	info.SetMKeyProtectBits(0)
	info.SetLocalPortNum(n.claim.Info.LocalPortNum())
	mask := info.CapabilityMask() &^ smp.IsSM
	station := f.ports[f.mgmt(at)].station
	if n.claim.SM != nil || n == f.nodeOf(at).liar.nodes[""] && station != nil && station.isSM {
		mask |= smp.IsSM
	}
	info.SetCapabilityMask(mask)
	switch isSwitch := n.claim.Info.NodeType() == mad.Switch; {
	case isSwitch && num == 0:
		info.SetPortState(smp.PortActive)
		info.SetPortPhysicalState(smp.PhysLinkUp)
	case isSwitch && !n.up(num):
		info.SetPortState(smp.PortDown)
		info.SetPortPhysicalState(smp.PhysPolling)
	default:
		info.SetPortState(smp.PortInit)
		info.SetPortPhysicalState(smp.PhysLinkUp)
	}
}

// Lie is what the agent of a node says; ok is false if it does not lie.
func (f *Fabric) Lie(node int32) (l Lie, ok bool) {
	if held := f.nodes[node].liar; held != nil {
		return held.Lie, true
	}
	return l, false
}
