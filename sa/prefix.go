package sa

import (
	"ibsm/mad"
	"ibsm/registry"
)

// rebase gives registrations the prefix of the subnet, if they have another one: the operator has changed it while this
// manager ran or was stopped, or they are those of a master that had another. Members and subscribers always have the
// prefix that the subnet had when they registered. Services have the GID that their clients gave, which may have the
// default prefix whatever the subnet's is: such a GID follows if members or subscribers have it, too. MGIDs do not
// change: clients use them.
func (r *Registrar) rebase() {
	now := r.view.Subnet.Prefix
	old := map[mad.Prefix]bool{}
	for gid := range r.tally.members {
		old[gid.Prefix()] = true
	}
	for gid := range r.tally.subscriptions {
		old[gid.Prefix()] = true
	}
	for gid := range r.tally.services {
		if p := gid.Prefix(); p != mad.DefaultPrefix && p != 0 { // osmtest gives none
			old[p] = true
		}
	}
	delete(old, now)
	if len(old) == 0 {
		return
	}
	moved := func(gid mad.GID) mad.GID {
		if old[gid.Prefix()] {
			return mad.MakeGID(now, gid.GUID())
		}
		return gid
	}
	r.apply(rebased(&r.reg.State, moved)...)
}

// rebased are the changes that give each registration the GID that moved gives for its own. What is registered under
// both GIDs keeps the newer one. The new registration comes first, so that no group is without members in between.
func rebased(s *registry.State, moved func(mad.GID) mad.GID) (changes []registry.Change) {
	for g := range s.Groups() {
		for m := range s.Members(g.MGID) {
			to := m
			if to.Port = moved(m.Port); to.Port == m.Port {
				continue
			}
			if _, is := s.Member(m.MGID, to.Port); !is {
				changes = append(changes, registry.PutMember{Member: to})
			}
			changes = append(changes, registry.DeleteMember{MGID: m.MGID, Port: m.Port})
		}
	}
	for sub := range s.Subscriptions() {
		to := sub
		to.Subscriber, to.Addr.GRH.GID = moved(sub.Subscriber), moved(sub.Addr.GRH.GID)
		if to == sub {
			continue
		}
		if _, is := s.Subscription(to.SubscriptionKey); !is || to.SubscriptionKey == sub.SubscriptionKey {
			changes = append(changes, registry.PutSubscription{Subscription: to})
		}
		if to.SubscriptionKey != sub.SubscriptionKey {
			changes = append(changes, registry.DeleteSubscription{SubscriptionKey: sub.SubscriptionKey})
		}
	}
	for v := range s.Services() {
		to := *v
		if to.GID = moved(v.GID); to.GID == v.GID {
			continue
		}
		if _, is := s.Service(to.ServiceKey); !is {
			changes = append(changes, registry.PutService{Service: to})
		}
		changes = append(changes, registry.DeleteService{ServiceKey: v.ServiceKey})
	}
	return changes
}
