package manager

import (
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
		return false
	}
	switch n.TrapNumber() {
	case smp.TrapGIDInService, smp.TrapGIDOutOfService, smp.TrapGroupCreated, smp.TrapGroupDeleted, smp.TrapUnpath, smp.TrapRepath:
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
		return !isOfNode(v, from, n.BadMKey().LID())
	case smp.TrapBadPKey, smp.TrapBadQKey: // reported by the receiver of the packet
		return !isOfNode(v, from, n.BadKey().LID1()) && !isOfNode(v, from, n.BadKey().LID2())
	case smp.TrapSwitchBadPKey:
		return !isOfNode(v, from, n.SwitchBadPKey().SwitchLID())
	}
	return false
}

// isOfNode reports whether a LID can belong to the node of the port with the LID from.
func isOfNode(v *view.View, from, lid mad.LID) bool {
	if lid == from || lid == 0 {
		return true
	}
	p := portOf(v, lid)
	if p == topo.None {
		return true
	}
	sender := portOf(v, from)
	return sender != topo.None && v.Topo.Ports[p].Node == v.Topo.Ports[sender].Node
}
