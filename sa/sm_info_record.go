package sa

import "ibsm/mad/sarec"

// smInfoRecords are one for each manager known, this one first. The SM_Key is
// nobody's business.
func (a *Responder) smInfoRecords(r *request, res *result) {
	want := (*sarec.SMInfoRecord)(r.data[:])
	mask := sarec.SMInfoMask(r.comps)
	for i := range a.view.SMs {
		sm := &a.view.SMs[i]
		var rec sarec.SMInfoRecord
		rec.SetLID(sm.LID)
		rec.SetGUID(sm.GUID)
		rec.SetActCount(sm.ActCount)
		rec.SetPriority(sm.Priority)
		rec.SetSMState(uint8(sm.State))
		if sarec.Match(rec[:], want[:], mask[:]) && !res.add(rec[:]) {
			return
		}
	}
}
