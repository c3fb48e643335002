package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/topo"
)

// setInform begins or ends a subscription (IBA 13.4.11). A refusal shows that there is
// none.
func (r *Registrar) setInform(q *writeRequest) mad.Status {
	info := (*sarec.InformInfo)(q.data[:])
	st := r.inform(q, info)
	if st != mad.StatusOK {
		info.SetSubscribe(0)
		return st
	}
	q.size, q.wait = len(info), waitsForDisk
	return st
}

func (r *Registrar) inform(q *writeRequest, info *sarec.InformInfo) mad.Status {
	key := registry.SubscriptionKey{Subscriber: r.portGID(q.from), QPN: q.addr.QPN, Filter: r.filter(registry.Filter{
		GID: info.GID(), LIDBegin: info.LIDRangeBegin(), LIDEnd: info.LIDRangeEnd(), Generic: info.IsGeneric() != 0,
		Type: info.Type(), Trap: info.TrapNumber(), Producer: info.ProducerType(),
	})}
	if info.Subscribe() > 1 || info.IsGeneric() > 1 || isSecurity(key.Generic, key.Trap) && !q.trusted {
		return mad.StatusReqInvalid
	}
	if info.Subscribe() == 0 {
		key.QPN = info.QPN()
		if _, is := r.reg.Subscription(key); !is {
			return mad.StatusReqInvalid
		}
		r.apply(registry.DeleteSubscription{SubscriptionKey: key})
		return mad.StatusOK
	}
	if !r.mayHear(q.from, &key.Filter) {
		return mad.StatusReqInvalid
	}
	addr := q.addr
	old, was := r.reg.Subscription(key)
	if !was && (r.reg.Counts().Subscriptions >= maxSubscriptions || r.tally.subscriptions[key.Subscriber] >= maxPortSubs) {
		return r.full()
	}
	if !was || old != addr {
		if !r.apply(registry.PutSubscription{Subscription: registry.Subscription{SubscriptionKey: key, Addr: addr}}) {
			return mad.StatusReqInvalid
		}
	}
	info.SetQPN(key.QPN)
	return mad.StatusOK
}

// filter is what a client's filter asks for: its GID as Notices have it, and without the
// LIDs, which do not count beside a GID.
func (r *Registrar) filter(f registry.Filter) registry.Filter {
	if f.GID != (mad.GID{}) {
		f.GID, f.LIDBegin, f.LIDEnd = r.door.ownGID(f.GID), 0, 0
	}
	return f
}

// isSecurity reports whether a trap is one of those about keys, which are told of in
// confidence.
func isSecurity(generic bool, trap uint16) bool {
	return generic && trap >= uint16(smp.TrapBadMKey) && trap <= uint16(smp.TrapSwitchBadPKey)
}

// mayHear reports whether a port may be told of what the filter names: of ports that it
// shares a P_Key with, all of them.
func (r *Registrar) mayHear(from topo.PortIdx, f *registry.Filter) bool {
	t := r.view.Topo
	if f.GID != (mad.GID{}) {
		p := topo.PortIdx(topo.None)
		if r.onSubnet(f.GID) {
			p = r.portOf(f.GID.GUID())
		}
		return p != topo.None && t.MayTalk(from, p)
	}
	if f.LIDBegin == registry.AnyLID {
		return true
	}
	if f.LIDBegin > r.view.LIDs.Top {
		return false
	}
	last := min(max(f.LIDBegin, f.LIDEnd), r.view.LIDs.Top)
	for lid := f.LIDBegin; lid <= last; lid++ {
		if p := r.view.LIDs.PortOf(lid); p != topo.None && !t.MayTalk(from, p) {
			return false
		}
	}
	return true
}
