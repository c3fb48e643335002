package sa

import (
	"ibsm/mad/sarec"
	"ibsm/registry"
)

// serviceRecords are the services of the requester's partitions and those of none. Who
// gives the key of a service knows it; but it is shown to the trusted only.
func (a *Responder) serviceRecords(r *request, res *result) {
	want := (*sarec.ServiceRecord)(r.data[:])
	mask := sarec.ServiceMask(r.comps)
	if r.comps.Has(sarec.ServiceServiceID) {
		for v := range a.reg.ServicesWithID(want.ServiceID()) {
			if !a.serviceRecord(r, want, &mask, v, res) {
				return
			}
		}
		return
	}
	for v := range a.reg.Services() {
		if !a.serviceRecord(r, want, &mask, v, res) {
			return
		}
	}
}

// serviceRecord adds a service if it matches; false when further ones cannot change the
// answer.
func (a *Responder) serviceRecord(r *request, want, mask *sarec.ServiceRecord, v *registry.Service, res *result) bool {
	if v.PKey != 0 && !a.isIn(r, v.PKey) || a.hidesService(r, v.GID) {
		return true
	}
	var rec sarec.ServiceRecord
	fillService(&rec, v, true)
	if !sarec.Match(rec[:], want[:], mask[:]) {
		return true
	}
	fillService(&rec, v, r.trusted)
	return res.add(rec[:])
}
