package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
)

// Components of an MCMemberRecord that are compared as they are. Those of a member are
// compared with what the requester may know of it; those of MTU and rate are bounds;
// PacketLifeTime is not compared.
const (
	groupComps = sarec.MCMemberMGID | sarec.MCMemberQKey | sarec.MCMemberMLID | sarec.MCMemberTClass |
		sarec.MCMemberPKey |
		sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberHopLimit | sarec.MCMemberScope
	memberOnlyComps = sarec.MCMemberJoinState | sarec.MCMemberProxyJoin
)

// mcMemberRecords are for the trusted one for each member of each group; for others one
// for each group, without members. PortGID asks for one member, or for the groups that
// have it. Groups of other partitions than the requester's are hidden.
func (a *Responder) mcMemberRecords(r *request, res *result) {
	want := (*sarec.MCMemberRecord)(r.data[:])
	if !validTerms(r.comps, want) {
		res.refused = mad.StatusReqInvalid
		return
	}
	if r.comps.Has(sarec.MCMemberMGID) {
		if g, found := a.reg.Group(want.MGID()); found {
			a.groupRecords(r, want, &g, res)
		}
		return
	}
	if r.comps.Has(sarec.MCMemberMLID) {
		for g := range a.reg.OnMLID(want.MLID()) {
			if !a.groupRecords(r, want, &g, res) {
				return
			}
		}
		return
	}
	for g := range a.reg.Groups() {
		if !a.groupRecords(r, want, &g, res) {
			return
		}
	}
}

// groupRecords are those of one group; false when further ones cannot change the answer.
func (a *Responder) groupRecords(r *request, want *sarec.MCMemberRecord, g *registry.Group, res *result) bool {
	var rec sarec.MCMemberRecord
	fillMember(&rec, g, &registry.Member{}, r.trusted)
	mask := sarec.MCMemberMask(r.comps & groupComps)
	if !a.isIn(r, g.PKey) || !sarec.Match(rec[:], want[:], mask[:]) || !termsFit(r.comps, want, g) {
		return true
	}
	byPort, port := r.comps.Has(sarec.MCMemberPortGID), a.ownGID(want.PortGID())
	if !r.trusted {
		if byPort && a.view.Subnet.Trust.Enhanced && !a.isOf(port, r.from) {
			return true // only trusted ports see the other members
		}
		if byPort {
			if _, isMember := a.reg.Member(g.MGID, port); !isMember {
				return true
			}
		}
		return res.add(rec[:])
	}
	mask = sarec.MCMemberMask(r.comps & memberOnlyComps)
	add := func(m *registry.Member) bool {
		rec.SetPortGID(m.Port)
		fillMember(&rec, g, m, true)
		return !sarec.Match(rec[:], want[:], mask[:]) || res.add(rec[:])
	}
	if byPort {
		m, isMember := a.reg.Member(g.MGID, port)
		return !isMember || add(&m)
	}
	for m := range a.reg.Members(g.MGID) {
		if !add(&m) {
			return false
		}
	}
	return true
}

// ownGID is the GID of a port under the prefix by which members are known, if it was
// given under the one that ports power up with.
func (a *Responder) ownGID(g mad.GID) mad.GID {
	if g.Prefix() == mad.DefaultPrefix {
		return mad.MakeGID(a.view.Subnet.Prefix, g.GUID())
	}
	return g
}
