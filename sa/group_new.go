package sa

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	osmlog "ibsm/opensm/log"
	"ibsm/registry"
	"ibsm/sa/path"
	"ibsm/topo"
)

// newGroup is the group that a join asks for which does not exist. Nothing is changed
// yet.
func (r *Registrar) newGroup(q *writeRequest, rec *sarec.MCMemberRecord, port topo.EndIdx,
	g *registry.Group) mad.Status {
	if !registry.JoinState(rec.JoinState()).KeepsAlive() {
		return r.notFull(q, port)
	}
	if !q.comps.Has(createComps) {
		guid, desc := named(r.view.Topo, port)
		return q.because(mad.StatusReqInsufficient,
			"the group does not exist, and it does not say all that is needed to create it", osmlog.JoinNoGroup, guid,
			desc, rec.MGID(), uint64(q.comps))
	}
	*g = registry.Group{
		MGID: rec.MGID(), PKey: rec.PKey(), QKey: rec.QKey(), SL: rec.SL(), FlowLabel: rec.FlowLabel(),
		TClass: rec.TClass(),
	}
	if g.MGID == (mad.GID{}) {
		if !r.makeMGID(q, rec, g) {
			return q.because(r.full(), "no MGID is free", "")
		}
	} else if !r.validMGID(q, rec, g) {
		return mad.StatusReqInvalid
	}
	g.Scope = scopeOf(g.MGID) // whatever the request says: osmtest has them differ
	if !r.chooseTerms(q, rec, port, g) {
		return q.because(mad.StatusReqInvalid,
			"the MTU, rate or lifetime that it requires for the new group is not possible", osmlog.CreateTerms)
	}
	g.HopLimit = hopLimit(g.Scope)
	if q.comps.Has(sarec.MCMemberHopLimit) {
		g.HopLimit = rec.HopLimit()
	}
	creator := r.view.Topo.EndGUID(q.from)
	if r.reg.Counts().Groups >= maxGroups || !r.allotMLID(g, r.hasShare(creator)) {
		return q.because(r.full(), "no MLID is free", osmlog.CreateNoMLID, uint16(rec.MLID()))
	}
	return mad.StatusOK
}

// crowdedPause is the least time between two reports of a port at its share of the MLIDs.
const crowdedPause = time.Minute

// hasShare reports whether a port has created groups on as many MLIDs as are free. Its further
// groups then share MLIDs, so that no port takes them all.
func (r *Registrar) hasShare(creator mad.GUID) bool {
	if r.tally.creators.count[creator] < r.reg.FreeMLIDs(r.mlidPolicy()) {
		return false
	}
	r.count.MLIDShare++
	if r.now >= r.quietUntil {
		r.quietUntil, r.effects.Crowded = r.now+crowdedPause, creator
	}
	return true
}

// linkLocalScope is a scope of MGIDs (IBA 4.1.1).
const linkLocalScope = 2

func scopeOf(mgid mad.GID) uint8 { return mgid[1] & 0x0f }

// hopLimit is that of a group whose creator did not choose.
func hopLimit(scope uint8) uint8 {
	if scope == linkLocalScope {
		return 0
	}
	return 0xff
}

// mlidPolicy is the configured one within what the switches support.
func (r *Registrar) mlidPolicy() registry.MLIDPolicy {
	policy := r.cfg.MLIDs
	if policy.Last == 0 || r.last < policy.Last {
		policy.Last = r.last
	}
	return policy
}

// allotMLID gives a group its MLID, with share none that is free. It is not taken before the
// group is put, so that none is lost whatever comes between.
func (r *Registrar) allotMLID(g *registry.Group, share bool) (ok bool) {
	policy := r.mlidPolicy()
	policy.Share = share
	if policy.Last < mad.MinMulticastLID {
		return false
	}
	g.MLID, ok = r.reg.AllotMLID(g, policy)
	return ok
}

// Signatures in octets 2 and 3 of an MGID.
const (
	signatureIPv4 = 0x401b
	signatureIPv6 = 0x601b
	signatureOwn  = 0xa01b // of MGIDs that the SA makes
)

func signatureOf(mgid mad.GID) uint16 { return binary.BigEndian.Uint16(mgid[2:]) }

// validMGID reports whether a client may make a group with an MGID of its choice.
func (r *Registrar) validMGID(q *writeRequest, rec *sarec.MCMemberRecord, g *registry.Group) bool {
	const cause = "its MGID is not one that a group may have"
	switch sig := signatureOf(g.MGID); {
	case !g.MGID.IsMulticast():
		q.because(mad.StatusReqInvalid, cause, osmlog.MGIDPrefix, uint16(g.MGID[0])<<8)
	case sig == signatureIPv4 || sig == signatureIPv6:
		return r.cfg.AnyIPoIB || r.likeBroadcast(q, rec, g)
	case g.MGID[1]&0xe0 != 0:
		q.because(mad.StatusReqInvalid, cause, osmlog.MGIDFlags, g.MGID[1]>>4&0xe)
	case sig == signatureOwn && scopeOf(g.MGID) == linkLocalScope:
		q.because(mad.StatusReqInvalid, cause, osmlog.MGIDSignature)
	default:
		return true
	}
	return false
}

// likeBroadcast reports whether a group of IP over InfiniBand agrees with the broadcast
// group of its partition and scope (RFC 4391, 5), which may be made freely.
func (r *Registrar) likeBroadcast(q *writeRequest, rec *sarec.MCMemberRecord, g *registry.Group) bool {
	mgid := registry.BroadcastMGID(mad.PKey(binary.BigEndian.Uint16(g.MGID[4:])), scopeOf(g.MGID))
	mgid[1] = g.MGID[1]
	if g.MGID == mgid {
		return true
	}
	broadcast, found := r.reg.Group(mgid)
	if !found {
		q.because(mad.StatusReqInvalid, fmt.Sprintf("the broadcast group %v of its partition does not exist", mgid),
			osmlog.CreateNoBroadcast, mgid)
		return false
	}
	given := *q
	given.comps &= sarec.MCMemberQKey | sarec.MCMemberPKey | sarec.MCMemberTClass | sarec.MCMemberSL |
		sarec.MCMemberFlowLabel | sarec.MCMemberHopLimit
	if agrees(&given, rec, &broadcast) == mad.StatusOK {
		return true
	}
	q.refused = given.refused
	q.because(mad.StatusReqInvalid, "", osmlog.CreateUnlike, g.MGID)
	return false
}

// maxMGIDTries bounds the search for an MGID that is free.
const maxMGIDTries = 1000

// makeMGID makes an MGID for a group whose creator has none.
func (r *Registrar) makeMGID(q *writeRequest, rec *sarec.MCMemberRecord, g *registry.Group) bool {
	scope := uint8(linkLocalScope)
	if q.comps.Has(sarec.MCMemberScope) {
		scope = rec.Scope()
	}
	g.MGID = mad.GID{0xff, 0x10 | scope, signatureOwn >> 8, signatureOwn & 0xff}
	binary.BigEndian.PutUint64(g.MGID[4:], uint64(r.view.Subnet.Prefix))
	for range maxMGIDTries {
		binary.BigEndian.PutUint32(g.MGID[12:], r.nextMGID)
		r.nextMGID++
		if _, taken := r.reg.Group(g.MGID); !taken {
			return true
		}
	}
	return false
}

// DefaultGroups are those of a subnet without partitions: the IPv4 broadcast group, as
// OpenSM makes it.
func DefaultGroups() []registry.Group {
	return []registry.Group{{
		MGID: registry.BroadcastMGID(mad.DefaultPKey, linkLocalScope), PKey: mad.DefaultPKey, QKey: 0x0b1b,
		MTU: mad.MTU2048, Rate: 3, Scope: linkLocalScope, WellKnown: true,
	}}
}

// wellKnown gives the groups of the configuration their configured values. Groups that are no
// longer in it become ordinary ones.
func (r *Registrar) wellKnown() {
	if r.view == nil {
		return
	}
	if r.view.Subnet.NoMulticast {
		r.dropGroups()
		return
	}
	want := map[mad.GID]bool{}
	for _, groups := range [][]registry.Group{r.cfg.Groups, r.orders.groups} {
		for _, g := range groups {
			if !want[g.MGID] {
				want[g.MGID] = true
				r.putWellKnown(g)
			}
		}
	}
	maps.DeleteFunc(r.withoutMLID, func(mgid mad.GID, _ bool) bool { return !want[mgid] })
	var gone []registry.Group
	for g := range r.reg.Groups() {
		if g.WellKnown && !want[g.MGID] {
			gone = append(gone, g)
		}
	}
	for _, g := range gone {
		if g.WellKnown = false; r.reg.FullMembers(g.MGID) == 0 {
			r.apply(registry.DeleteGroup{MGID: g.MGID})
		} else {
			r.apply(registry.PutGroup{Group: g})
		}
	}
}

func (r *Registrar) putWellKnown(g registry.Group) {
	g.WellKnown = true
	if g.PacketLifeTime == 0 {
		g.PacketLifeTime = r.view.Subnet.SubnetTimeOut
	}
	g.Rate = path.LimitRate(g.Rate, r.view.Subnet.MaxRate)
	is, exists := r.reg.Group(g.MGID)
	if g.MLID == 0 {
		g.MLID = is.MLID
	}
	defaulted := r.cfg.Defaulted[g.MGID] || r.orders.defaulted[g.MGID]
	if exists && defaulted && !r.newTerms[g.MGID] && r.reg.CountMembers(g.MGID) > 0 {
		g.MTU, g.Rate = is.MTU, is.Rate
	}
	if is == g {
		delete(r.withoutMLID, g.MGID)
		return
	}
	if exists {
		r.dropFollowers(&is, &g)
	}
	if (g.MLID == 0 || r.clashes(&g)) && !r.allotMLID(&g, false) {
		r.count.Full++
		r.noMLID(&g)
		return
	}
	delete(r.withoutMLID, g.MGID)
	if r.apply(registry.PutGroup{Group: g}) && exists {
		r.regroup(&is, &g)
	}
}

// noteNewTerms notes the groups to which another configuration gives another MTU or rate.
func (r *Registrar) noteNewTerms(cfg *RegistrarConfig) {
	type terms struct {
		mtu  mad.MTU
		rate mad.Rate
	}
	was, changed := map[mad.GID]terms{}, map[mad.GID]bool{}
	for i := range r.cfg.Groups {
		was[r.cfg.Groups[i].MGID] = terms{r.cfg.Groups[i].MTU, r.cfg.Groups[i].Rate}
	}
	for i := range cfg.Groups {
		g := &cfg.Groups[i]
		if old, known := was[g.MGID]; r.newTerms[g.MGID] || known && old != (terms{g.MTU, g.Rate}) {
			changed[g.MGID] = true
		}
	}
	r.newTerms = changed
}

// noMLID logs, once, that a group of the configuration got no MLID.
func (r *Registrar) noMLID(g *registry.Group) {
	if r.withoutMLID[g.MGID] {
		return
	}
	if r.withoutMLID == nil {
		r.withoutMLID = map[mad.GID]bool{}
	}
	r.withoutMLID[g.MGID] = true
	r.stats.Refusals.log(slog.LevelWarn,
		fmt.Sprintf("no MLID is free for the configured multicast group %v of partition %v: see ibsmctl groups", g.MGID,
			g.PKey))
}

// alone reports whether a group has an MLID of its own.
func (r *Registrar) alone(g *registry.Group) bool {
	for other := range r.reg.OnMLID(g.MLID) {
		if other.MGID != g.MGID {
			return false
		}
	}
	return true
}

// clashes reports whether a group is on an MLID with others that it does not agree with.
func (r *Registrar) clashes(g *registry.Group) bool {
	for other := range r.reg.OnMLID(g.MLID) {
		if other.MGID != g.MGID && !other.Agrees(g) {
			return true
		}
	}
	return false
}
