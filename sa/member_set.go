package sa

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/topo"
)

// Components that requests about members must give.
const (
	memberComps = sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState
	createComps = sarec.MCMemberQKey | sarec.MCMemberPKey | sarec.MCMemberTClass | sarec.MCMemberFlowLabel | sarec.MCMemberSL
)

// setMember makes a port a member of a group, and makes the group if there is none
// (IBA 15.2.5.17). Nothing is changed unless all of it can be.
func (r *Registrar) setMember(q *writeRequest) mad.Status {
	rec := (*sarec.MCMemberRecord)(q.data[:])
	m, port, st := r.member(q, rec)
	if st != mad.StatusOK {
		return st
	}
	if !validTerms(q.comps, rec) || q.comps.Has(sarec.MCMemberPKey) && !rec.PKey().Valid() {
		return mad.StatusReqInvalid
	}
	group, exists := r.reg.Group(m.MGID)
	if exists && r.cfg.AnyJoin {
		st = mad.StatusOK
	} else if exists {
		st = agrees(q, rec, &group)
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
		return mad.StatusReqInvalid
	}
	if !was && (r.reg.Counts().Members >= maxMembers || !r.hasRoom(q, &m)) {
		return r.full()
	}
	if !exists && !r.apply(registry.PutGroup{Group: group}) {
		return mad.StatusNoResources
	}
	if !exists && r.alone(&group) {
		r.tally.creators.add(group.MGID, r.view.Topo.Ports[q.from].GUID)
	}
	if c := r.reg.Join(m); c != nil {
		r.apply(c)
	}
	if m.Proxy && !was {
		r.tally.proxies.add(memberKey{m.MGID, m.Port}, r.view.Topo.Ports[q.from].GUID)
	}
	now, _ := r.reg.Member(m.MGID, m.Port)
	fillMember(rec, &group, &now, q.trusted)
	q.size, q.wait = len(rec), waitsForTables
	return mad.StatusOK
}

// hasRoom reports whether who asks may enter one more member: a port itself, or any other by
// proxy.
func (r *Registrar) hasRoom(q *writeRequest, m *registry.Member) bool {
	if m.Proxy {
		return r.tally.proxies.hasRoom(memberKey{m.MGID, m.Port}, r.view.Topo.Ports[q.from].GUID, maxPortMembers)
	}
	return r.tally.own[m.Port] < maxPortMembers
}

// member reads port and group of a join, and checks the requester's authority.
func (r *Registrar) member(q *writeRequest, rec *sarec.MCMemberRecord) (m registry.Member, port topo.PortIdx, st mad.Status) {
	gid := rec.PortGID()
	switch {
	case !q.comps.Has(memberComps):
		return m, topo.None, mad.StatusReqInsufficient
	case !r.onSubnet(gid):
		return m, topo.None, mad.StatusReqInvalidGID
	case rec.JoinState() == 0:
		return m, topo.None, mad.StatusReqInvalid
	}
	port = r.portOf(gid.GUID())
	if port == topo.None || !r.view.Topo.MayTalk(q.from, port) {
		return m, topo.None, mad.StatusReqInvalid
	}
	m = registry.Member{
		MGID: rec.MGID(), Port: mad.MakeGID(r.view.Subnet.Prefix, gid.GUID()),
		JoinState: registry.JoinState(rec.JoinState()), Proxy: port != q.from,
	}
	return m, port, mad.StatusOK
}

// agrees compares the components that a join gives with a group that there is.
func agrees(q *writeRequest, rec *sarec.MCMemberRecord, g *registry.Group) mad.Status {
	differs := func(comp mad.ComponentMask, same bool) bool { return q.comps.Has(comp) && !same }
	key := rec.PKey()
	if differs(sarec.MCMemberQKey, rec.QKey() == g.QKey) ||
		differs(sarec.MCMemberPKey, key.Matches(g.PKey)) ||
		differs(sarec.MCMemberTClass, rec.TClass() == g.TClass) ||
		differs(sarec.MCMemberSL, rec.SL() == g.SL) ||
		differs(sarec.MCMemberFlowLabel, rec.FlowLabel() == g.FlowLabel) ||
		differs(sarec.MCMemberHopLimit, rec.HopLimit() == g.HopLimit) ||
		!termsFit(q.comps, rec, g) {
		return mad.StatusReqInvalid
	}
	return mad.StatusOK
}

// mayJoin reports whether the port can take the group's packets, and both it and who
// asks for it are in the group's partition.
func (r *Registrar) mayJoin(q *writeRequest, port topo.PortIdx, g *registry.Group) mad.Status {
	if !r.fits(port, g) || !r.holds(q.from, g.PKey) {
		return mad.StatusReqInvalid
	}
	return mad.StatusOK
}

// fits reports whether the port can take the group's packets, and is in its partition.
func (r *Registrar) fits(port topo.PortIdx, g *registry.Group) bool {
	can := r.portLimits(port)
	return can.mtu >= int(g.MTU) && can.rank >= g.Rate.Rank() && r.holds(port, g.PKey)
}

// mayChange reports whether the requester may change a member: the port itself where it
// joined by itself, any port of the group's partition where a proxy entered it.
func (r *Registrar) mayChange(q *writeRequest, port topo.PortIdx, m *registry.Member, g *registry.Group) bool {
	return q.from == port || m.Proxy && r.holds(q.from, g.PKey)
}

// deleteMember takes bits from the JoinState of a member (IBA 15.2.5.17).
func (r *Registrar) deleteMember(q *writeRequest) mad.Status {
	rec := (*sarec.MCMemberRecord)(q.data[:])
	gid := rec.PortGID()
	switch {
	case !q.comps.Has(memberComps):
		return mad.StatusReqInsufficient
	case !r.onSubnet(gid):
		return mad.StatusReqInvalidGID
	}
	bits := registry.JoinState(rec.JoinState())
	group, _ := r.reg.Group(rec.MGID())
	m, was := r.reg.Member(rec.MGID(), mad.MakeGID(r.view.Subnet.Prefix, gid.GUID()))
	if !was || bits == 0 || bits&^m.JoinState != 0 || !r.mayChange(q, r.portOf(gid.GUID()), &m, &group) {
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
