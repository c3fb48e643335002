package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
)

// vlArbRecords are one for each block of the arbitration of each port. A block that was not read
// has zeroes, as with OpenSM. OutputPortNum means something for switches alone: osmtest asks for
// port 0 of an adapter.
func (a *Responder) vlArbRecords(r *request, res *result) {
	want := (*sarec.VLArbitrationTableRecord)(r.data[:])
	ports := a.devicePorts(r.comps.Has(sarec.VLArbLID), want.LID())
	ofSwitch := sarec.VLArbMask(r.comps &^ sarec.VLArbLID)
	ofOthers := sarec.VLArbMask(r.comps &^ (sarec.VLArbLID | sarec.VLArbOutputPortNum))
	t := a.view.Topo
	for p := ports.from; p < ports.to; p++ {
		if !a.isVisible(r, p) {
			continue
		}
		mask, node := &ofOthers, &t.Nodes[t.Ports[p].Node]
		if node.Type == mad.Switch {
			mask = &ofSwitch
		}
		var rec sarec.VLArbitrationTableRecord
		rec.SetLID(a.deviceLID(p))
		rec.SetOutputPortNum(t.Ports[p].Num)
		held := a.view.Ports.Blocks(device.Place{Attr: smp.AttrVLArbitrationTable, Node: node.GUID,
			Port: t.Ports[p].Num})
		for block := smp.VLArbLow0; block <= smp.VLArbHigh1; block++ {
			rec.SetBlockNum(block)
			*rec.VLArbitrationTable() = smp.VLArbitrationTable(held.Known(int(block - smp.VLArbLow0)))
			if sarec.Match(rec[:], want[:], mask[:]) && !res.add(rec[:]) {
				return
			}
		}
	}
}
