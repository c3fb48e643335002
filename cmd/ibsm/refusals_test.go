package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// refusals are requests that are refused, or that create or delete a group, in order.
func refusals(gid, other mad.GID, lid mad.LID) (all []question) {
	const join = sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState
	const create = join | sarec.MCMemberQKey | sarec.MCMemberPKey | sarec.MCMemberTClass | sarec.MCMemberFlowLabel |
		sarec.MCMemberSL
	broadcast := mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}
	fresh := func(last byte) mad.GID { g := broadcast; g[12], g[13], g[14], g[15] = 0, 0, 0, last; return g }
	member := func(method mad.Method, comps mad.ComponentMask, mgid mad.GID, edit func(rec *sarec.MCMemberRecord)) {
		p := request(method, sarec.AttrMCMemberRecord, comps)
		rec := (*sarec.MCMemberRecord)(p.SAData()[:56])
		rec.SetMGID(mgid)
		rec.SetPortGID(gid)
		rec.SetJoinState(1)
		rec.SetPKey(0xffff)
		rec.SetQKey(0x0b1b)
		if edit != nil {
			edit(rec)
		}
		all = append(all, question{packet: p})
	}
	set := mad.Method(mad.MethodSet)
	// no such group, too few components
	member(set, join, fresh(9), nil)
	// not as a full member
	member(set, create, fresh(9), func(rec *sarec.MCMemberRecord) { rec.SetJoinState(4) })
	// another Q_Key
	member(set, join|sarec.MCMemberQKey, broadcast, func(rec *sarec.MCMemberRecord) { rec.SetQKey(0x77) })
	member(set, join|sarec.MCMemberPKey, broadcast, func(rec *sarec.MCMemberRecord) { rec.SetPKey(0x8001) })
	member(set, join|sarec.MCMemberSL, broadcast, func(rec *sarec.MCMemberRecord) { rec.SetSL(3) })
	member(set, join|sarec.MCMemberTClass, broadcast, func(rec *sarec.MCMemberRecord) { rec.SetTClass(3) })
	member(set, join|sarec.MCMemberFlowLabel, broadcast, func(rec *sarec.MCMemberRecord) { rec.SetFlowLabel(3) })
	member(set, join|sarec.MCMemberHopLimit, broadcast, func(rec *sarec.MCMemberRecord) { rec.SetHopLimit(3) })
	member(set, join|sarec.MCMemberMTUSelector|sarec.MCMemberMTU, broadcast, func(rec *sarec.MCMemberRecord) {
		rec.SetMTU(sarec.Exactly, 5)
	})
	member(set, join|sarec.MCMemberRateSelector|sarec.MCMemberRate, broadcast, func(rec *sarec.MCMemberRecord) {
		rec.SetRate(sarec.Exactly, 16)
	})
	member(set, join, broadcast, func(rec *sarec.MCMemberRecord) { rec.SetJoinState(0) })
	member(set, sarec.MCMemberMGID, broadcast, nil)
	member(set, join, broadcast, func(rec *sarec.MCMemberRecord) {
		rec.SetPortGID(mad.MakeGID(0xfec0<<48, gid.GUID()))
	})
	member(set, join, broadcast, func(rec *sarec.MCMemberRecord) {
		rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, 0x99))
	})
	bad := fresh(9)
	bad[0] = 0xfe
	member(set, create, bad, nil)
	bad = mad.GID{0xff, 0x52, 0x11, 0x11, 15: 1} // a reserved flag
	member(set, create, bad, nil)
	member(set, create, mad.GID{0xff, 0x12, 0xa0, 0x1b, 15: 1}, nil)
	ip := fresh(8) // of a partition without a broadcast group
	ip[4], ip[5] = 0x80, 0x05
	member(set, create, ip, nil)
	member(set, create, fresh(7), func(rec *sarec.MCMemberRecord) { rec.SetQKey(5) }) // unlike the broadcast group
	member(set, create|sarec.MCMemberMTUSelector|sarec.MCMemberMTU, fresh(7), func(rec *sarec.MCMemberRecord) {
		rec.SetMTU(sarec.GreaterThan, 5)
	})
	// faster than the port
	member(set, create|sarec.MCMemberRateSelector|sarec.MCMemberRate, fresh(6), func(rec *sarec.MCMemberRecord) {
		rec.SetRate(sarec.Exactly, 21)
	})
	// of a partition that the port is not in
	member(set, create, mad.GID{0xff, 0x12, 0x11, 0x11, 15: 1}, func(rec *sarec.MCMemberRecord) { rec.SetPKey(0x8005) })
	// created
	member(set, create, fresh(1), nil)
	// for another port
	member(set, join, fresh(1), func(rec *sarec.MCMemberRecord) { rec.SetPortGID(other) })
	p := request(mad.MethodGet, sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID|sarec.PathPKey)
	path := (*sarec.PathRecord)(p.SAData()[:64])
	path.SetSGID(gid)
	path.SetDGID(other)
	path.SetPKey(0x8005)
	all = append(all, question{packet: p})
	all = append(all, otherRefusals(gid, other, lid)...)
	member(mad.MethodDelete, join, fresh(5), nil) // no such group
	member(mad.MethodDelete, sarec.MCMemberMGID, fresh(1), nil)
	member(set, create, fresh(2), nil) // created
	member(mad.MethodDelete, join, fresh(2), func(rec *sarec.MCMemberRecord) { rec.SetJoinState(4) })
	member(mad.MethodDelete, join, fresh(2), func(rec *sarec.MCMemberRecord) {
		rec.SetPortGID(mad.MakeGID(0xfec0<<48, gid.GUID()))
	})
	member(mad.MethodDelete, join, fresh(2), nil) // deleted
	return all
}

// otherRefusals are those that have nothing to do with groups.
func otherRefusals(gid, other mad.GID, lid mad.LID) (all []question) {
	inform := func(edit func(info *sarec.InformInfo)) {
		p := request(mad.MethodSet, sarec.AttrInformInfo, 0)
		info := (*sarec.InformInfo)(p.SAData()[:36])
		info.SetLIDRangeBegin(0xffff)
		info.SetIsGeneric(1)
		info.SetSubscribe(1)
		info.SetType(3)
		info.SetTrapNumber(64)
		info.SetProducerType(4)
		info.SetQPN(1)
		edit(info)
		all = append(all, question{packet: p})
	}
	inform(func(info *sarec.InformInfo) { info.SetGID(mad.MakeGID(mad.DefaultPrefix, 0x99)) })
	inform(func(info *sarec.InformInfo) { info.SetLIDRangeBegin(0xbf00) })
	inform(func(info *sarec.InformInfo) { info.SetSubscribe(2) })
	inform(func(info *sarec.InformInfo) { info.SetTrapNumber(256) })
	inform(func(info *sarec.InformInfo) { info.SetSubscribe(0) }) // there is none
	service := request(mad.MethodSet, sarec.AttrServiceRecord, sarec.ServiceServiceID|sarec.ServiceServiceGID|
		sarec.ServiceServicePKey)
	rec := (*sarec.ServiceRecord)(service.SAData()[:176])
	rec.SetServiceID(9)
	rec.SetServiceGID(mad.MakeGID(mad.DefaultPrefix, 0x99))
	rec.SetServicePKey(0xffff)
	all = append(all, question{packet: service})
	guids := func(block uint8, guid mad.GUID) {
		p := request(mad.MethodSet, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|
			sarec.GUIDInfoGUID0<<1)
		rec := (*sarec.GUIDInfoRecord)(p.SAData()[:72])
		rec.SetLID(lid)
		rec.SetBlockNum(block)
		rec.GUIDInfo().SetGUID(1, guid)
		all = append(all, question{packet: p})
	}
	guids(200, 5)
	guids(0, other.GUID()) // another port's
	return all
}

var logged = regexp.MustCompile(`(?m)0x0[12] -> (.*(?:ERR (?:1[BF]|24|4[30]|51)|"New mcast|"Mcast).*)$`)

// TestRefusalsLogged: what is refused, and groups that come and go, are logged as OpenSM does. A
// request that names no port is not logged by OpenSM, nor a port that is not there.
func TestRefusalsLogged(t *testing.T) {
	t.Parallel()
	theirs, ours := equalSubnets(t, "fattree:k=4")
	gids := theirs.clientGIDs()
	var want, got []string
	for i := range refusals(gids[0], gids[1], 0) {
		for _, w := range []*testSubnet{theirs, ours} {
			from := i / 8 // no more of one sender than are logged in a minute
			q := refusals(gids[from], gids[from+1], w.lid(w.ends[from]))[i]
			q.from = from
			w.register(q)
		}
	}
	eventually(t, "the last line of OpenSM", func() bool {
		return strings.Contains(theirs.manager.text(), `"Mcast group deleted"`)
	})
	eventually(t, "the last line of ibsm", func() bool {
		return strings.Contains(ours.manager.text(), `"Mcast group deleted"`)
	})
	for _, m := range logged.FindAllStringSubmatch(theirs.manager.text(), -1) {
		want = append(want, m[1])
	}
	for _, m := range logged.FindAllStringSubmatch(ours.manager.text(), -1) {
		got = append(got, m[1])
	}
	if len(want) < 33 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nOpenSM:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
