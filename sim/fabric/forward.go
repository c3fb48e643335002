package fabric

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// MaxSwitchHops is the number of switches after which a LID-routed packet counts
// as looping and is dropped.
const MaxSwitchHops = 64

// Hop is one switch or end port that a data packet passed.
type Hop struct {
	Node int32
	In   uint8 // port it came in by, 0 where it began
	Out  uint8 // port it left by, 0 where it ended
	VL   uint8 // of the link that it left by
}

// flight is a LID-routed packet on its way.
type flight struct {
	dlid   mad.LID
	vl15   bool     // an SMP: passes Initialize, ignores partitions and lanes
	pkey   mad.PKey // of data
	sl     uint8
	slid   mad.LID
	choice int // of ports of groups, 0 before the first
	trace  bool
	hops   []Hop // appended to with trace

	load      Load   // of data; none: a MAD
	multicast bool   // as counters have it
	bad       uint64 // packets that have bad bits

	from, to   *vport  // functions that send and receive it; nil for ports
	global     bool    // it has a GRH
	sgid, dgid mad.GID // of the GRH
}

// route carries a packet from the end port from by the forwarding tables to the
// port that owns its LID, and returns the port by which it came in there.
func (f *Fabric) route(from int32, t *flight) (at int32, why Drop) {
	if !t.vl15 && !f.sendsData(from) {
		return from, DropNotActive
	}
	if f.owns(from, t) {
		if v := f.virtual[from]; v != nil && !t.vl15 {
			if why := f.receiveVirtual(v, t); why != Delivered {
				return from, why
			}
		}
		t.log(f, from, from, 0)
		return from, Delivered
	}
	at = from
	for hop := range MaxSwitchHops {
		n := f.nodeOf(at)
		out := at
		switch {
		case n.sw != nil:
			if why := f.mayEnter(at, t); why != Delivered {
				return at, why
			}
			o := n.sw.lookup(t.dlid)
			if !t.vl15 && o != 0 {
				o = f.exit(n, t, o)
			}
			if o > n.numPorts {
				f.notRelayed(at, pma.PortDLIDMappingErrors, t)
				return at, DropNoRoute
			}
			if o == 0 {
				return f.land(at, n.first, t)
			}
			out = n.first + int32(o)
		case hop > 0:
			return f.land(at, at, t)
		}
		vl, why := f.mayLeave(at, out, t)
		if why != Delivered {
			return at, why
		}
		t.log(f, at, out, vl)
		next := f.across(out)
		if next < 0 {
			f.discard(out, pma.PortInactiveDiscards, t)
			return at, DropLinkDown
		}
		f.received(next, t)
		if !t.vl15 && !f.takesData(next) {
			return next, DropNotActive
		}
		at = next
	}
	f.discard(at, pma.PortSwLifetimeLimitDiscards, t)
	return at, DropLoop
}

// land delivers at the end port to, which the packet reached by port at.
func (f *Fabric) land(at, to int32, t *flight) (int32, Drop) {
	if t.bad > 0 && t.bad >= t.packets() {
		return at, DropErrors
	}
	if !f.owns(to, t) {
		return at, DropWrongLID
	}
	if !t.vl15 {
		if !f.takesData(to) {
			return at, DropNotActive
		}
		if why := f.receive(to, t); why != Delivered {
			return at, why
		}
	}
	t.log(f, at, to, 0)
	return at, Delivered
}

func (t *flight) log(f *Fabric, in, out int32, vl uint8) {
	if !t.trace {
		return
	}
	h := Hop{Node: f.ports[in].node, In: f.ports[in].num, Out: f.ports[out].num, VL: vl}
	if f.nodes[h.Node].sw == nil { // an end port sends or receives, never both
		if len(t.hops) == 0 {
			h.In = 0
		} else {
			h.Out = 0
		}
	}
	t.hops = append(t.hops, h)
}

// sendsData reports whether an end port is in a state to send data packets.
func (f *Fabric) sendsData(i int32) bool {
	p := &f.ports[i]
	return p.info.PortState() == smp.PortActive || f.nodes[p.node].basePort0(p)
}

// takesData lets a data packet into port i. A port that is Armed goes Active by it
// (IBA 7.2.7).
func (f *Fabric) takesData(i int32) bool {
	pi := &f.ports[i].info
	if pi.PortState() == smp.PortArmed {
		pi.SetPortState(smp.PortActive)
	}
	return f.sendsData(i)
}

// mayEnter is the inbound partition enforcement of a switch port. It is another check than that of an end
// port (IBA 10.9.3, by which two limited keys do not match): it asks whether the sender behind the port may
// use the key. So a limited key passes an entry of its base, and a full key an entry of a full member.
//
// The source is OpenSM. It writes the limited key of a limited host to the port in front of that host,
// and turns the inbound check on. In 2009 it checked outbound only, since the rule of an end port would drop
// all that such a host sends, and took this back: "inbound partition enforcement on switch external port is
// different from end port (IBA 1.2 o18-14)". ibdiagnet 1.5.7 takes a full member behind a port with the
// limited key for a limited one ("Only limited PKey allowed by remote switch").
func (f *Fabric) mayEnter(at int32, t *flight) Drop {
	p := &f.ports[at]
	if t.vl15 || p.num == 0 || !p.info.PartitionEnforcementInbound() {
		return Delivered
	}
	if !p.mayUse(t.pkey) {
		f.count(at, pma.PortRcvConstraintErrors, t.packets())
		f.badSwitchPKey(at, t)
		return DropPKey
	}
	return Delivered
}

// mayLeave says whether a packet that came in by port at may leave by port out, and
// on which lane.
func (f *Fabric) mayLeave(at, out int32, t *flight) (vl uint8, why Drop) {
	if t.vl15 {
		return 15, Delivered
	}
	p := &f.ports[out]
	if p.info.PortPhysicalState() != smp.PhysLinkUp {
		f.discard(out, pma.PortInactiveDiscards, t)
		return 0, DropLinkDown
	}
	if p.info.PortState() != smp.PortActive {
		f.discard(out, pma.PortInactiveDiscards, t)
		return 0, DropNotActive
	}
	if f.nodes[p.node].sw != nil && p.info.PartitionEnforcementOutbound() {
		if _, ok := p.pkey(t.pkey); !ok {
			f.count(out, pma.PortXmitConstraintErrors, t.packets())
			f.badSwitchPKey(out, t)
			return 0, DropPKey
		}
	}
	in := uint8(0)
	if at != out {
		in = f.ports[at].num
	}
	if vl = p.vl(in, t.sl); int(vl) >= smp.DataVLs(p.info.OperationalVLs()) {
		f.notRelayed(at, pma.PortVLMappingErrors, t)
		return vl, DropVL
	}
	return vl, Delivered
}

// receive lets a data packet into end port to, or the function of it that the packet is for.
func (f *Fabric) receive(to int32, t *flight) Drop {
	if v := f.virtual[to]; v != nil {
		return f.receiveVirtual(v, t)
	}
	if _, ok := f.ports[to].pkey(t.pkey); !ok {
		f.badPKey(to, t)
		return DropPKey
	}
	return Delivered
}

// owns reports whether the end port, or a function of it, holds the LID of a packet. SMPs to a function are not
// received.
func (f *Fabric) owns(i int32, t *flight) bool {
	pi, l := &f.ports[i].info, t.dlid
	base := pi.LID()
	return base.IsUnicast() && l >= base && int(l) < int(base)+1<<pi.LMC() ||
		!t.vl15 && f.virtual[i].byLID(l) != nil
}

// arrive is a packet sent by the end port from, or a vPort of it, that has crossed the fabric: what
// it meets is the fabric as it is now. Addr still names its destination.
func (f *Fabric) arrive(from int32, vPort uint16, d *mad.Datagram) {
	p, has := f.virtual[from].find(vPort)
	if f.nodeOf(from).gone || !has {
		f.drop(DropNodeGone, d)
		return
	}
	if p != nil {
		f.arrived(from, p, d)
		return
	}
	if f.takesTime(d) && !d.Packet.Returning() {
		f.toAgent(from, pass{hop: min(1, int(d.Packet.HopCount()))}, d)
		return
	}
	f.arrived(from, nil, d)
}

// arrived is arrive without the time that agents take. by is the function that sent the packet, nil for the port.
func (f *Fabric) arrived(from int32, by *vport, d *mad.Datagram) {
	p := &d.Packet
	var at int32
	var to *vport
	var why Drop
	dlid := d.LID
	switch class := p.MgmtClass(); {
	case p.BaseVersion() != 1:
		why = DropMalformed
	case by != nil && class.IsSubnet():
		why = DropUnsupported // functions have no QP0
	case class == mad.ClassDirected && p.Returning():
		at, why = f.walkBack(from, p)
		d.LID = mad.PermissiveLID
	case class == mad.ClassDirected:
		var hops int
		if at, hops, why = f.walkOut(from, p); hops > 0 && f.nodeOf(at).liar != nil {
			f.atLiar(at, hops, d)
			return
		}
		d.LID = mad.PermissiveLID
	default:
		d.LID = f.sourceLID(from, d.PathBits)
		at, to, why = f.carry(from, by, dlid, d)
	}
	if at == from && p.MgmtClass().IsSubnet() && p.Method() == mad.MethodTrap {
		d.LID = 0 // as adapters report traps of their own node
	}
	switch {
	case why != Delivered:
		f.drop(why, d)
	case f.nodeOf(at).gone:
		f.drop(DropNodeGone, d)
	case to != nil:
		f.deliver(at, to.index, d)
	case f.isForAgent(at, p):
		f.atAgent(at, dlid, d)
	case p.MgmtClass().IsSubnet():
		f.atQP0(at, dlid, d)
	case p.MgmtClass() == mad.ClassPerf && !p.IsResponse(), f.takesCongestion(at, p):
		f.atGSA(at, dlid, d)
	default:
		f.deliver(at, 0, d)
	}
}

// carry routes a packet by LID and makes d's address the sender's, as the receiver
// will see it. by is the function of port from that sends it, to the function that receives it; nil for ports.
func (f *Fabric) carry(from int32, by *vport, dlid mad.LID, d *mad.Datagram) (at int32, to *vport, why Drop) {
	t := flight{dlid: dlid, slid: d.LID, sl: d.SL & 15, from: by}
	sender := f.portOr(from, by)
	switch {
	case !dlid.IsUnicast():
		return 0, nil, DropNoRoute
	case d.Packet.MgmtClass().IsSubnet():
		t.vl15 = true
	default:
		t.pkey = sender.pkeyAt(int(d.PKeyIndex))
		if !t.pkey.Valid() {
			return 0, nil, DropPKey
		}
		t.global, t.sgid, t.dgid = d.GRH.Present, f.gidOf(from, sender, d.GRH.GIDIndex), d.RemoteGID()
		if why := f.sendVirtual(f.virtual[from], &t); why != Delivered {
			return 0, nil, why
		}
		d.LID = t.slid
	}
	if at, why = f.route(from, &t); why != Delivered {
		return at, nil, why
	}
	m := f.mgmt(at)
	receiver := f.portOr(m, t.to)
	d.QPN, d.PathBits = uint32(d.QP()), uint8(dlid-receiver.info.LID())
	if t.to != nil {
		d.PathBits = 0
	}
	if !t.vl15 {
		i, _ := receiver.pkey(t.pkey)
		d.PKeyIndex = uint16(i)
		if !receiver.globalRoute(t.sgid, &d.GRH) {
			return at, t.to, DropGRH
		}
	}
	return at, t.to, Delivered
}

// portOr is that of a function, or where by is nil the port.
func (f *Fabric) portOr(i int32, by *vport) *port {
	if by != nil {
		return &by.port
	}
	return &f.ports[i]
}

// RequireGRH has a port demand a GRH of every packet of general services, or not.
func (f *Fabric) RequireGRH(at net.End, is bool) {
	if i, ok := f.index(at); ok {
		f.ports[i].needsGRH = is
	}
}

// wellKnownSA is the interface identifier by which any port reaches the SA.
const wellKnownSA mad.GUID = 0x0200000000000002

// gidOf is the GID with an index of a sender at port i, its first one where it has none such.
func (f *Fabric) gidOf(i int32, sender *port, index uint8) mad.GID {
	guid := sender.guid
	if i := int(index); i > 0 && sender.tables != nil && i < len(sender.tables.guids) {
		guid = sender.tables.guids[i]
	}
	return mad.MakeGID(f.ports[i].info.GidPrefix(), guid)
}

// globalRoute makes a sender's GRH the one that port p receives, as a reply has it, with the sender's GID,
// and reports whether the port takes the packet.
func (p *port) globalRoute(sender mad.GID, g *mad.GRH) bool {
	if !g.Present {
		return !p.needsGRH
	}
	index, ok := p.gidIndex(g.GID.GUID())
	if !ok {
		return false
	}
	g.GID, g.GIDIndex, g.HopLimit = sender, index, 255
	return true
}

// gidIndex is the index of a port's GID; the well-known one of the SA is the first.
func (p *port) gidIndex(guid mad.GUID) (index uint8, ok bool) {
	switch {
	case guid == p.guid || guid == wellKnownSA:
		return 0, true
	case p.tables != nil && slices.Contains(p.tables.guids, guid):
		return uint8(slices.Index(p.tables.guids, guid)), true
	}
	return 0, false
}

func (f *Fabric) sourceLID(from int32, pathBits uint8) mad.LID {
	pi := &f.ports[from].info
	return pi.LID() + mad.LID(pathBits&(1<<pi.LMC()-1))
}

// deliver hands a packet that came in by port at to the station there, or that of a function.
func (f *Fabric) deliver(at int32, vPort uint16, d *mad.Datagram) {
	p, has := f.virtual[at].find(vPort)
	s := f.portOr(f.mgmt(at), p).station
	switch {
	case f.nodeOf(at).gone || !has:
		f.drop(DropNodeGone, d)
	case s == nil:
		f.drop(DropNoStation, d)
	default:
		s.put(d)
	}
}
