package registry

import "ibsm/mad"

// ChangesTo returns the Changes that make s what to is, but for its number: what is the
// same stays. A group that gets another MLID, or what groups on one MLID must have in
// common, is deleted first and made again with its members, so that no order of Changes is
// in the way of another.
func (s *State) ChangesTo(to *State) []Change {
	changes, again := s.deletions(to)
	return append(s.additions(changes, to, again), s.PartitionsTo(to)...)
}

// deletions are the Changes that delete what to has not, or has otherwise; again are the groups that are made again.
func (s *State) deletions(to *State) (changes []Change, again map[mad.GID]bool) {
	do := func(c Change) { changes = append(changes, c) }
	for a := range s.Aliases() {
		if to.AliasAt(a.Slot) != a.GUID {
			do(DeleteAlias{a.Slot})
		}
	}
	for port := range s.GRHPorts() {
		if !to.DemandsGRH(port) {
			do(DeleteGRHPort{port})
		}
	}
	for at := range s.Neighbors() {
		if _, stays := to.NeighborOf(at); !stays {
			do(DeleteNeighbor{at})
		}
	}
	for v := range s.Subscriptions() {
		if _, stays := to.Subscription(v.SubscriptionKey); !stays {
			do(DeleteSubscription{v.SubscriptionKey})
		}
	}
	for v := range s.Services() {
		if _, stays := to.Service(v.ServiceKey); !stays {
			do(DeleteService{v.ServiceKey})
		}
	}
	again = map[mad.GID]bool{}
	for g := range s.Groups() {
		t, stays := to.Group(g.MGID)
		if !stays || t.MLID != g.MLID || !t.Agrees(&g) {
			do(DeleteGroup{g.MGID})
			again[g.MGID] = true
			continue
		}
		for m := range s.Members(g.MGID) {
			if _, stays := to.Member(m.MGID, m.Port); !stays {
				do(DeleteMember{m.MGID, m.Port})
			}
		}
	}
	return changes, again
}

// additions appends the Changes that add what to has, or change it.
func (s *State) additions(changes []Change, to *State, again map[mad.GID]bool) []Change {
	do := func(c Change) { changes = append(changes, c) }
	for g := range to.Groups() {
		if was, is := s.Group(g.MGID); !is || again[g.MGID] || was != g {
			do(PutGroup{g})
		}
		for m := range to.Members(g.MGID) {
			if was, is := s.Member(m.MGID, m.Port); !is || again[g.MGID] || was != m {
				do(PutMember{m})
			}
		}
	}
	for v := range to.Services() {
		if was, is := s.Service(v.ServiceKey); !is || *was != *v {
			do(PutService{*v})
		}
	}
	for v := range to.Subscriptions() {
		if was, is := s.Subscription(v.SubscriptionKey); !is || was != v.Destination {
			do(PutSubscription{v})
		}
	}
	for a := range to.Aliases() {
		if s.AliasAt(a.Slot) != a.GUID {
			do(PutAlias{a})
		}
	}
	for port := range to.GRHPorts() {
		if !s.DemandsGRH(port) {
			do(PutGRHPort{port})
		}
	}
	for at, far := range to.Neighbors() {
		if was, is := s.NeighborOf(at); !is || was != far {
			do(PutNeighbor{at, far})
		}
	}
	return changes
}
