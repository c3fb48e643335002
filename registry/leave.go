package registry

import "ibsm/mad"

// Join returns the Change that adds m's JoinState to what the port has in the group
// already: nil if it has it all. The port that entered a member, itself or a proxy, stays as it
// was at first.
func (s *State) Join(m Member) Change {
	old, was := s.Member(m.MGID, m.Port)
	if was {
		m.JoinState |= old.JoinState
		m.Proxy = old.Proxy
		if m == old {
			return nil
		}
	}
	return PutMember{m}
}

// Leave returns the Changes that take bits from the JoinState of a member: nil if it
// has none of them. A group whose last full member leaves goes, and with it the members
// that do not keep it alive, unless it is well known.
func (s *State) Leave(mgid, port mad.GID, bits JoinState) []Change {
	m, was := s.Member(mgid, port)
	left := m.JoinState &^ bits
	if !was || left == m.JoinState {
		return nil
	}
	g, _ := s.groups.get(mgid)
	if !g.WellKnown && g.full == 1 && m.JoinState.KeepsAlive() && !left.KeepsAlive() {
		return []Change{DeleteGroup{mgid}}
	}
	if left == 0 {
		return []Change{DeleteMember{mgid, port}}
	}
	m.JoinState = left
	return []Change{PutMember{m}}
}

// LeaveAll returns the Changes after which a port GID is no member and no subscriber
// any more.
func (s *State) LeaveAll(port mad.GID) (changes []Change) {
	for m := range s.MembershipsOf(port) {
		changes = append(changes, s.Leave(m.MGID, port, m.JoinState)...)
	}
	for sub := range s.SubscriptionsOf(port) {
		changes = append(changes, DeleteSubscription{sub.SubscriptionKey})
	}
	return changes
}
