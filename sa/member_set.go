package sa

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/sarec"
	osmlog "ibsm/opensm/log"
	"ibsm/registry"
	"ibsm/topo"
)

// Components that requests about members must give.
const (
	memberComps = sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState
	createComps = sarec.MCMemberQKey | sarec.MCMemberPKey | sarec.MCMemberTClass | sarec.MCMemberFlowLabel |
		sarec.MCMemberSL
)

// setMember makes a port a member of a group, and makes the group if there is none
// (IBA 15.2.5.17). Nothing is changed unless all of it can be.
func (r *Registrar) setMember(q *writeRequest) mad.Status {
	rec := (*sarec.MCMemberRecord)(q.data[:])
	m, port, st := r.member(q, rec)
	if st != mad.StatusOK {
		return st
	}
	group, exists := r.reg.Group(m.MGID)
	if !validTerms(q.comps, rec) || q.comps.Has(sarec.MCMemberPKey) && !rec.PKey().Valid() {
		return r.unfit(q, port, "its MTU, rate or P_Key has no meaning")
	}
	if exists && r.cfg.AnyJoin {
		st = mad.StatusOK
	} else if exists {
		if st = agrees(q, rec, &group); st != mad.StatusOK && len(q.refused.lines) > 0 {
			guid, desc := named(r.view.Topo, port)
			q.because(st, "", osmlog.JoinUnlike, m.MGID, guid, desc)
		} else if st != mad.StatusOK {
			r.unfit(q, port, "")
		}
	} else {
		st = r.newGroup(q, rec, port, &group)
	}
	if st != mad.StatusOK {
		return st
	}
	if st := r.mayJoin(q, port, &group); st != mad.StatusOK {
		return st
	}
	m.MGID = group.MGID
	old, was := r.reg.Member(m.MGID, m.Port)
	if was && !r.mayChange(q, port, &old, &group) {
		return r.notPermitted(q, port, "another port may not change it")
	}
	if !was && (r.reg.Counts().Members >= maxMembers || !r.hasRoom(q, &m)) {
		return q.because(r.full(), "the port is in too many groups", "")
	}
	if !exists && !r.apply(registry.PutGroup{Group: group}) {
		return q.because(mad.StatusNoResources, "no room", "")
	}
	if !exists && r.alone(&group) {
		r.tally.creators.add(group.MGID, r.view.Topo.EndGUID(q.from))
	}
	if c := r.reg.Join(m); c != nil {
		r.apply(c)
	}
	if m.Proxy && !was {
		r.tally.proxies.add(memberKey{m.MGID, m.Port}, r.view.Topo.EndGUID(q.from))
	}
	r.stats.Refusals.joined(q.refused.port, m.MGID)
	now, _ := r.reg.Member(m.MGID, m.Port)
	fillMember(rec, &group, &now, q.trusted)
	q.size, q.wait = len(rec), waitsForTables
	return mad.StatusOK
}

// hasRoom reports whether the requester may enter one more member: a port itself, or any other by
// proxy.
func (r *Registrar) hasRoom(q *writeRequest, m *registry.Member) bool {
	most := r.allowed(q, r.view.Subnet.Trust.Groups, maxPortMembers)
	if m.Proxy {
		return r.tally.proxies.hasRoom(memberKey{m.MGID, m.Port}, r.view.Topo.EndGUID(q.from), most)
	}
	return r.tally.own[m.Port] < most
}

// member reads port and group of a join, and checks the requester's authority.
func (r *Registrar) member(q *writeRequest, rec *sarec.MCMemberRecord) (m registry.Member, port topo.EndIdx,
	st mad.Status) {
	gid := rec.PortGID()
	q.refused.port, q.refused.mgid = gid.GUID(), rec.MGID()
	switch {
	case !q.comps.Has(memberComps):
		return m, topo.None, q.because(mad.StatusReqInsufficient, "it lacks MGID, PortGID or JoinState",
			osmlog.JoinComponents, uint64(q.comps), uint64(memberComps), rec.MGID(), gid)
	case !r.onSubnet(gid):
		return m, topo.None, q.because(mad.StatusReqInvalidGID, "its PortGID is of another subnet", osmlog.JoinPrefix,
			uint64(gid.Prefix()), uint64(r.view.Subnet.Prefix))
	}
	port = r.portOf(gid.GUID())
	if port == topo.None || !r.view.Topo.MayTalk(q.from, port) {
		return m, topo.None,
			q.because(mad.StatusReqInvalid, "no port has the GUID, or it shares no P_Key with the sender", "")
	}
	q.refused.port = r.view.Topo.EndGUID(port)
	if rec.JoinState() == 0 {
		if _, exists := r.reg.Group(rec.MGID()); !exists {
			return m, topo.None, r.notFull(q, port)
		}
		return m, topo.None, r.unfit(q, port, "its JoinState is 0")
	}
	m = registry.Member{
		MGID: rec.MGID(), Port: mad.MakeGID(r.view.Subnet.Prefix, gid.GUID()),
		JoinState: registry.JoinState(rec.JoinState()), Proxy: !r.view.Topo.SpeaksFor(q.from, port),
	}
	return m, port, mad.StatusOK
}

// unfit refuses a join with values that a group or a port cannot have.
func (r *Registrar) unfit(q *writeRequest, port topo.EndIdx, cause string) mad.Status {
	guid, desc := named(r.view.Topo, port)
	return q.because(mad.StatusReqInvalid, cause, osmlog.JoinUnfit, q.refused.mgid, guid, desc)
}

// notFull refuses to create a group for a member that would not keep it alive.
func (r *Registrar) notFull(q *writeRequest, port topo.EndIdx) mad.Status {
	guid, desc := named(r.view.Topo, port)
	return q.because(mad.StatusReqInvalid, "the group does not exist, and only a full member creates it",
		osmlog.JoinNotFull, q.refused.mgid, guid, desc)
}

// notPermitted refuses a join for which the sender has no authority.
func (r *Registrar) notPermitted(q *writeRequest, port topo.EndIdx, cause string) mad.Status {
	guid, desc := named(r.view.Topo, port)
	return q.because(mad.StatusReqInvalid, cause, osmlog.JoinNotPermitted, guid, desc, q.refused.mgid)
}

// agrees compares the components that a join gives with a group that there is.
func agrees(q *writeRequest, rec *sarec.MCMemberRecord, g *registry.Group) mad.Status {
	key, keyFormat := rec.PKey(), osmlog.UnlikePKey
	if key.Base() == g.PKey.Base() {
		keyFormat = osmlog.UnlikeLimited
	}
	for _, c := range []struct {
		comp       mad.ComponentMask
		same       bool
		name, line string
		asked, has uint32
	}{
		{sarec.MCMemberQKey, rec.QKey() == g.QKey, "Q_Key", osmlog.UnlikeQKey, rec.QKey(), g.QKey},
		{sarec.MCMemberPKey, key.Matches(g.PKey), "P_Key", keyFormat, uint32(key), uint32(g.PKey)},
		{sarec.MCMemberTClass, rec.TClass() == g.TClass, "TClass", osmlog.UnlikeTClass, uint32(rec.TClass()),
			uint32(g.TClass)},
		{sarec.MCMemberSL, rec.SL() == g.SL, "SL", osmlog.UnlikeSL, uint32(rec.SL()), uint32(g.SL)},
		{sarec.MCMemberFlowLabel, rec.FlowLabel() == g.FlowLabel, "FlowLabel", osmlog.UnlikeFlowLabel, rec.FlowLabel(),
			g.FlowLabel},
		{sarec.MCMemberHopLimit, rec.HopLimit() == g.HopLimit, "HopLimit", osmlog.UnlikeHopLimit,
			uint32(rec.HopLimit()), uint32(g.HopLimit)},
	} {
		if q.comps.Has(c.comp) && !c.same {
			return q.because(mad.StatusReqInvalid, fmt.Sprintf("its %s 0x%x is not the group's, 0x%x", c.name, c.asked,
				c.has), c.line, c.asked, c.has)
		}
	}
	if !termsFit(q.comps, rec, g) {
		return q.because(mad.StatusReqInvalid,
			fmt.Sprintf("it requires another MTU or rate than the group's, %d and %g Gb/s", g.MTU.Bytes(),
				g.Rate.Gbps()), "")
	}
	return mad.StatusOK
}

// mayJoin reports whether the port can take the group's packets, and both it and the one that
// asks for it are in the group's partition.
func (r *Registrar) mayJoin(q *writeRequest, port topo.EndIdx, g *registry.Group) mad.Status {
	q.refused.mgid = g.MGID
	switch can := r.portLimits(port); {
	case can.mtu < int(g.MTU):
		return r.unfit(q, port, fmt.Sprintf("its MTU %d is smaller than the group's, %d", mad.MTU(can.mtu).Bytes(),
			g.MTU.Bytes()))
	case can.rank < g.Rate.Rank():
		return r.unfit(q, port, fmt.Sprintf("its rate %g Gb/s is lower than the group's, %g Gb/s",
			mad.RateOfRank(can.rank).Gbps(), g.Rate.Gbps()))
	case !r.holds(port, g.PKey):
		guid, _ := named(r.view.Topo, port)
		return q.because(mad.StatusReqInvalid, fmt.Sprintf("it is not in the group's partition, P_Key %v", g.PKey),
			osmlog.JoinPartition, guid, g.MGID)
	case !r.holds(q.from, g.PKey):
		return r.notPermitted(q, port, fmt.Sprintf("the sender is not in the group's partition, P_Key %v", g.PKey))
	}
	return mad.StatusOK
}

// fits reports whether the port can take the group's packets, and is in its partition.
func (r *Registrar) fits(port topo.EndIdx, g *registry.Group) bool {
	can := r.portLimits(port)
	return can.mtu >= int(g.MTU) && can.rank >= g.Rate.Rank() && r.holds(port, g.PKey)
}

// mayChange reports whether the requester may change a member: the port itself, or that of the vPort, where it
// joined by itself, any port of the group's partition where a proxy entered it.
func (r *Registrar) mayChange(q *writeRequest, port topo.EndIdx, m *registry.Member, g *registry.Group) bool {
	return r.view.Topo.SpeaksFor(q.from, port) || m.Proxy && r.holds(q.from, g.PKey)
}

// deleteMember takes bits from the JoinState of a member (IBA 15.2.5.17).
func (r *Registrar) deleteMember(q *writeRequest) mad.Status {
	rec := (*sarec.MCMemberRecord)(q.data[:])
	gid := rec.PortGID()
	switch {
	case !q.comps.Has(memberComps):
		return q.because(mad.StatusReqInsufficient, "it lacks MGID, PortGID or JoinState", osmlog.LeaveComponents,
			uint64(q.comps), uint64(memberComps))
	case !r.onSubnet(gid):
		return q.because(mad.StatusReqInvalidGID, "its PortGID is of another subnet", osmlog.LeavePrefix,
			uint64(gid.Prefix()), uint64(r.view.Subnet.Prefix))
	}
	bits := registry.JoinState(rec.JoinState())
	group, exists := r.reg.Group(rec.MGID())
	m, was := r.reg.Member(rec.MGID(), mad.MakeGID(r.view.Subnet.Prefix, gid.GUID()))
	if !was || bits == 0 || bits&^m.JoinState != 0 || !r.mayChange(q, r.portOf(gid.GUID()), &m, &group) {
		if exists {
			q.because(mad.StatusReqInvalid, "it is not a member in this way", osmlog.LeaveInvalid, rec.MGID(), gid)
		}
		return mad.StatusReqInvalid
	}
	r.apply(r.reg.Leave(m.MGID, m.Port, bits)...)
	left, _ := r.reg.Member(m.MGID, m.Port)
	fillLeft(rec, &group, left.JoinState)
	q.size, q.wait = len(rec), waitsForDisk
	return mad.StatusOK
}

// fillMember writes a member as the reply to a join shows it. The PortGID stays as it
// was asked for.
func fillMember(rec *sarec.MCMemberRecord, g *registry.Group, m *registry.Member, trusted bool) {
	port := rec.PortGID()
	*rec = sarec.MCMemberRecord{}
	rec.SetMGID(g.MGID)
	rec.SetPortGID(port)
	rec.SetQKey(g.QKey)
	rec.SetMLID(g.MLID)
	rec.SetMTU(sarec.Exactly, g.MTU)
	rec.SetTClass(g.TClass)
	rec.SetPKey(g.PKey)
	rec.SetRate(sarec.Exactly, g.Rate)
	rec.SetPacketLifeTime(sarec.Exactly, g.PacketLifeTime)
	rec.SetSL(g.SL)
	rec.SetFlowLabel(g.FlowLabel)
	rec.SetHopLimit(g.HopLimit)
	rec.SetScope(g.Scope)
	rec.SetJoinState(uint8(m.JoinState))
	rec.SetProxyJoin(trusted && m.Proxy)
}

// fillLeft writes what is left of a member as the reply to a Delete shows it: all else
// is as in the request.
func fillLeft(rec *sarec.MCMemberRecord, g *registry.Group, left registry.JoinState) {
	_, mtu := rec.MTU()
	_, rate := rec.Rate()
	_, life := rec.PacketLifeTime()
	rec.SetMTU(sarec.Exactly, mtu)
	rec.SetRate(sarec.Exactly, rate)
	rec.SetPacketLifeTime(sarec.Exactly, life)
	rec.SetScope(g.Scope)
	rec.SetJoinState(uint8(left))
}

// full refuses what would exceed a limit.
func (r *Registrar) full() mad.Status {
	r.count.Full++
	return mad.StatusNoResources
}
