package sa

import (
	"ibsm/mad"
	"ibsm/sa/registry"
)

// tally counts what each port GID has registered, for the limits.
type tally struct {
	members, services, subscriptions map[mad.GID]int
}

func newTally(s *registry.State) tally {
	t := tally{map[mad.GID]int{}, map[mad.GID]int{}, map[mad.GID]int{}}
	for g := range s.Groups() {
		for m := range s.Members(g.MGID) {
			t.members[m.Port]++
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
		if _, was := s.Member(c.MGID, c.Port); !was {
			t.members[c.Port]++
		}
	case registry.DeleteMember:
		take(t.members, c.Port)
	case registry.DeleteGroup:
		for m := range s.Members(c.MGID) {
			take(t.members, m.Port)
		}
	case registry.PutService:
		if _, was := s.Service(c.ServiceKey); !was {
			t.services[c.GID]++
		}
	case registry.DeleteService:
		take(t.services, c.GID)
	case registry.PutSubscription:
		if _, was := s.Subscription(c.SubscriptionKey); !was {
			t.subscriptions[c.Subscriber]++
		}
	case registry.DeleteSubscription:
		take(t.subscriptions, c.Subscriber)
	}
}

func take(m map[mad.GID]int, gid mad.GID) {
	if m[gid]--; m[gid] <= 0 {
		delete(m, gid)
	}
}
