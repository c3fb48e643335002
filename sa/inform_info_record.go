package sa

import (
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/topo"
)

// informInfoRecords are the subscriptions of ports that the requester may know of. The
// queue pair that subscribed is hidden from the untrusted before the record is compared.
func (a *Responder) informInfoRecords(r *request, res *result) {
	want := (*sarec.InformInfoRecord)(r.data[:])
	mask := sarec.InformInfoMask(r.comps &^ sarec.InformSubscriberGID)
	if r.comps.Has(sarec.InformSubscriberGID) {
		for s := range a.reg.SubscriptionsOf(a.ownGID(want.SubscriberGID())) {
			if !a.informInfoRecord(r, want, &mask, &s, res) {
				return
			}
		}
		return
	}
	for s := range a.reg.Subscriptions() {
		if !a.informInfoRecord(r, want, &mask, &s, res) {
			return
		}
	}
}

// informInfoRecord adds a subscription if it matches; false when further ones cannot
// change the answer.
func (a *Responder) informInfoRecord(r *request, want, mask *sarec.InformInfoRecord, s *registry.Subscription,
	res *result) bool {
	if p := a.view.Topo.FindEnd(s.Subscriber.GUID()); p != topo.None && !a.maySee(r, p) {
		return true
	}
	var rec sarec.InformInfoRecord
	fillInform(&rec, s)
	if !r.trusted {
		rec.InformInfo().SetQPN(0)
	}
	return !sarec.Match(rec[:], want[:], mask[:]) || res.add(rec[:])
}

func fillInform(rec *sarec.InformInfoRecord, s *registry.Subscription) {
	rec.SetSubscriberGID(s.Subscriber)
	info := rec.InformInfo()
	info.SetGID(s.GID)
	info.SetLIDRangeBegin(s.LIDBegin)
	info.SetLIDRangeEnd(s.LIDEnd)
	if s.Generic {
		info.SetIsGeneric(1)
	}
	info.SetSubscribe(1)
	info.SetType(s.Type)
	info.SetTrapNumber(s.Trap)
	info.SetQPN(s.QPN)
	info.SetProducerType(s.Producer)
}
