package plan

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Wanted is the wanted PortInfo of a port, without its PortState: its present PortInfo with
// the managed fields changed. PortState and PortPhysicalState are 0, which means "no change"
// in a Set.
func (p *Plan) Wanted(i topo.PortIdx) smp.PortInfo {
	t := p.in.Topo
	port := &t.Ports[i]
	node := &t.Nodes[port.Node]
	w := port.Info
	w.SetPortState(smp.PortNoChange)
	w.SetPortPhysicalState(smp.PhysNoChange)
	w.SetLinkSpeedExtEnabled2(0)
	w.SetClientReregister(false)
	if p.in.LIDs.Base[i] != 0 || !t.IsSwitchPort(i) {
		p.endPort(i, &w)
	}
	if t.IsBasePort0(i) {
		return w
	}
	if u, ok := p.use(i); ok {
		w.SetVLHighLimit(u.Limit(lanes.Of(&w, 0)))
	}
	if p.in.Values.forces() {
		p.enabled(i).put(&w)
	}
	if port.Num == 0 && node.Type == mad.Switch { // it sends as an adapter does, and has no neighbour
		w.SetNeighborMTU(max(port.Info.MTUCap(), mad.MTU256))
		if p.changesVLs(i) {
			limit := p.in.Values.vlLimit(mad.Switch, mad.Switch)
			w.SetOperationalVLs(wantedVLs(port.Info.VLCap(), port.Info.VLCap(), limit))
		}
		return w
	}
	w.SetLinkDownDefaultState(smp.PhysPolling) // a port in Sleep never finds its peer again
	if port.Peer != topo.None {
		p.link(i, &w)
	}
	if node.Type == mad.Switch {
		p.checks(i, &w)
	}
	return w
}

// needed is the present PortInfo of a port with the indispensable fields of the wanted one.
func (p *Plan) needed(i topo.PortIdx, wanted *smp.PortInfo) smp.PortInfo {
	w := *wanted
	for b := range w {
		w[b] = w[b]&^device.PortInfo.Bits[b] | p.in.Topo.Ports[i].Info[b]&device.PortInfo.Bits[b]
	}
	w.SetLID(wanted.LID())
	w.SetLMC(wanted.LMC())
	w.SetMasterSMLID(wanted.MasterSMLID())
	w.SetGidPrefix(wanted.GidPrefix())
	return w
}

// endPort sets the fields of ports that have a LID.
func (p *Plan) endPort(i topo.PortIdx, w *smp.PortInfo) {
	v := &p.in.Values
	w.SetLID(p.in.LIDs.Base[i])
	w.SetLMC(p.in.LIDs.LMC[i])
	w.SetMasterSMLID(p.in.LIDs.Base[p.in.Topo.Self])
	w.SetMasterSMSL(p.smSL(i))
	w.SetGidPrefix(v.Prefix)
	w.SetSubnetTimeOut(v.SubnetTimeOut)
	switch {
	case !v.mkeysLast():
		p.setMKey(i, w)
	case smp.HidesMKey(w): // it may hide the one that it has, which must not become 0
		w.SetMKey(v.MKeys.For(p.in.Topo, i))
	}
}

// smSL is the SL of the path from a port to the manager.
func (p *Plan) smSL(i topo.PortIdx) uint8 {
	return p.in.SLs.For(p.in.LIDs.Base[i], p.in.LIDs.Base[p.in.Topo.Self], p.in.Values.SMSL)
}

// changesVLs reports whether OperationalVLs of a port may change. A port that carries traffic keeps its VLs: a change
// would need a reset of the link. A switch that forwards by private tables keeps them, too.
func (p *Plan) changesVLs(i topo.PortIdx) bool {
	return p.in.Topo.Ports[i].Info.PortState() <= smp.PortInit && !private(p.in.Topo, i)
}

// linkVLs is the OperationalVLs of a port whose link comes up. Where the other end keeps its own, that decides.
func linkVLs(t *topo.Topo, i topo.PortIdx, v *Values) uint8 {
	is, far := &t.Ports[i].Info, &t.Ports[t.Ports[i].Peer].Info
	if kept := far.OperationalVLs(); kept > 0 && private(t, t.Ports[i].Peer) {
		return wantedVLs(is.VLCap(), kept, kept)
	}
	near, end := t.Ports[i].Node, t.Ports[t.Ports[i].Peer].Node
	return wantedVLs(is.VLCap(), far.VLCap(), v.vlLimit(t.Nodes[near].Type, t.Nodes[end].Type))
}

// vlLimit is the limit of OperationalVLs of a link between nodes of such types. Both ends must have the same.
func (v *Values) vlLimit(near, far mad.NodeType) uint8 {
	most := uint8(0)
	for _, kind := range [...]mad.NodeType{near, far} {
		limit := v.KindVLs.CA
		switch {
		case kind == mad.Router:
			limit = v.KindVLs.Router
		case kind == mad.Switch && near == far:
			limit = v.KindVLs.Switch
		case kind == mad.Switch:
			continue // the other end decides
		}
		if limit == 0 {
			limit = v.MaxOpVLs
		}
		if most == 0 || limit < most {
			most = limit
		}
	}
	return most
}

// wantedVLs is the OperationalVLs of a link that comes up, from the VLCap of both ends.
func wantedVLs(vlCap, peerCap, most uint8) uint8 { return max(min(vlCap, peerCap, most), 1) }

// Lanes is, by PortIdx, the number of data VLs that the links of switches have once the plan is
// carried out, for routing.In.
func Lanes(t *topo.Topo, v *Values) []uint8 {
	lanes := make([]uint8, len(t.Ports))
	for p := range t.Ports {
		port := &t.Ports[p]
		if port.Num == 0 || port.Peer == topo.None || t.Nodes[port.Node].Switch == topo.None || !port.Seen {
			continue
		}
		vls := port.Info.OperationalVLs()
		if port.Info.PortState() <= smp.PortInit && t.Ports[port.Peer].Seen && !private(t, topo.PortIdx(p)) {
			vls = linkVLs(t, topo.PortIdx(p), v)
		}
		if vls > 0 {
			lanes[p] = min(uint8(1)<<(min(vls, 5)-1), 15)
		}
	}
	return lanes
}

// link sets the fields that must be equal at both ends of a link, and those that depend on the
// type of its peer.
func (p *Plan) link(i topo.PortIdx, w *smp.PortInfo) {
	v, t := &p.in.Values, p.in.Topo
	port := &t.Ports[i]
	peer := &t.Ports[port.Peer]
	w.SetNeighborMTU(max(min(port.Info.MTUCap(), peer.Info.MTUCap()), mad.MTU256))
	if p.changesVLs(i) {
		w.SetOperationalVLs(linkVLs(t, i, v))
	}
	w.SetLocalPhyErrors(v.PhyErrors)
	w.SetOverrunErrors(v.Overruns)
	switch {
	case t.Nodes[port.Node].Type == mad.CA:
	case t.Nodes[port.Node].Type == mad.Router:
		w.SetHOQLife(v.LeafHOQLife)
	case t.Nodes[peer.Node].Type == mad.Switch:
		w.SetHOQLife(v.HOQLife)
		w.SetVLStallCount(v.VLStallCount)
	default:
		w.SetHOQLife(v.LeafHOQLife)
		w.SetVLStallCount(v.LeafVLStall)
	}
}
