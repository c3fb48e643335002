package sa

import "ibsm/mad/sarec"

// switchInfoRecords are one for each switch.
func (a *Responder) switchInfoRecords(r *request, res *result) {
	want := (*sarec.SwitchInfoRecord)(r.data[:])
	from, to := a.switches(r.comps.Has(sarec.SwitchInfoLID), want.LID())
	for s := from; s < to; s++ {
		n := &a.view.Topo.Nodes[a.view.Topo.Switches[s]]
		if !a.isVisible(r, n.First) {
			continue
		}
		var rec sarec.SwitchInfoRecord
		rec.SetLID(a.view.LIDs.Base[n.First])
		rec.SetSwitchInfo(&n.SwitchInfo)
		if !res.add(rec[:]) {
			return
		}
	}
}
