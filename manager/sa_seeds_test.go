package manager

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sa"
)

// script are bytes for FuzzSA.
type script []byte

// aSecond is a second as the pause before an act, in units of 2^24 ns.
const aSecond = 60

// newScript is without acts.
func newScript(situation byte) *script { return &script{situation} }

// act adds one.
func (s *script) act(kind, who, pause, flags byte, more ...byte) *script {
	*s = append(append(*s, kind, who, pause, flags), more...)
	return s
}

// send sends packets of a port.
func (s *script) send(who, flags byte, ds ...mad.Datagram) *script {
	for i := range ds {
		s.act(actPacket, who, 0, flags, ds[i].Packet[:]...)
	}
	return s
}

// answer answers the first so many requests alike, after a pause, with bytes at an offset.
func (s *script) answer(count int, pause, flags byte, at int, over ...byte) *script {
	return s.act(actAnswer, 0, pause, flags|byte(count-1)<<4, append([]byte{byte(at), byte(len(over))}, over...)...)
}

// other has the other manager take turns, after a pause.
func (s *script) other(turns int, pause, flags byte, at int, over ...byte) *script {
	return s.act(actOther, 0, pause, flags|byte(turns-1)<<4, append([]byte{byte(at), byte(len(over))}, over...)...)
}

// happen has something happen.
func (s *script) happen(event, who byte, trap ...byte) *script {
	return s.act(actEvent, who, 0, event, append(trap, make([]byte, trapSize-len(trap))...)...)
}

// query is a request to the SA.
func query(tid mad.TID, m mad.Method, attr mad.AttrID, comps mad.ComponentMask, rec []byte) mad.Datagram {
	d := request(attr, tid)
	d.Packet.SetMethod(m)
	d.Packet.SetComponentMask(comps)
	copy(d.Packet.SAData()[:], rec)
	return d
}

// opens acknowledges the first segment of a table, and lets the others come.
func opens(d mad.Datagram) mad.Datagram {
	copy(d.Packet[24:36], []byte{rmpp.Version, byte(rmpp.TypeACK), byte(rmpp.FlagActive), 0, 0, 0, 0, 1, 0, 0, 0,
		1 + rmpp.Window})
	return d
}

// servedAttrs are the attributes that the SA serves, by its counters.
func servedAttrs() (attrs []mad.AttrID) {
	for kind := range new(sa.Stats).Replies() {
		if !slices.Contains(attrs, kind.Attr) {
			attrs = append(attrs, kind.Attr)
		}
	}
	return attrs
}

const (
	joinComps = sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState | sarec.MCMemberQKey |
		sarec.MCMemberPKey |
		sarec.MCMemberTClass | sarec.MCMemberFlowLabel | sarec.MCMemberSL
	registerComps = sarec.ServiceServiceID | sarec.ServiceServiceGID | sarec.ServiceServiceKey |
		sarec.ServiceServiceName | sarec.ServiceAllServiceData
	aliasComps = sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum | sarec.GUIDInfoGUID0<<1
)

// joining is a MCMemberRecord of a host, of the broadcast group or another one.
func (a *abused) joining(host int, group byte) []byte {
	var r sarec.MCMemberRecord
	r.SetMGID(mad.GID{0xff, 0x15, 15: group})
	if group == 0 {
		r.SetMGID(sa.DefaultGroups()[0].MGID)
	}
	r.SetPortGID(a.gid(host))
	r.SetQKey(0x0b1b)
	r.SetPKey(0xffff)
	r.SetJoinState(1)
	return r[:]
}

// service is one at a host.
func (a *abused) service(host int, id uint64) []byte {
	var r sarec.ServiceRecord
	r.SetServiceID(id)
	r.SetServiceGID(a.gid(host))
	r.SetServiceName([64]byte{'a'})
	return r[:]
}

// aliases are GUIDs for a port; one that the SA chooses, or a given one.
func (a *abused) aliases(host int, guid byte) []byte {
	var r sarec.GUIDInfoRecord
	r.SetLID(a.lids[host])
	r[8+8+7] = guid
	return r[:]
}

// subscription asks for everything, or ends that.
func subscription(subscribe uint8) []byte {
	var i sarec.InformInfo
	i.SetLIDRangeBegin(registry.AnyLID)
	i.SetIsGeneric(1)
	i.SetSubscribe(subscribe)
	i.SetType(registry.AnyType)
	i.SetTrapNumber(registry.AnyTrap)
	i.SetProducerType(registry.AnyProducer)
	i.SetQPN(1)
	return i[:]
}

// abuses are the seeds of FuzzSA.
func abuses() (all []script) {
	for _, s := range slices.Concat(questions(), registrations(), ofOtherClasses(), ofManagers()) {
		all = append(all, *s)
	}
	return all
}

// questions are those that change nothing.
func questions() (all []*script) {
	a := abusedSubnet()
	for _, attr := range servedAttrs() {
		one, table := query(1, mad.MethodGet, attr, 0, nil), query(2, mad.MethodGetTable, attr, 0, nil)
		every := query(3, mad.MethodGet, attr, ^mad.ComponentMask(0), nil)
		for _, situation := range []byte{asMaster, amongTenants} {
			s := newScript(situation).send(0, 0, one, every).send(0, withSAKey, table, opens(table)).send(1,
				withGRH|otherPKey, table)
			all = append(all, s)
		}
		never := query(4, mad.MethodGetTraceTable, attr, 0, nil)
		all = append(all, newScript(asStandby).send(0, 0, one, table),
			newScript(asMaster).send(0, bounced, one).send(3, otherQPN, never, table, opens(table)))
	}
	var path sarec.PathRecord
	path.SetSGID(a.gid(0))
	path.SetDGID(a.gid(1))
	path.SetNumbPath(3)
	const ends = sarec.PathSGID | sarec.PathDGID
	get, table := query(1, mad.MethodGet, sarec.AttrPathRecord, ends, path[:]),
		query(2, mad.MethodGetTable, sarec.AttrPathRecord, ends|sarec.PathNumbPath, path[:])
	var many []mad.Datagram
	for tid := range mad.TID(10) {
		many = append(many, query(10+tid, mad.MethodGet, sarec.AttrPathRecord, ends, path[:]))
	}
	for _, situation := range []byte{asMaster, amongTenants} {
		all = append(all,
			newScript(situation).send(0, 0, get, table).send(0, withGRH, get).send(0, withGRH|ofAnother, get).send(1, 0,
				get).send(bySelf, 0, get),
			newScript(situation).send(0, 0, many...).act(actEvent, 0, aSecond, eventSwept).send(0, 0, many[:2]...),
			newScript(situation).send(bySwitch, 0, get).send(byLID0, 0, get).send(byNobody, 0, get, table).send(
				byNobody+3, withGRH, get).send(byNobody+4, 0, table))
	}
	var multi sarec.MultiPathRecord
	multi.SetSGIDCount(2)
	multi.SetDGIDCount(9)
	for i := range 11 {
		multi.SetGID(i, a.gid(i))
	}
	twelfth := a.gid(11)
	long := append(multi[:], twelfth[:]...) // a GID more than there is room for in one packet
	const counts = sarec.MultiPathSGIDCount | sarec.MultiPathDGIDCount
	whole := query(1, mad.MethodGetMulti, sarec.AttrMultiPathRecord, counts, multi[:])
	parts := []mad.Datagram{segment(1, 2, rmpp.FlagFirst, 1, uint32(len(long))+40),
		segment(1, 2, rmpp.FlagLast, 2, 16+20)}
	for i := range parts {
		parts[i].Packet.SetComponentMask(counts)
		copy(parts[i].Packet.SAData()[:], long[i*mad.SADataSize:])
	}
	multi.SetDGIDCount(2)
	short := query(3, mad.MethodGetMulti, sarec.AttrMultiPathRecord, counts, multi[:24+4*16])
	rmpp.SetSize(&short.Packet, mad.PacketSize-mad.SADataSize+24+4*16)
	return append(all,
		newScript(asMaster).send(0, 0, parts...).send(0, 0, opens(parts[0])),
		newScript(asMaster).send(0, 0, parts[1], parts[0]).send(1, 0, parts[0]),
		newScript(asMaster).send(0, 0, whole, short, opens(short)),
		newScript(amongTenants).send(0, withSAKey, short, opens(short)).send(0, withSAKey, parts...),
		newScript(asMaster).send(0, 0, segment(1, 1, rmpp.FlagFirst, 1, 660), segment(1, 1, 0, 2, 0),
			segment(1, 1, rmpp.FlagLast, 3, 220)))
}

// registrations change what is registered, and cause Reports.
func registrations() (all []*script) {
	a := abusedSubnet()
	join := func(tid mad.TID, m mad.Method, host int, group byte) mad.Datagram {
		return query(tid, m, sarec.AttrMCMemberRecord, joinComps, a.joining(host, group))
	}
	hear := query(20, mad.MethodSet, sarec.AttrInformInfo, 0, subscription(1))
	forget := query(21, mad.MethodSet, sarec.AttrInformInfo, 0, subscription(0))
	alias := func(tid mad.TID, m mad.Method, guid byte) mad.Datagram {
		return query(tid, m, sarec.AttrGUIDInfoRecord, aliasComps, a.aliases(0, guid))
	}
	service := func(tid mad.TID, m mad.Method, id uint64) mad.Datagram {
		return query(tid, m, sarec.AttrServiceRecord, registerComps, a.service(0, id))
	}
	var trap smp.Notice
	trap.SetIsGeneric(true)
	trap.SetType(smp.NoticeUrgent)
	trap.SetProducerType(smp.ProducerSwitch)
	trap.SetTrapNumber(128)
	trap.SetIssuerLID(a.lids[bySwitch])
	set, del := mad.MethodSet, mad.MethodDelete
	// Groups that a client makes, of every kind of MGID, and with all that a request can ask for.
	const terms = joinComps | sarec.MCMemberMTUSelector | sarec.MCMemberMTU | sarec.MCMemberRateSelector |
		sarec.MCMemberRate |
		sarec.MCMemberPacketLifeTimeSelector | sarec.MCMemberPacketLifeTime | sarec.MCMemberScope |
		sarec.MCMemberHopLimit
	var created []mad.Datagram
	for i, mgid := range []mad.GID{
		{}, {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: 9}, {0xff, 0x12, 0x60, 0x1b, 0xff, 0xff, 15: 9},
		{0xff, 0x12, 0x40, 0x1b, 0x80, 0x01, 15: 9},
		{0xff, 0x12, 0xa0, 0x1b, 15: 9}, {0xff, 0x15, 0xa0, 0x1b, 15: 9}, {0xfe, 0x80, 15: 9}, {0xff, 0x22, 15: 9},
		{0xff, 0x02, 15: 1},
	} {
		for _, selector := range []sarec.Selector{sarec.Exactly, sarec.GreaterThan, sarec.LessThan, sarec.Best} {
			r := (*sarec.MCMemberRecord)(a.joining(0, 0))
			r.SetMGID(mgid)
			r.SetMTU(selector, mad.MTU2048)
			r.SetRate(selector, 3)
			r.SetPacketLifeTime(selector, 18)
			if i%2 == 1 {
				r.SetPKey(0x8001)
			}
			created = append(created, query(mad.TID(100+len(created)), set, sarec.AttrMCMemberRecord, terms, r[:]))
		}
	}
	for part := range slices.Chunk(created, maxActs-2) {
		all = append(all, newScript(asMaster).send(0, 0, hear).send(0, 0, part...).send(0, 0,
			query(99, mad.MethodGetTable, sarec.AttrMCMemberRecord, 0, nil)),
			newScript(asMaster).happen(eventConfigured, 1).send(0, withSAKey, part...))
	}
	// Subscriptions to what happens at some ports, and to traps about keys.
	for i, change := range []func(*sarec.InformInfo){
		func(i *sarec.InformInfo) {
			i.SetGID(a.gid(1))
		}, func(i *sarec.InformInfo) { i.SetGID(a.gid(3)) }, func(i *sarec.InformInfo) {
			i.SetGID(mad.GID{0xfe, 0x80, 15: 1})
		},
		func(i *sarec.InformInfo) {
			i.SetLIDRangeBegin(1)
			i.SetLIDRangeEnd(30)
		}, func(i *sarec.InformInfo) { i.SetLIDRangeBegin(0x4000) },
		func(i *sarec.InformInfo) {
			i.SetTrapNumber(uint16(smp.TrapBadMKey))
		}, func(i *sarec.InformInfo) { i.SetIsGeneric(0) },
	} {
		info := (*sarec.InformInfo)(subscription(1))
		change(info)
		of := query(mad.TID(30+i), set, sarec.AttrInformInfo, 0, info[:])
		trap.SetTrapNumber(smp.TrapBadMKey)
		all = append(all, newScript(asMaster).send(0, 0, of).send(2, withSAKey, of).happen(eventTrap, 0,
			trap[:]...).answer(2, 0, 0, 24).send(1, 0, join(1, set, 1, 1)).answer(2, 0, 0, 24).send(0, withSAKey,
			query(2, mad.MethodGetTable, sarec.AttrInformInfoRecord, 0, nil)))
	}
	trap.SetTrapNumber(128)
	for _, situation := range []byte{asMaster, amongTenants, asMaster | withAgents} {
		all = append(all,
			newScript(situation).send(0, 0, join(1, set, 0, 0), join(2, set, 0, 1), join(3, del, 0, 1),
				join(4, del, 0, 0)),
			newScript(situation).send(0, withGRH, join(1, set, 0, 1)).send(1, 0, join(2, set, 1, 1),
				join(3, set, 0, 2)).send(0, 0, join(4, set, 0, 2), join(5, set, 0, 3), join(6, set, 0, 4)),
			newScript(situation).send(0, 0, join(1, set, 0, 1), join(1, set, 0, 1),
				query(2, mad.MethodGetTable, sarec.AttrMCMemberRecord, 0, nil)),
			newScript(situation).send(0, 0, service(1, set, 1), service(2, set, 2), service(3, set, 3),
				query(4, mad.MethodGet, sarec.AttrServiceRecord, sarec.ServiceServiceID, a.service(0, 1)),
				service(5, del, 1)),
			newScript(situation).send(0, 0, alias(1, set, 0), alias(2, set, 9), alias(3, del, 0),
				alias(4, mad.MethodGet, 0)).send(1, withSAKey, alias(5, set, 9)),
			// A Report that is answered, one that is answered wrongly and later by nobody, and one that the port gives
			// up.
			newScript(situation).send(0, 0, hear).send(1, 0, join(1, set, 1, 1)).answer(1, 0, 0, 24).send(1, 0,
				join(2, del, 1, 1)).answer(1, 0, 0, 4, 0, 4).send(0, 0, forget),
			newScript(situation).send(0, withGRH, hear).send(1, 0, join(1, set, 1, 1)).answer(1, 0, notFromIt, 24).send(
				1, 0, join(2, set, 1, 2), join(3, del, 1, 1)).answer(1, aSecond, givenUp, 0).answer(2, 4*aSecond, 0,
				0).send(1, 0, join(4, del, 1, 2)),
			newScript(situation).send(0, otherQPN|otherPKey, hear).happen(eventTrap, 0, trap[:]...).answer(1, 0, 0,
				24).happen(eventTrap, 0, trap[:]...).answer(1, 0, asTable, 24).happen(eventReset, 0).happen(eventReset,
				1),
			newScript(situation).send(0, 0, hear).send(1, 0, hear).send(2, 0, hear).happen(eventTrap, 0,
				trap[:]...).happen(eventTrap, 0, trap[:]...).answer(3, 0, 0, 24).answer(3, 0, 0, 24),
			// A port that goes and comes again, and one that does not.
			newScript(situation).send(0, 0, hear).send(1, 0, join(1, set, 1, 1), hear).happen(eventSwept, 1).answer(1,
				0, 0, 24).send(1, 0, join(2, set, 1, 2)).happen(eventSwept, 0).answer(1, 0, 0, 24).happen(eventSwept,
				1),
			newScript(situation).send(0, 0, hear, join(1, set, 0, 1), service(2, set, 1)).happen(eventConfigured,
				7).happen(eventSwept, 0).send(0, 0, join(3, set, 0, 0)).happen(eventStandby, 0).send(0, 0,
				join(4, set, 0, 2)).happen(eventMaster, 0).send(0, 0, join(5, set, 0, 3)))
	}
	return all
}

// ofOtherClasses are packets of classes other than subnet administration, and the answers of agents.
func ofOtherClasses() (all []*script) {
	of := func(class mad.Class, m mad.Method, attr mad.AttrID) (d mad.Datagram) {
		d.Addr = mad.Addr{LID: 1, QPN: 1}
		d.Packet.SetHeader(class, m, attr, 0)
		d.Packet.SetTID(mad.TID(class)<<8 | mad.TID(m))
		return d
	}
	const (
		classDevice = 0x06
		classCM     = 0x07
		classBoards = 0x05
		classOUI    = 0x30
	)
	for _, class := range []mad.Class{mad.ClassPerf, mad.ClassVendor, mad.ClassCongestion, mad.ClassMirror, classDevice,
		classCM, classBoards, classOUI, 0, 0xff} {
		s := newScript(asMaster | withAgents)
		for _, m := range []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodSend, mad.MethodTrap, mad.MethodReport,
			mad.MethodTrapRepress, mad.MethodGetResp} {
			s.send(0, 0, of(class, m, 1)).send(byNobody, withGRH, of(class, m, 1))
		}
		all = append(all, s)
	}
	ones := slices.Repeat([]byte{0xff}, 192)
	redirected := make([]byte, 72) // a ClassPortInfo with a redirection to LID 2, QPN 1
	redirected[24+13], redirected[28+3], redirected[3] = 2, 1, 1
	for _, role := range []byte{asMaster, amongTenants, asStandby} {
		all = append(all,
			answers(role|withAgents),
			newScript(role|withAgents).answer(16, 0, 0, 64, ones...).answer(16, 0, 0, 64, ones...).answer(16, 0, 0, 64,
				ones...),
			newScript(role|withAgents).answer(8, 0, 0, 4, 0, 4).answer(8, 0, notFromIt, 64).answer(8, 0, givenUp,
				64).answer(16, aSecond, 0, 64),
			newScript(role|withAgents).answer(16, 0, 0, 64, redirected...).answer(16, 0, 0, 64).answer(16, 0, 0, 64))
	}
	return append(all, newScript(asMaster|withAgents).answer(16, 0, 0, 64).happen(eventReset, 0).happen(eventSwept,
		0).answer(16, 0, 0, 64).happen(eventStandby, 0).answer(16, 0, 0, 64))
}

// answers has all that agents are asked answered, in two sweeps of counters, with counters of 0 and of 1.
func answers(situation byte) *script {
	s := newScript(situation)
	for range maxActs / 2 {
		s.answer(16, 0, 0, 64)
	}
	s.act(actEvent, 0, 2*aSecond, eventTrap, make([]byte, trapSize)...)
	for range maxActs/2 - 1 {
		s.answer(16, 0, 0, 66, slices.Repeat([]byte{0, 1}, 60)...)
	}
	return s
}

// ofManagers are exchanges between managers, and with the SA of a foreign master.
func ofManagers() (all []*script) {
	a := abusedSubnet()
	join := query(1, mad.MethodSet, sarec.AttrMCMemberRecord, joinComps, a.joining(0, 1))
	report := query(5, mad.MethodReport, sarec.AttrNotice, 0, nil)
	report.Packet[24+32] = 0x80
	report.Packet[24+32+5] = byte(smp.TrapGroupCreated)
	for _, keys := range []byte{0, unkeyed, unkeyed | unmirrored} {
		all = append(all,
			// A standby that mirrors us, and gets the mastership.
			newScript(asMaster|keys).other(1, 0, 0, 0).other(4, aSecond/4, 0, 0).send(0, 0, join).other(4, aSecond, 0,
				0).happen(eventHandover, 0).send(0, 0, join).other(8, aSecond, 0, 0).happen(eventStandby, 0).other(8,
				aSecond, 0, 0),
			newScript(asMaster|keys).other(1, 0, signed, 63, 1, 1).other(2, aSecond/4, signed, 24, 1, 2, 7).other(4,
				aSecond, signed, 100, 1, 1, 1, 1).other(4, aSecond, 0, 56, 4),
			// A master that we mirror.
			newScript(asStandby|keys).other(8, aSecond, 0, 0).other(8, aSecond, 0, 0).other(8, 4*aSecond, 0, 0).happen(
				eventMaster, 0).send(0, 0, join).happen(eventStandby, 0).other(8, aSecond, 0, 0),
			newScript(asStandby|keys).other(2, aSecond, signed, 56, 9).other(2, aSecond, signed, 24, 1, 1, 3, 0, 0, 0,
				0, 1).other(8, aSecond, signed, 130, 1, 2, 3).answer(2, aSecond, asTable, 56, 3, 2).answer(1, aSecond,
				givenUp, 0),
			newScript(asStandby|keys).act(actOther, 0, 4*aSecond, 0, 0, 0).send(0, 0, join).send(byOther, 0, report))
	}
	empty := []byte{}
	return append(all,
		// A foreign master, whose tables are read.
		newScript(ofForeign).other(16, 0, 0, 0).other(16, aSecond, 0, 0).other(16, 2*aSecond, 0, 0).send(byOther, 0,
			report).other(16, aSecond, 0, 0).happen(eventMaster, 0).send(0, 0, join),
		newScript(ofForeign).other(1, 0, 0, 4, 0, 12).other(4, 0, 0, 100, 0xff, 0xff).other(8, aSecond, 0, 0).other(8,
			aSecond, 0, 20, 0, 0),
		newScript(ofForeign).answer(1, 0, 0, 56, empty...).answer(1, aSecond, asTable, 56, 1, 2, 3, 4).answer(1,
			aSecond, 0, 4, 0, 4).answer(1, aSecond, givenUp, 0).answer(1, aSecond, notFromIt, 0),
		newScript(ofForeign).other(3, 0, 0, 0).answer(1, 0, asTable, 20, 0, 7).answer(1, 0, asTable, 24, 1, 4, 1,
			120).answer(3, aSecond, asTable, 56, make([]byte, 200)...),
		newScript(ofForeign).other(12, 0, 0, 0).send(byOther, 0, report, report).send(0, 0, report).act(actOther, 0,
			200, 0, 0, 0).act(actOther, 0, 255, 0, 0, 0).other(16, 255, 0, 0))
}
