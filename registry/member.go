package registry

import (
	"fmt"
	"iter"

	"ibsm/mad"
)

// JoinState is a set of ways to be a member (IBA 15.2.5.17).
type JoinState uint8

// Bits of JoinState.
const (
	FullMember         JoinState = 1 << 0
	NonMember          JoinState = 1 << 1 // receives, but does not keep the group alive
	SendOnlyNonMember  JoinState = 1 << 2
	SendOnlyFullMember JoinState = 1 << 3 // keeps the group alive, but does not receive
)

// KeepsAlive reports whether the group lives as long as this member.
func (j JoinState) KeepsAlive() bool { return j&(FullMember|SendOnlyFullMember) != 0 }

// Receives reports whether packets are delivered to the member.
func (j JoinState) Receives() bool { return j&(FullMember|NonMember) != 0 }

// Member is a port in a group.
type Member struct {
	MGID      mad.GID
	Port      mad.GID // of the port, or an alias of it
	JoinState JoinState
	Proxy     bool // joined by another port than its own
}

// memberKey has the MGID first, or last where members are found by port.
type memberKey struct{ first, second mad.GID }

func compareMembers(a, b memberKey) int {
	if c := compareGIDs(a.first, b.first); c != 0 {
		return c
	}
	return compareGIDs(a.second, b.second)
}

type membership struct {
	state JoinState
	proxy bool
}

func (k memberKey) member(m membership) Member { return Member{k.first, k.second, m.state, m.proxy} }

// Member returns the membership of a port in a group.
func (s *State) Member(mgid, port mad.GID) (Member, bool) {
	k := memberKey{mgid, port}
	m, found := s.members.get(k)
	if !found {
		return Member{}, false
	}
	return k.member(m), true
}

// Members iterates over the members of a group in order of port GID.
func (s *State) Members(mgid mad.GID) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for k, m := range s.members.from(memberKey{first: mgid}) {
			if k.first != mgid || !yield(k.member(m)) {
				return
			}
		}
	}
}

// MembershipsOf iterates over the memberships of a port in order of MGID.
func (s *State) MembershipsOf(port mad.GID) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for k := range s.joined.from(memberKey{first: port}) {
			if k.first != port {
				return
			}
			if m, _ := s.Member(k.second, port); !yield(m) {
				return
			}
		}
	}
}

// PutMember makes a port a member of a group, or changes how it is one.
type PutMember struct{ Member }

// DeleteMember ends a membership. The group stays, also without members.
type DeleteMember struct{ MGID, Port mad.GID }

// Kind is KindPutMember.
func (PutMember) Kind() Kind { return KindPutMember }

// Kind is KindDeleteMember.
func (DeleteMember) Kind() Kind { return KindDeleteMember }

// AppendTo implements Change.
func (c PutMember) AppendTo(b []byte) []byte {
	b = append(append(append(b, byte(KindPutMember)), c.MGID[:]...), c.Port[:]...)
	return appendFlag(append(b, uint8(c.JoinState)), c.Proxy)
}

func (r *reader) member() Member {
	return Member{MGID: r.gid(), Port: r.gid(), JoinState: JoinState(r.u8()), Proxy: r.flag()}
}

// AppendTo implements Change.
func (c DeleteMember) AppendTo(b []byte) []byte {
	return append(append(append(b, byte(KindDeleteMember)), c.MGID[:]...), c.Port[:]...)
}

func (c PutMember) check() error {
	switch {
	case c.Port.IsMulticast() || c.Port.GUID() == 0:
		return fmt.Errorf("member %s of group %s: not the GID of a port", c.Port, c.MGID)
	case c.JoinState == 0 || c.JoinState > 15:
		return fmt.Errorf("member %s of group %s: JoinState 0x%x", c.Port, c.MGID, uint8(c.JoinState))
	}
	return nil
}

func (c DeleteMember) check() error { return nil }

func (c PutMember) apply(r *Registry) error {
	g, found := r.groups.get(c.MGID)
	if !found {
		return fmt.Errorf("member %s: its group %s does not exist", c.Port, c.MGID)
	}
	k := memberKey{c.MGID, c.Port}
	old, was := r.members.get(k)
	r.members.put(r.owner, k, membership{c.JoinState, c.Proxy})
	if !was {
		r.joined.put(r.owner, memberKey{c.Port, c.MGID}, struct{}{})
		g.members++
	}
	r.recount(g, old.state, c.JoinState, !was)
	return nil
}

func (c DeleteMember) apply(r *Registry) error {
	k := memberKey{c.MGID, c.Port}
	old, was := r.members.get(k)
	if !was {
		return fmt.Errorf("member %s of group %s: deleted, but it does not exist", c.Port, c.MGID)
	}
	r.members.remove(r.owner, k)
	r.joined.remove(r.owner, memberKey{c.Port, c.MGID})
	g, _ := r.groups.get(c.MGID)
	g.members--
	r.recount(g, old.state, 0, true)
	return nil
}

// recount writes a group back after the state of a member went from old to now.
func (r *Registry) recount(g group, old, now JoinState, counted bool) {
	switch {
	case !old.KeepsAlive() && now.KeepsAlive():
		g.full++
	case old.KeepsAlive() && !now.KeepsAlive():
		g.full--
	case !counted:
		return
	}
	r.groups.put(r.owner, g.MGID, g)
}
