package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/routing/mcast"
)

// mftRecords are one for each block and position of the multicast table of each switch,
// up to the highest multicast LID that any of them forwards.
func (a *Responder) mftRecords(r *request, res *result) {
	top := a.view.MFTs.Top()
	if top < mad.MinMulticastLID {
		return
	}
	want := (*sarec.MulticastForwardingTableRecord)(r.data[:])
	mask := sarec.MFTMask(r.comps &^ sarec.MFTLID)
	from, to := a.switches(r.comps.Has(sarec.MFTLID), want.LID())
	for s := from; s < to; s++ {
		n := &a.view.Topo.Nodes[a.view.Topo.Switches[s]]
		if !a.isVisible(r, n.First) {
			continue
		}
		var rec sarec.MulticastForwardingTableRecord
		rec.SetLID(a.view.LIDs.Base[n.First])
		for block := range mcast.BlockOf(top) + 1 {
			rec.SetBlockNum(block)
			for position := range mcast.Positions(n.NumPorts) {
				rec.SetPosition(position)
				*rec.MulticastForwardingTable() = a.view.MFTs.Block(s, position, block)
				if sarec.Match(rec[:], want[:], mask[:]) && !res.add(rec[:]) {
					return
				}
			}
		}
	}
}
