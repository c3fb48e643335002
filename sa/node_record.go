package sa

import (
	"bytes"

	"ibsm/mad/sarec"
	"ibsm/mad/smp"
)

// nodeRecords are one for each end port, and for each vPort of recorded, whose node is its virtual one at the same
// adapter. The LID asked for may be any of the port's; the record has its base LID.
func (a *Responder) nodeRecords(r *request, res *result) {
	want := (*sarec.NodeRecord)(r.data[:])
	ports := a.allPorts()
	switch {
	case r.comps.Has(sarec.NodeLID):
		ports = onePort(a.view.LIDs.PortOf(want.LID()))
	case r.comps.Has(sarec.NodePortGUID):
		ports = onePort(a.view.Topo.FindPort(want.PortGUID()))
	case r.comps.Has(sarec.NodeNodeGUID):
		ports = a.nodePorts(want.NodeGUID())
	}
	byName := r.comps.Has(sarec.NodeNodeDescription)
	mask := sarec.NodeMask(r.comps &^ (sarec.NodeLID | sarec.NodeNodeDescription))
	t := a.view.Topo
	for p := ports.from; p < ports.to; p++ {
		lid := a.view.LIDs.Base[p]
		if lid == 0 || !a.maySee(r, p) {
			continue
		}
		node := &t.Nodes[t.Ports[p].Node]
		var rec sarec.NodeRecord
		rec.SetLID(lid)
		rec.SetNodeInfo(&node.Info)
		rec.SetPortGUID(t.Ports[p].GUID)
		rec.SetLocalPortNum(t.Ports[p].Num)
		*rec.NodeDescription() = node.Desc
		if !sarec.Match(rec[:], want[:], mask[:]) || byName && !sameName(&node.Desc, want.NodeDescription()) {
			continue
		}
		if !res.add(rec[:]) {
			return
		}
	}
	from, to := a.recorded(r.comps.Has(sarec.NodeLID), want.LID(), r.comps.Has(sarec.NodePortGUID), want.PortGUID())
	for v := from; v < to; v++ {
		if !a.hasRecords(r, v) {
			continue
		}
		p := t.VPorts.At(v)
		node := &t.Nodes[t.Ports[p.Port].Node]
		info, desc := node.Info, &node.Desc
		info.SetNodeGUID(p.Node)
		info.SetPortGUID(p.GUID)
		info.SetLocalPortNum(t.Ports[p.Port].Num)
		info.SetPartitionCap(p.PartitionCap)
		if p.Desc != nil {
			desc = p.Desc
		}
		var rec sarec.NodeRecord
		rec.SetLID(p.LID)
		rec.SetNodeInfo(&info)
		*rec.NodeDescription() = *desc
		if sarec.Match(rec[:], want[:], mask[:]) && (!byName || sameName(desc, want.NodeDescription())) &&
			!res.add(rec[:]) {
			return
		}
	}
}

// sameName compares up to the first zero byte, as names are written.
func sameName(a, b *smp.NodeDescription) bool {
	return bytes.Equal(untilZero(a[:]), untilZero(b[:]))
}

func untilZero(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
