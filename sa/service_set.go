package sa

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/sarec"
	osmlog "ibsm/opensm/log"
	"ibsm/registry"
	"ibsm/topo"
)

// notOwned is why a port may not change a service.
const notOwned = "the service is another port's, and has another ServiceKey"

// setService registers a service, or renews it (IBA 15.2.5.14).
func (r *Registrar) setService(q *writeRequest) mad.Status {
	rec := (*sarec.ServiceRecord)(q.data[:])
	if !q.comps.Has(sarec.ServiceServiceID | sarec.ServiceServiceGID) {
		return q.because(mad.StatusReqInvalid, "it lacks ServiceID or ServiceGID", "")
	}
	if !r.mayServe(q, rec) {
		return mad.StatusReqInvalid
	}
	v := registry.Service{ServiceKey: serviceKey(rec), Lease: registry.InfiniteLease, Name: rec.ServiceName(),
		Data: rec.ServiceData()}
	if q.comps.Has(sarec.ServiceServiceKey) {
		v.Key = rec.ServiceKey()
	}
	if q.comps.Has(sarec.ServiceServiceLease) && rec.ServiceLease() != registry.InfiniteLease {
		v.Lease = rec.ServiceLease()
		v.Expires = max(r.wall()+int64(v.Lease), 1)
	}
	old, was := r.reg.Service(v.ServiceKey)
	if was && !r.owns(q, old, v.Key) {
		return q.because(mad.StatusReqDenied, notOwned, "")
	}
	from := r.view.Topo.EndGUID(q.from)
	if !was && r.reg.Counts().Services >= maxServices ||
		!r.tally.registrars.hasRoom(v.ServiceKey, from, r.allowed(q, r.view.Subnet.Trust.Services, maxPortServices)) {
		return q.because(r.full(), "there are too many services", osmlog.ServiceNoRoom)
	}
	if !was || *old != v {
		r.apply(registry.PutService{Service: v})
	}
	r.tally.registrars.add(v.ServiceKey, from)
	if v.Expires != 0 && (r.expiry == 0 || v.Expires < r.expiry) {
		r.expiry = v.Expires
	}
	fillService(rec, &v, q.trusted)
	if !q.comps.Has(sarec.ServiceServicePKey) {
		rec.SetServicePKey(mad.DefaultPKey)
	}
	q.size, q.wait = len(rec), waitsForDisk
	return mad.StatusOK
}

// deleteService removes a service.
func (r *Registrar) deleteService(q *writeRequest) mad.Status {
	rec := (*sarec.ServiceRecord)(q.data[:])
	if !r.mayServe(q, rec) {
		return mad.StatusReqInvalid
	}
	old, was := r.reg.Service(serviceKey(rec))
	if !was {
		return q.because(mad.StatusNoRecords, "there is no such service", "")
	}
	if !r.owns(q, old, rec.ServiceKey()) {
		return q.because(mad.StatusReqDenied, notOwned, "")
	}
	r.apply(registry.DeleteService{ServiceKey: old.ServiceKey})
	fillService(rec, old, q.trusted)
	q.size, q.wait = len(rec), waitsForDisk
	return mad.StatusOK
}

// serviceKey is which service a record is about. Its P_Key counts whether the request
// gives it or not.
func serviceKey(rec *sarec.ServiceRecord) registry.ServiceKey {
	return registry.ServiceKey{ID: rec.ServiceID(), GID: rec.ServiceGID(), PKey: rec.ServicePKey()}
}

// mayServe reports whether the requester, and the port that a service is at, are in the
// service's partition, and share one. If not, it notes why.
func (r *Registrar) mayServe(q *writeRequest, rec *sarec.ServiceRecord) bool {
	gid, at := rec.ServiceGID(), topo.EndIdx(topo.None)
	if !gid.IsMulticast() {
		at = r.portOf(gid.GUID()) // whatever the prefix: osmtest gives none
	}
	if at != topo.None && !r.view.Topo.MayTalk(q.from, at) {
		q.because(mad.StatusReqInvalid, "the sender shares no P_Key with the port that the service is at", "")
		return false
	}
	if !q.comps.Has(sarec.ServiceServicePKey) {
		return true
	}
	key := rec.ServicePKey()
	switch {
	case !key.Valid() || !r.holds(q.from, key):
		q.because(mad.StatusReqInvalid, fmt.Sprintf("the sender is not in the service's partition, P_Key %v", key), "")
	case gid.IsMulticast():
		return true
	case at == topo.None:
		q.because(mad.StatusReqInvalid, "no port has the ServiceGID", osmlog.ServiceGUID, uint64(gid.GUID()))
	case r.holds(at, key):
		return true
	default:
		q.because(mad.StatusReqInvalid, fmt.Sprintf("the port that the service is at is not in its partition, P_Key %v",
			key), "")
	}
	return false
}

// owns reports whether a request may change a service: it comes from the port that the
// service is at, or shows the key that protects it.
func (r *Registrar) owns(q *writeRequest, v *registry.Service, key [16]byte) bool {
	return q.trusted || v.Key == [16]byte{} || v.Key == key || r.view.Topo.SpeaksFor(q.from, r.portOf(v.GID.GUID()))
}

// fillService writes a service as replies show it.
func fillService(rec *sarec.ServiceRecord, v *registry.Service, trusted bool) {
	*rec = sarec.ServiceRecord{}
	rec.SetServiceID(v.ID)
	rec.SetServiceGID(v.GID)
	rec.SetServicePKey(v.PKey)
	rec.SetServiceLease(v.Lease)
	rec.SetServiceName(v.Name)
	rec.SetServiceData(v.Data)
	if trusted {
		rec.SetServiceKey(v.Key)
	}
}
