package sa

import (
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/routing"
)

// lftRecords are one for each block of the unicast table of each switch.
func (a *Responder) lftRecords(r *request, res *result) {
	want := (*sarec.LinearForwardingTableRecord)(r.data[:])
	mask := sarec.LFTMask(r.comps &^ sarec.LFTLID)
	from, to := a.switches(r.comps.Has(sarec.LFTLID), want.LID())
	for s := from; s < to; s++ {
		n := &a.view.Topo.Nodes[a.view.Topo.Switches[s]]
		if !a.isVisible(r, n.First) {
			continue
		}
		var rec sarec.LinearForwardingTableRecord
		rec.SetLID(a.view.LIDs.Base[n.First])
		for row, block := a.view.Tables.LFT[s], uint16(0); len(row) >= smp.LFTBlockSize; row,
			block = row[smp.LFTBlockSize:], block+1 {
			if int(block) > int(a.view.Tables.Top)/routing.BlockSize {
				break
			}
			rec.SetBlockNum(block)
			copy(rec.LinearForwardingTable()[:], row)
			if sarec.Match(rec[:], want[:], mask[:]) && !res.add(rec[:]) {
				return
			}
		}
	}
}
