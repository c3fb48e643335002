package sa

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
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
	switch {
	case info.Subscribe() > 1:
		return q.because(mad.StatusReqInvalid, "Subscribe is neither 0 nor 1", osmlog.InformSubscribe, info.Subscribe())
	case info.IsGeneric() > 1:
		return q.because(mad.StatusReqInvalid, "IsGeneric is neither 0 nor 1", osmlog.InformInvalid)
	case isSecurity(key.Generic, key.Trap) && !q.trusted:
		return q.because(mad.StatusReqInvalid, "only requests with the SM_Key may subscribe to security traps",
			osmlog.InformSecurity, 0)
	}
	if info.Subscribe() == 0 {
		key.QPN = info.QPN()
		if _, is := r.reg.Subscription(key); !is {
			return q.because(mad.StatusReqInvalid, "there is no such subscription", osmlog.InformUnknown)
		}
		r.apply(registry.DeleteSubscription{SubscriptionKey: key})
		return mad.StatusOK
	}
	if !r.mayHear(q, &key.Filter) {
		return q.because(mad.StatusReqInvalid, "", osmlog.InformInvalid)
	}
	dest := r.destination(q.addr)
	old, was := r.reg.Subscription(key)
	if !was && (r.reg.Counts().Subscriptions >= maxSubscriptions ||
		r.tally.subscriptions[key.Subscriber] >= r.allowed(q, r.view.Subnet.Trust.Subscriptions, maxPortSubs)) {
		return q.because(r.full(), "there are too many subscriptions", osmlog.InformNoRoom)
	}
	if !was || old != dest {
		if !r.apply(
			registry.PutSubscription{Subscription: registry.Subscription{SubscriptionKey: key, Destination: dest}}) {
			return q.because(mad.StatusReqInvalid, "the subscription is not possible", osmlog.InformInvalid)
		}
	}
	info.SetQPN(key.QPN)
	return mad.StatusOK
}

// destination is where Reports go to a client whose request came from an address.
func (r *Registrar) destination(a mad.Addr) registry.Destination {
	key := r.ownKeys().Key(int(a.PKeyIndex))
	a.PKeyIndex, a.GRH.GIDIndex = 0, 0
	return registry.Destination{Addr: a, PKey: key}
}

// ownKeys is our port's P_Key table as this manager has written it; nil if it is not known.
func (r *Registrar) ownKeys() *topo.PKeyTable { return r.view.Topo.Ports[r.view.Topo.Self].PKeys }

// addr is the address of a destination now. A P_Key that is not known, or that our port has
// no more, is taken for the default one, which every port has that reaches the SA.
func (r *Registrar) addr(d *registry.Destination) mad.Addr {
	a, keys := d.Addr, r.ownKeys().Keys()
	for _, is := range [...]func(own mad.PKey) bool{
		func(own mad.PKey) bool { return own == d.PKey },
		func(own mad.PKey) bool { return own.Base() == d.PKey.Base() },
		func(own mad.PKey) bool { return own.Base() == mad.DefaultPKey.Base() },
	} {
		if i := slices.IndexFunc(keys, func(own mad.PKey) bool { return own.Valid() && is(own) }); i >= 0 {
			a.PKeyIndex = uint16(i)
			return a
		}
	}
	return a
}

// filter is a client's filter with the GID that Notices have, and without LIDs, which do
// not apply beside a GID.
func (r *Registrar) filter(f registry.Filter) registry.Filter {
	if f.GID != (mad.GID{}) {
		f.GID, f.LIDBegin, f.LIDEnd = r.responder.ownGID(f.GID), 0, 0
	}
	return f
}

// isSecurity reports whether a trap is one of those about keys, which are reported in
// confidence.
func isSecurity(generic bool, trap uint16) bool {
	return generic && trap >= uint16(smp.TrapBadMKey) && trap <= uint16(smp.TrapSwitchBadPKey)
}

// mayHear reports whether the requester may subscribe to events of the ports that a filter names:
// it shares a P_Key with all of them. If not, it notes why.
func (r *Registrar) mayHear(q *writeRequest, f *registry.Filter) bool {
	if f.GID != (mad.GID{}) {
		p := topo.EndIdx(topo.None)
		if r.onSubnet(f.GID) {
			p = r.portOf(f.GID.GUID())
		}
		if p == topo.None {
			q.because(mad.StatusReqInvalid, "no port has the GID", osmlog.InformGUID, uint64(f.GID.GUID()))
			return false
		}
		return r.mayHearOf(q, p)
	}
	if f.LIDBegin == registry.AnyLID {
		return true
	}
	if top := r.view.LIDs.Top; f.LIDBegin > top {
		q.because(mad.StatusReqInvalid, "no port has the LIDs", osmlog.InformLIDs, f.LIDBegin,
			cmp.Or(min(f.LIDEnd, top), f.LIDBegin), top+1)
		return false
	}
	last := min(max(f.LIDBegin, f.LIDEnd), r.view.LIDs.Top)
	for lid := f.LIDBegin; lid <= last; lid++ {
		if p := r.view.EndOfLID(lid); p != topo.None && !r.mayHearOf(q, p) {
			return false
		}
	}
	return true
}

func (r *Registrar) mayHearOf(q *writeRequest, p topo.EndIdx) bool {
	if r.view.Topo.MayTalk(q.from, p) {
		return true
	}
	q.because(mad.StatusReqInvalid, "it shares no P_Key with a port that it asks about", "")
	return false
}
