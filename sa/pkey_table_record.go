package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// pkeyTableRecords are one for each block of the partition table of each port whose
// table is known. They are for the trusted.
func (a *Responder) pkeyTableRecords(r *request, res *result) {
	if !r.trusted {
		res.refused = mad.StatusReqInvalid
		return
	}
	want := (*sarec.PKeyTableRecord)(r.data[:])
	mask := sarec.PKeyTableMask(r.comps &^ sarec.PKeyTableLID)
	ports := a.devicePorts(r.comps.Has(sarec.PKeyTableLID), want.LID())
	t := a.view.Topo
	for p := ports.from; p < ports.to; p++ {
		port := &t.Ports[p]
		if port.PKeys == nil || !a.isVisible(r, p) {
			continue
		}
		var rec sarec.PKeyTableRecord
		rec.SetLID(a.deviceLID(p))
		rec.SetPortNum(port.Num)
		for block := range topo.PKeyBlocks(t.Nodes[port.Node].PKeyTableSize(port.Num)) {
			rec.SetBlockNum(uint16(block))
			for i := range smp.PKeysPerBlock {
				rec.PKeyTable().SetPKey(i, port.PKeys.Key(block*smp.PKeysPerBlock+i))
			}
			if sarec.Match(rec[:], want[:], mask[:]) && !res.add(rec[:]) {
				return
			}
		}
	}
}
