package sa

import (
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
)

// vlArbRecords are one for each block of the arbitration of each port. All traffic is
// on VL 0, which has no other to share with: the lists are empty.
func (a *Answerer) vlArbRecords(r *request, res *result) {
	want := (*sarec.VLArbitrationTableRecord)(r.data[:72])
	mask := sarec.VLArbMask(r.comps &^ sarec.VLArbLID)
	ports := a.allPorts()
	if r.comps.Has(sarec.VLArbLID) {
		ports = a.devicePorts(want.LID())
	}
	for p := ports.from; p < ports.to; p++ {
		if !a.isVisible(r, p) {
			continue
		}
		var rec sarec.VLArbitrationTableRecord
		rec.SetLID(a.deviceLID(p))
		rec.SetOutputPortNum(a.view.Topo.Ports[p].Num)
		for block := smp.VLArbLow0; block <= smp.VLArbHigh1; block++ {
			rec.SetBlockNum(block)
			if sarec.Match(rec[:], want[:], mask[:]) && !res.add(rec[:]) {
				return
			}
		}
	}
}
