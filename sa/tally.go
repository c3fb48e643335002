package sa

import (
	"ibsm/mad"
	"ibsm/registry"
)

// tally counts what there is for each port GID, and what each port has asked for on behalf
// of others, for the limits.
type tally struct {
	members       map[mad.GID]int
	own           map[mad.GID]int // of members, without those that another port entered
	services      map[mad.GID]int // by ServiceGID
	subscriptions map[mad.GID]int

	proxies    shares[memberKey]
	creators   shares[mad.GID]             // of groups that had an MLID of their own, by MGID
	registrars shares[registry.ServiceKey] // of services, wherever they are
}

// memberKey is a member of a group.
type memberKey struct{ mgid, port mad.GID }

func newTally(s *registry.State) tally {
	t := tally{
		members: map[mad.GID]int{}, own: map[mad.GID]int{}, services: map[mad.GID]int{},
		subscriptions: map[mad.GID]int{},
		proxies:       newShares[memberKey](), creators: newShares[mad.GID](),
		registrars: newShares[registry.ServiceKey](),
	}
	for g := range s.Groups() {
		for m := range s.Members(g.MGID) {
			t.enter(&m)
		}
	}
	for v := range s.Services() {
		t.services[v.GID]++
	}
	for sub := range s.Subscriptions() {
		t.subscriptions[sub.Subscriber]++
	}
	return t
}

// count takes a change into account that is about to be made.
func (t *tally) count(s *registry.State, c registry.Change) {
	switch c := c.(type) {
	case registry.PutMember:
		if old, was := s.Member(c.MGID, c.Port); was {
			t.leave(&old)
		}
		t.enter(&c.Member)
	case registry.DeleteMember:
		if old, was := s.Member(c.MGID, c.Port); was {
			t.leave(&old)
			t.proxies.remove(memberKey{c.MGID, c.Port})
		}
	case registry.DeleteGroup:
		t.creators.remove(c.MGID)
		for m := range s.Members(c.MGID) {
			t.leave(&m)
			t.proxies.remove(memberKey{c.MGID, m.Port})
		}
	case registry.PutService:
		if _, was := s.Service(c.ServiceKey); !was {
			t.services[c.GID]++
		}
	case registry.DeleteService:
		take(t.services, c.GID)
		t.registrars.remove(c.ServiceKey)
	case registry.PutSubscription:
		if _, was := s.Subscription(c.SubscriptionKey); !was {
			t.subscriptions[c.Subscriber]++
		}
	case registry.DeleteSubscription:
		take(t.subscriptions, c.Subscriber)
	}
}

// creditSoleMembers takes the only port that has joined a group itself for its creator, where that is not known, one
// group for each MLID: a port that has created groups for their MLIDs is in them alone, whomever it entered besides.
func (t *tally) creditSoleMembers(s *registry.State) {
	credited := map[mad.LID]bool{}
	for mgid := range t.creators.by {
		if g, is := s.Group(mgid); is {
			credited[g.MLID] = true
		}
	}
	for g := range s.Groups() {
		if creator := soleMember(s, g.MGID); creator != 0 && !credited[g.MLID] && !g.WellKnown {
			t.creators.add(g.MGID, creator)
			credited[g.MLID] = true
		}
	}
}

// soleMember is the GUID of the only port that has joined a group itself; 0 where there are more, or none.
func soleMember(s *registry.State, mgid mad.GID) (port mad.GUID) {
	for m := range s.Members(mgid) {
		guid := m.Port.GUID()
		if at, is := s.Alias(guid); is {
			guid = at.Port
		}
		switch {
		case m.Proxy:
		case port != 0 && port != guid:
			return 0
		default:
			port = guid
		}
	}
	return port
}

func (t *tally) enter(m *registry.Member) {
	t.members[m.Port]++
	if !m.Proxy {
		t.own[m.Port]++
	}
}

func (t *tally) leave(m *registry.Member) {
	take(t.members, m.Port)
	if !m.Proxy {
		take(t.own, m.Port)
	}
}

func take[K comparable](m map[K]int, k K) {
	if m[k]--; m[k] <= 0 {
		delete(m, k)
	}
}

// shares are what ports have asked for on behalf of whomever. A port that asks much fills its
// own share, and not that of the port it says it is for. The requester is not kept with what is
// registered: what comes from a store or another manager is in nobody's share until it is
// asked for again, but see creditSoleMembers.
type shares[K comparable] struct {
	by    map[K]mad.GUID // the port that asked last
	count map[mad.GUID]int
}

func newShares[K comparable]() shares[K] {
	return shares[K]{map[K]mad.GUID{}, map[mad.GUID]int{}}
}

// hasRoom reports whether a port may ask for something when it may have so many.
func (s *shares[K]) hasRoom(k K, port mad.GUID, most int) bool {
	return s.by[k] == port || s.count[port] < most
}

func (s *shares[K]) add(k K, port mad.GUID) {
	s.remove(k)
	s.by[k] = port
	s.count[port]++
}

func (s *shares[K]) remove(k K) {
	if port, is := s.by[k]; is {
		delete(s.by, k)
		take(s.count, port)
	}
}
