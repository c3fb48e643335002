package manager

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/view"
)

// isForged reports whether a trap from a LID cannot be that port's own: it is of the manager's
// kind, or about another node. v may be nil. A LID that is not known is no evidence: it may be
// new, or the node's former one.
func isForged(n *smp.Notice, from mad.LID, v *view.View) bool {
	if !isOfNode(v, from, n.IssuerLID()) {
		return true
	}
	if !n.IsGeneric() {
		return isOfVPorts(n) && isForgedVPort(n, from, v)
	}
	switch n.TrapNumber() {
	case smp.TrapGIDInService, smp.TrapGIDOutOfService, smp.TrapGroupCreated, smp.TrapGroupDeleted, smp.TrapUnpath,
		smp.TrapRepath:
		return true // the master's own to report
	case smp.TrapLinkState:
		return !isOfNode(v, from, n.LinkState().LID())
	case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
		return !isOfNode(v, from, n.PortError().LID())
	case smp.TrapLocalChange:
		return !isOfNode(v, from, n.LocalChange().LID())
	case smp.TrapSystemImageGUID:
		return !isOfNode(v, from, n.SystemImage().LID())
	case smp.TrapBadMKey:
		// its LID is that of the port that showed the key (IBA 14.2.5.1), or, with drivers of Linux, the agent's own
		return false
	case smp.TrapBadPKey, smp.TrapBadQKey: // reported by the receiver of the packet
		return !isOfNode(v, from, n.BadKey().LID1()) && !isOfNode(v, from, n.BadKey().LID2())
	case smp.TrapSwitchBadPKey:
		return !isOfNode(v, from, n.SwitchBadPKey().SwitchLID())
	}
	return false
}

// isOfVPorts reports whether a trap is one of NVIDIA's about vPorts.
func isOfVPorts(n *smp.Notice) bool {
	if n.IsGeneric() || !smp.NVIDIAVendor(n.VendorID()) {
		return false
	}
	switch n.TrapNumber() {
	case smp.TrapVPortLocalChange, smp.TrapVPortStateChange, smp.TrapVPortBadPKey, smp.TrapVPortBadQKey:
		return true
	}
	return false
}

// isForgedVPort is isForged of such a trap.
func isForgedVPort(n *smp.Notice, from mad.LID, v *view.View) bool {
	switch n.TrapNumber() {
	case smp.TrapVPortLocalChange:
		return !isOfNode(v, from, n.VPortLocalChange().LID())
	case smp.TrapVPortStateChange:
		return !isOfNode(v, from, n.VPortStateChange().LID())
	}
	d := n.VPortBadKey()
	return !isOfNode(v, from, d.LID1()) && !isOfNode(v, from, d.LID2())
}

// changedNode is the node of a switch that reports a change of a link, or of a port that reports one of its
// capabilities; 0 for none or an unknown one.
func changedNode(n *smp.Notice, v *view.View) mad.GUID {
	var lid mad.LID
	switch {
	case !n.IsGeneric():
		return 0
	case n.TrapNumber() == smp.TrapLinkState:
		lid = n.LinkState().LID()
	case n.TrapNumber() == smp.TrapLocalChange:
		lid = n.LocalChange().LID()
	}
	p := portOf(v, lid)
	if p == topo.None {
		return 0
	}
	return v.Topo.Nodes[v.Topo.Ports[p].Node].GUID
}

// isOfNode reports whether a LID can belong to the node of the port with the LID from.
func isOfNode(v *view.View, from, lid mad.LID) bool {
	if lid == from || lid == 0 {
		return true
	}
	p := portBehind(v, lid)
	if p == topo.None {
		return true
	}
	sender := portBehind(v, from)
	return sender != topo.None && v.Topo.Ports[p].Node == v.Topo.Ports[sender].Node
}

// badMKeySender is the port that sent the SMP which trap 256 reports, None if it is not known. The
// architecture has its LID in the notice (IBA 14.2.5.1). With qib and hfi1 of Linux that is the agent's own;
// then the return path of a directed-route SMP leads back from the agent, up to the first adapter: what
// it says beyond that is invented. One without hops is from the agent's own host.
func badMKeySender(v *view.View, n *smp.Notice) topo.PortIdx {
	d := n.BadMKey()
	agent, sender := portOf(v, n.IssuerLID()), portOf(v, d.LID())
	switch {
	case agent == topo.None:
		return sender
	case sender != topo.None && v.Topo.Ports[sender].Node != v.Topo.Ports[agent].Node:
		return sender
	case !d.DRNotice() || d.DRSLID() != mad.PermissiveLID || d.DRPathTruncated():
		return topo.None
	}
	path := d.DRReturnPath()
	if len(path) == 0 { // it has not left the node
		return v.Topo.EndPort(agent)
	}
	isSwitch := func(p topo.PortIdx) bool { return v.Topo.Nodes[v.Topo.Ports[p].Node].Type == mad.Switch }
	if path[0] == 0 { // those drivers copy the field from its unused first byte on, and so not the last hop
		if isSwitch(agent) {
			return topo.None
		}
		path = append(slices.Clone(path[1:]), v.Topo.Ports[agent].Num)
	}
	at := agent
	for i := len(path) - 1; i >= 0; i-- {
		if at = v.Topo.Behind(at, path[i]); at == topo.None || !isSwitch(at) {
			break
		}
	}
	if at == topo.None || at == agent {
		return topo.None
	}
	return v.Topo.EndPort(at)
}
