package sa

import (
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
)

// vlArbRecords are one for each block of the arbitration of each port. All traffic is
// on VL 0, which has no other to share with: the lists are empty. A LID says which port
// of an adapter is meant, whatever OutputPortNum is: osmtest asks for port 0.
func (a *Answerer) vlArbRecords(r *request, res *result) {
	want := (*sarec.VLArbitrationTableRecord)(r.data[:72])
	comps, ports := r.comps&^sarec.VLArbLID, a.allPorts()
	if r.comps.Has(sarec.VLArbLID) {
		ports = a.devicePorts(want.LID())
		if ports.len() == 1 {
			comps &^= sarec.VLArbOutputPortNum
		}
	}
	mask := sarec.VLArbMask(comps)
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
