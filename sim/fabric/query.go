package fabric

import (
	"iter"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// What follows looks at the fabric from outside, without a packet: the truth that
// tests compare a manager's picture with.

// NumNodes is the number of nodes; they are numbered as in the Net.
func (f *Fabric) NumNodes() int { return len(f.nodes) }

// NumPorts is the number of a node's physical ports.
func (f *Fabric) NumPorts(node int32) uint8 { return f.nodes[node].numPorts }

// NodeType is what the node is.
func (f *Fabric) NodeType(node int32) mad.NodeType { return f.nodes[node].typ }

// Powered reports whether the node has power.
func (f *Fabric) Powered(node int32) bool { return !f.nodes[node].gone }

// NodeID is what the Net calls the node.
func (f *Fabric) NodeID(node int32) string { return f.nodes[node].id }

// FindNode returns the node with that ID, or else the first with that description,
// by the port where a program on it sits: port 0 of a switch, port 1 otherwise.
func (f *Fabric) FindNode(name string) (net.End, bool) {
	found := int32(-1)
	for i := range f.nodes {
		if f.nodes[i].id == name {
			found = int32(i)
			break
		}
		if found < 0 && f.nodes[i].desc.String() == name {
			found = int32(i)
		}
	}
	if found < 0 {
		return net.NoEnd, false
	}
	return f.end(f.mgmt(f.nodes[found].first)), true
}

// NodeInfo is what the node says of itself to an SMP that came in by that port.
func (f *Fabric) NodeInfo(at net.End) smp.NodeInfo {
	var d [mad.DataSize]byte
	f.nodeInfo(f.must(at), false, 0, &d)
	return d
}

// Find returns the end port or switch port 0 with that GUID; the first one where
// several have it.
func (f *Fabric) Find(port mad.GUID) (net.End, bool) {
	i, ok := f.byGUID[port]
	if !ok {
		return net.NoEnd, false
	}
	return f.end(i), true
}

// Ports are all ports that exist: of switches port 0 and the external ones, of end
// nodes those from 1 on.
func (f *Fabric) Ports() iter.Seq[net.End] {
	return func(yield func(net.End) bool) {
		for i := range f.ports {
			p := &f.ports[i]
			if p.num == 0 && f.nodes[p.node].sw == nil {
				continue
			}
			if !yield(f.end(int32(i))) {
				return
			}
		}
	}
}

// EndPorts are the ports that can hold a LID.
func (f *Fabric) EndPorts() iter.Seq[net.End] {
	return func(yield func(net.End) bool) {
		for i := range f.ports {
			if p := &f.ports[i]; (p.num == 0) == (f.nodes[p.node].sw != nil) && !yield(f.end(int32(i))) {
				return
			}
		}
	}
}

// PortInfo is what the port holds, with all extended speed fields and the number of
// the port itself as LocalPortNum.
func (f *Fabric) PortInfo(at net.End) smp.PortInfo {
	i := f.must(at)
	f.expireLease(i)
	pi := f.ports[i].info
	pi.SetLocalPortNum(at.Port)
	return pi
}

// HasLink reports whether an end port can be reached: it is powered and has a link, or is port
// 0 of a switch.
func (f *Fabric) HasLink(at net.End) bool {
	i := f.must(at)
	n := &f.nodes[at.Node]
	return !n.gone && (n.sw != nil && at.Port == 0 || f.ports[i].info.PortState() > smp.PortDown)
}

// SendsData reports whether a port is powered, and in a state to send data.
func (f *Fabric) SendsData(at net.End) bool {
	return !f.nodes[at.Node].gone && f.sendsData(f.must(at))
}

// RunsFDR10 reports whether the port's link has trained to FDR10, which PortInfo calls QDR.
func (f *Fabric) RunsFDR10(at net.End) bool {
	i := f.must(at)
	return f.linkUp(i) && f.ports[i].runsFDR10
}

// FDR10Enabled reports whether the port may train to FDR10.
func (f *Fabric) FDR10Enabled(at net.End) bool { return f.ports[f.must(at)].fdr10() }

// Peer is the other end of the cable at that port, net.NoEnd without one.
func (f *Fabric) Peer(at net.End) net.End {
	if peer := f.ports[f.must(at)].peer; peer >= 0 {
		return f.end(peer)
	}
	return net.NoEnd
}

// CableGood reports whether a cable at that port joins two nodes with power and is
// not cut.
func (f *Fabric) CableGood(at net.End) bool {
	p := &f.ports[f.must(at)]
	return p.peer >= 0 && !p.cut && !f.nodes[p.node].gone && !f.nodeOf(p.peer).gone
}

// PortGUID is the GUID of an end port, 0 for external ports of switches.
func (f *Fabric) PortGUID(at net.End) mad.GUID { return f.ports[f.must(at)].guid }

// PKeys is the port's partition table up to its last valid entry, a copy.
func (f *Fabric) PKeys(at net.End) []mad.PKey { return f.ports[f.must(at)].pkeysHeld() }

func (p *port) pkeysHeld() (keys []mad.PKey) {
	if p.tables == nil || p.tables.pkeys == nil {
		return []mad.PKey{mad.DefaultPKey}
	}
	for i, k := range p.tables.pkeys {
		if k.Valid() {
			keys = append(keys, p.tables.pkeys[len(keys):i+1]...)
		}
	}
	return keys
}

// GUIDs is what the end port shows of GUIDInfo, as many as it has room for; a copy.
func (f *Fabric) GUIDs(at net.End) (guids []mad.GUID) {
	p := &f.ports[f.must(at)]
	for i := range int(p.info.GUIDCap()) {
		guids = append(guids, p.guidAt(i))
	}
	return guids
}

// VL is the lane that the port sends a service level on, for packets that came in
// by port in; 15 drops them.
func (f *Fabric) VL(at net.End, in, sl uint8) uint8 { return f.ports[f.must(at)].vl(in, sl&15) }

// VLArbitration is a block of the lists by which the port gives its lanes their turns; block is
// 0 to 3, as in the high half of the modifier less 1.
func (f *Fabric) VLArbitration(at net.End, block int) (t smp.VLArbitrationTable) {
	if w := f.ports[f.must(at)].tables; w != nil {
		t = w.vlarb[block]
	}
	return t
}

// SwitchInfo is what a switch holds.
func (f *Fabric) SwitchInfo(node int32) smp.SwitchInfo { return f.nodes[node].sw.info }

// LFT is a switch's linear forwarding table as far as it was written, by LID: a
// view that must not be changed and holds until the next event.
func (f *Fabric) LFT(node int32) []uint8 { return f.nodes[node].sw.lft }

// MulticastPort reports whether the switch's multicast table sends an MLID out of
// a port.
func (f *Fabric) MulticastPort(node int32, mlid mad.LID, port uint8) bool {
	n := &f.nodes[node]
	masks := n.sw.multicastPorts(n.numPorts, mlid)
	return int(port/16) < len(masks) && masks[port/16]>>(port%16)&1 != 0
}

// FirstNotActive is a port whose link is up but not Active at both ends; ok is
// false when there is none.
func (f *Fabric) FirstNotActive() (at net.End, ok bool) {
	for i := range f.ports {
		if f.across(int32(i)) >= 0 && f.ports[i].info.PortState() != smp.PortActive {
			return f.end(int32(i)), true
		}
	}
	return net.NoEnd, false
}

// FirstSharedLID is a LID that two ports or functions of powered nodes hold as their own, counting the whole
// ranges of their LMCs; ok is false when there is none.
func (f *Fabric) FirstSharedLID() (lid mad.LID, ok bool) {
	var taken [mad.MinMulticastLID]bool
	for at := range f.EndPorts() {
		if f.nodes[at.Node].gone {
			continue
		}
		i := f.must(at)
		infos := []*smp.PortInfo{&f.ports[i].info}
		if v := f.virtual[i]; v != nil {
			for _, p := range v.functions {
				infos = append(infos, &p.info)
			}
		}
		for _, pi := range infos {
			for l := pi.LID(); l.IsUnicast() && int(l) < int(pi.LID())+1<<pi.LMC(); l++ {
				if taken[l] {
					return l, true
				}
				taken[l] = true
			}
		}
	}
	return 0, false
}
