package registry

import (
	"encoding/binary"
	"fmt"
	"iter"

	"ibsm/mad"
)

// Group is a multicast group: the fields of MCMemberRecord that its members share
// (IBA 15.2.5.17).
type Group struct {
	MGID           mad.GID
	MLID           mad.LID
	PKey           mad.PKey
	QKey           uint32
	MTU            mad.MTU
	Rate           mad.Rate
	PacketLifeTime uint8  // 4.096 us x 2^n
	SL             uint8  // 0..15
	FlowLabel      uint32 // 20 bits
	TClass         uint8
	HopLimit       uint8
	Scope          uint8 // 4 bits, as the creator gave it
	WellKnown      bool  // made by configuration: it stays without members
}

// BroadcastMGID is the IPv4 broadcast group of a partition (RFC 4391, 4), for a scope of
// 0..15.
func BroadcastMGID(key mad.PKey, scope uint8) mad.GID {
	key |= mad.FullMember
	return mad.GID{0xff, 0x10 | scope, 0x40, 0x1b, byte(key >> 8), byte(key), 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}
}

// group is a Group with its counts.
type group struct {
	Group
	members uint32
	full    uint32 // members that keep the group alive
}

// Group returns the group of an MGID.
func (s *State) Group(mgid mad.GID) (Group, bool) {
	g, found := s.groups.get(mgid)
	return g.Group, found
}

// Groups iterates over all groups in order of MGID.
func (s *State) Groups() iter.Seq[Group] {
	return func(yield func(Group) bool) {
		for _, g := range s.groups.all() {
			if !yield(g.Group) {
				return
			}
		}
	}
}

// FullMembers is the number of members that keep a group alive: FullMember or
// SendOnlyFullMember.
func (s *State) FullMembers(mgid mad.GID) int {
	g, _ := s.groups.get(mgid)
	return int(g.full)
}

// CountMembers is the number of members of a group, of whatever state.
func (s *State) CountMembers(mgid mad.GID) int {
	g, _ := s.groups.get(mgid)
	return int(g.members)
}

// PutGroup creates a group or gives it other values. Its members stay.
type PutGroup struct{ Group }

// DeleteGroup removes a group with its members.
type DeleteGroup struct{ MGID mad.GID }

// Kind is KindPutGroup.
func (PutGroup) Kind() Kind { return KindPutGroup }

// Kind is KindDeleteGroup.
func (DeleteGroup) Kind() Kind { return KindDeleteGroup }

const groupSize = gidSize + 2 + 2 + 4 + 1 + 1 + 1 + 1 + 4 + 1 + 1 + 1 + 1

// AppendTo implements Change.
func (c PutGroup) AppendTo(b []byte) []byte {
	b = append(append(b, byte(KindPutGroup)), c.MGID[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(c.MLID))
	b = binary.BigEndian.AppendUint16(b, uint16(c.PKey))
	b = binary.BigEndian.AppendUint32(b, c.QKey)
	b = append(b, uint8(c.MTU), uint8(c.Rate), c.PacketLifeTime, c.SL)
	b = binary.BigEndian.AppendUint32(b, c.FlowLabel)
	return appendFlag(append(b, c.TClass, c.HopLimit, c.Scope), c.WellKnown)
}

func (r *reader) group() Group {
	return Group{
		MGID: r.gid(), MLID: mad.LID(r.u16()), PKey: mad.PKey(r.u16()), QKey: r.u32(),
		MTU: mad.MTU(r.u8()), Rate: mad.Rate(r.u8()), PacketLifeTime: r.u8(), SL: r.u8(),
		FlowLabel: r.u32(), TClass: r.u8(), HopLimit: r.u8(), Scope: r.u8(), WellKnown: r.flag(),
	}
}

// AppendTo implements Change.
func (c DeleteGroup) AppendTo(b []byte) []byte {
	return append(append(b, byte(KindDeleteGroup)), c.MGID[:]...)
}

func (c PutGroup) check() error {
	switch {
	case !c.MGID.IsMulticast():
		return fmt.Errorf("group %s: not a multicast GID", c.MGID)
	case c.MLID < mad.MinMulticastLID || c.MLID == mad.PermissiveLID:
		return fmt.Errorf("group %s: MLID 0x%x is not a multicast LID", c.MGID, uint16(c.MLID))
	case !c.PKey.Valid():
		return fmt.Errorf("group %s: P_Key %s", c.MGID, c.PKey)
	case c.MTU.Bytes() == 0:
		return fmt.Errorf("group %s: MTU code %d", c.MGID, c.MTU)
	case c.Rate > 63 || c.PacketLifeTime > 63 || c.SL > 15 || c.FlowLabel >= 1<<20 || c.Scope > 15:
		return fmt.Errorf(
			"group %s: rate %d, packet lifetime %d, SL %d, flow label 0x%x or scope %d is out of its field",
			c.MGID, c.Rate, c.PacketLifeTime, c.SL, c.FlowLabel, c.Scope)
	}
	return nil
}

func (c DeleteGroup) check() error { return nil }

func (c PutGroup) apply(r *Registry) error {
	for other := range r.OnMLID(c.MLID) {
		if other.MGID != c.MGID && !other.Agrees(&c.Group) {
			return fmt.Errorf("group %s: MLID 0x%x already belongs to group %s, which has another P_Key, MTU, rate or SL",
				c.MGID, uint16(c.MLID), other.MGID)
		}
	}
	g, found := r.groups.get(c.MGID)
	if found && g.MLID != c.MLID {
		r.releaseMLID(&g.Group)
	}
	if !found || g.MLID != c.MLID {
		r.takeMLID(&c.Group)
	}
	g.Group = c.Group
	r.groups.put(r.owner, c.MGID, g)
	return nil
}

func (c DeleteGroup) apply(r *Registry) error {
	g, found := r.groups.get(c.MGID)
	if !found {
		return fmt.Errorf("group %s: deleted, but it does not exist", c.MGID)
	}
	ports := make([]mad.GID, 0, g.members)
	for m := range r.Members(c.MGID) {
		ports = append(ports, m.Port)
	}
	for _, port := range ports {
		r.members.remove(r.owner, memberKey{c.MGID, port})
		r.joined.remove(r.owner, memberKey{port, c.MGID})
	}
	r.groups.remove(r.owner, c.MGID)
	r.releaseMLID(&g.Group)
	return nil
}
