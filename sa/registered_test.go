package sa

import (
	"bytes"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/topo"
)

var (
	otherMGID = mad.GID{0xff, 0x15, 0xa0, 0x1c, 15: 1}
	tenant    = mad.GID{0xff, 0x12, 0x40, 0x1b, 0x80, 0x05, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}
)

func gidOf(port mad.GUID) mad.GID { return mad.MakeGID(mad.DefaultPrefix, port) }

// newRegistry has three groups: the broadcast group with H2 as proxied full member and H3
// as sender, one with H1 alone, and one of a partition that only H4 may be in. H2 has two
// aliases. There are two services and three subscriptions.
func newRegistry(t testing.TB) *registry.State {
	t.Helper()
	r := registry.New()
	service := registry.Service{ServiceKey: registry.ServiceKey{ID: 7, GID: gidOf(h2)}, Lease: registry.InfiniteLease,
		Key: [16]byte{9}}
	copy(service.Name[:], "storage")
	hidden := service
	hidden.ID, hidden.PKey = 8, 0x8005
	for _, c := range []registry.Change{
		registry.PutGroup{
			Group: registry.Group{MGID: broadcast, MLID: 0xc000, PKey: 0xffff, QKey: 0xb1b, MTU: mad.MTU2048, Rate: 3,
				PacketLifeTime: 18, Scope: 2},
		},
		registry.PutGroup{Group: registry.Group{MGID: otherMGID, MLID: 0xc001, PKey: 0xffff, QKey: 1, MTU: mad.MTU1024,
			Rate: 3, SL: 3, FlowLabel: 0x12345, TClass: 4, HopLimit: 255, Scope: 5}},
		registry.PutGroup{Group: registry.Group{MGID: tenant, MLID: 0xc002, PKey: 0x8005, QKey: 0xb1b, MTU: mad.MTU2048,
			Rate: 3, Scope: 2}},
		registry.PutMember{Member: registry.Member{MGID: broadcast, Port: gidOf(h2), JoinState: registry.FullMember,
			Proxy: true}},
		registry.PutMember{
			Member: registry.Member{MGID: broadcast, Port: gidOf(h3), JoinState: registry.SendOnlyFullMember},
		},
		registry.PutMember{Member: registry.Member{MGID: otherMGID, Port: gidOf(h1), JoinState: registry.FullMember}},
		registry.PutService{Service: service}, registry.PutService{Service: hidden},
		registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: h2, Index: 1}, GUID: 0x0002c90300123456}},
		registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: h2, Index: 9}, GUID: 0x9999}},
		subscribe(h3, 64), subscribe(h3, 65), subscribe(h4, 64),
	} {
		if err := r.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	return r.Freeze()
}

// subscribe has a port subscribe to a trap, as the captured InformInfoRecord does to all.
func subscribe(port mad.GUID, trap uint16) registry.PutSubscription {
	return registry.PutSubscription{Subscription: registry.Subscription{
		SubscriptionKey: registry.SubscriptionKey{Subscriber: gidOf(port), QPN: 1, Filter: registry.Filter{
			LIDBegin: registry.AnyLID, Generic: true, Type: 3, Trap: trap, Producer: uint32(smp.ProducerClassManager),
		}},
		Destination: registry.Destination{Addr: mad.Addr{LID: 5, QPN: 1}},
	}}
}

// registered is the Responder of newView and newRegistry, in which H4 is in partition 5,
// too, and the others are not.
func registered(t testing.TB) *Responder {
	t.Helper()
	v := newView(t)
	in, out := topo.NewPKeyTable([]mad.PKey{0xffff, 0x8005}), topo.NewPKeyTable([]mad.PKey{0xffff})
	for _, p := range v.Topo.EndPorts {
		v.Topo.Ports[p].PKeys = out
		if v.Topo.Ports[p].GUID == h4 {
			v.Topo.Ports[p].PKeys = in
		}
		v.Topo.Ports[p].Info.SetGUIDCap(16)
	}
	return New(v, newRegistry(t))
}

// trust gives a request the SA's key.
func trust(d *mad.Datagram) *mad.Datagram {
	d.Packet.SetSMKey(saKey)
	return d
}

// from has another port send a request.
func from(d *mad.Datagram, lid mad.LID) *mad.Datagram {
	d.LID = lid
	return d
}

func TestMCMemberRecords(t *testing.T) {
	a := registered(t)
	type rec = sarec.MCMemberRecord
	const mgid, port = sarec.MCMemberMGID, sarec.MCMemberPortGID
	for _, c := range []struct {
		name            string
		comps           mad.ComponentMask
		want            func(r *rec)
		public, trusted int // how many records
	}{
		{"all", 0, nil, 2, 3},
		{"MGID", mgid, func(r *rec) { r.SetMGID(broadcast) }, 1, 2},
		{"MGID of nothing", mgid, func(r *rec) { r.SetMGID(mad.GID{0xff, 15: 9}) }, 0, 0},
		{"MGID of a partition that is not ours", mgid, func(r *rec) { r.SetMGID(tenant) }, 0, 0},
		{"MLID", sarec.MCMemberMLID, func(r *rec) { r.SetMLID(0xc001) }, 1, 1},
		{"MLID of nothing", sarec.MCMemberMLID, func(r *rec) { r.SetMLID(0xcfff) }, 0, 0},
		{"MGID and MLID of another", mgid | sarec.MCMemberMLID, func(r *rec) {
			r.SetMGID(broadcast)
			r.SetMLID(0xc001)
		}, 0, 0},
		{"member", port, func(r *rec) { r.SetPortGID(gidOf(h3)) }, 1, 1},
		{"member, with the prefix of ports that have none", port, func(r *rec) {
			r.SetPortGID(mad.MakeGID(mad.DefaultPrefix, h3))
		}, 1, 1},
		// OpenSM looks at the GUID only
		{"member, with the prefix of another subnet", port, func(r *rec) {
			r.SetPortGID(mad.MakeGID(0xfec0<<48|9, h3))
		}, 0, 0},
		{"no member", port, func(r *rec) { r.SetPortGID(gidOf(h4)) }, 0, 0},
		{"member's bits", sarec.MCMemberJoinState, func(r *rec) { r.SetJoinState(8) }, 2, 1},
		{"proxied", sarec.MCMemberProxyJoin, func(r *rec) { r.SetProxyJoin(true) }, 2, 1},
		{"Q_Key", sarec.MCMemberQKey, func(r *rec) { r.SetQKey(1) }, 1, 1},
		{"SL", sarec.MCMemberSL, func(r *rec) { r.SetSL(3) }, 1, 1},
		{"scope", sarec.MCMemberScope, func(r *rec) { r.SetScope(5) }, 1, 1},
		{"MTU above 1024", sarec.MCMemberMTUSelector | sarec.MCMemberMTU, func(r *rec) {
			r.SetMTU(sarec.GreaterThan, mad.MTU1024)
		}, 1, 2},
		{"MTU below 2048", sarec.MCMemberMTUSelector | sarec.MCMemberMTU, func(r *rec) {
			r.SetMTU(sarec.LessThan, mad.MTU2048)
		}, 1, 1},
		{"rate of 10 Gb/s", sarec.MCMemberRateSelector | sarec.MCMemberRate, func(r *rec) {
			r.SetRate(sarec.Exactly, 3)
		}, 2, 3},
		{"rate above 10 Gb/s", sarec.MCMemberRateSelector | sarec.MCMemberRate, func(r *rec) {
			r.SetRate(sarec.GreaterThan, 3)
		}, 0, 0},
		{"lifetime, which does not count", sarec.MCMemberPacketLifeTime, func(r *rec) {
			r.SetPacketLifeTime(0, 1)
		}, 2, 3},
	} {
		var want rec
		if c.want != nil {
			c.want(&want)
		}
		_, public := askTable(t, a, getTable(sarec.AttrMCMemberRecord, c.comps, want[:]))
		_, trusted := askTable(t, a, trust(getTable(sarec.AttrMCMemberRecord, c.comps, want[:])))
		if len(public) != c.public || len(trusted) != c.trusted {
			t.Errorf("%s: %d and for the trusted %d records, want %d and %d", c.name, len(public), len(trusted),
				c.public, c.trusted)
		}
		for _, b := range public {
			if r := (*rec)(b); r.PortGID() != (mad.GID{}) || r.JoinState() != 0 || r.ProxyJoin() {
				t.Errorf("%s: shows a member: %x", c.name, b)
			}
		}
	}
	if _, records := askTable(t, a, from(getTable(sarec.AttrMCMemberRecord, 0, nil), 6)); len(records) != 3 {
		t.Errorf("a port of both partitions sees %d groups", len(records))
	}
}

// A record is what OpenSM answered a member of the same group.
func TestMCMemberRecordContent(t *testing.T) {
	a := registered(t)
	var want sarec.MCMemberRecord
	want.SetMGID(broadcast)
	want.SetPortGID(gidOf(h2))
	in := trust(get(sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID, want[:]))
	want.SetQKey(0xb1b)
	want.SetMLID(0xc000)
	want.SetMTU(sarec.Exactly, mad.MTU2048)
	want.SetPKey(0xffff)
	want.SetRate(sarec.Exactly, 3)
	want.SetPacketLifeTime(sarec.Exactly, 18)
	want.SetScope(2)
	want.SetJoinState(1)
	want.SetProxyJoin(true)
	if got := sarec.MCMemberRecord(ask(t, a, in).SAData()[:56]); got != want {
		t.Errorf("got\n%x, want\n%x", got, want)
	}
}

func TestServiceRecords(t *testing.T) {
	a := registered(t)
	type rec = sarec.ServiceRecord
	var name [64]byte
	copy(name[:], "storage")
	for _, c := range []struct {
		name  string
		comps mad.ComponentMask
		want  func(r *rec)
		lid   mad.LID // of the requester
		n     int
	}{
		{"all", 0, nil, 5, 1},
		{"all, of a port of the partition", 0, nil, 6, 2},
		{"ID", sarec.ServiceServiceID, func(r *rec) { r.SetServiceID(7) }, 5, 1},
		{"ID of another partition", sarec.ServiceServiceID, func(r *rec) { r.SetServiceID(8) }, 5, 0},
		{"ID of nothing", sarec.ServiceServiceID, func(r *rec) { r.SetServiceID(9) }, 6, 0},
		{"name", sarec.ServiceServiceName, func(r *rec) { r.SetServiceName(name) }, 5, 1},
		{"part of a name", sarec.ServiceServiceName, func(r *rec) { r.SetServiceName([64]byte{'s'}) }, 5, 0},
		{"key", sarec.ServiceServiceKey, func(r *rec) { r.SetServiceKey([16]byte{9}) }, 5, 1},
		{"another key", sarec.ServiceServiceKey, func(r *rec) { r.SetServiceKey([16]byte{8}) }, 5, 0},
		{"port", sarec.ServiceServiceGID, func(r *rec) { r.SetServiceGID(gidOf(h3)) }, 5, 0},
	} {
		var want rec
		if c.want != nil {
			c.want(&want)
		}
		_, records := askTable(t, a, from(getTable(sarec.AttrServiceRecord, c.comps, want[:]), c.lid))
		if len(records) != c.n {
			t.Errorf("%s: %d records, want %d", c.name, len(records), c.n)
		}
		for _, r := range records {
			if (*rec)(r).ServiceKey() != [16]byte{} {
				t.Errorf("%s: shows the key", c.name)
			}
		}
	}
	p := ask(t, a, trust(get(sarec.AttrServiceRecord, 0, nil)))
	if r := (*rec)(p.SAData()[:176]); r.ServiceKey() != [16]byte{9} || r.ServiceName() != name ||
		r.ServiceLease() != registry.InfiniteLease {
		t.Errorf("for the trusted: %x", r)
	}
}

func TestInformInfoRecords(t *testing.T) {
	a := registered(t)
	v := *a.view
	lone := topo.NewPKeyTable([]mad.PKey{0x8005})
	tp := *v.Topo
	tp.Ports = append([]topo.Port(nil), tp.Ports...)
	tp.Ports[tp.FindPort(h4)].PKeys = lone
	v.Topo = &tp
	apart := New(&v, a.reg)
	type rec = sarec.InformInfoRecord
	for _, c := range []struct {
		name  string
		a     *Responder
		comps mad.ComponentMask
		want  func(r *rec)
		n     int
	}{
		{"all", a, 0, nil, 3},
		{"all that a partition shows", apart, 0, nil, 2},
		{"subscriber", a, sarec.InformSubscriberGID, func(r *rec) { r.SetSubscriberGID(gidOf(h3)) }, 2},
		{"subscriber of nothing", a, sarec.InformSubscriberGID, func(r *rec) { r.SetSubscriberGID(gidOf(h1)) }, 0},
		{"trap", a, sarec.InformTrapNumber, func(r *rec) { r.InformInfo().SetTrapNumber(64) }, 2},
		{"queue pair, which is hidden", a, sarec.InformQPN, func(r *rec) { r.InformInfo().SetQPN(1) }, 0},
		{"enumeration", a, sarec.InformEnum, func(r *rec) { r.SetEnum(1) }, 0},
	} {
		var want rec
		if c.want != nil {
			c.want(&want)
		}
		if _, records := askTable(t, c.a, getTable(sarec.AttrInformInfoRecord, c.comps, want[:])); len(records) != c.n {
			t.Errorf("%s: %d records, want %d", c.name, len(records), c.n)
		}
	}
	// OpenSM's record, but for the trap and what a subscription does not keep.
	want := rec(madtest.Bytes(t, "inform-info-record-get-table-resp")[56:120])
	want.InformInfo().SetTrapNumber(65)
	want.InformInfo().SetRespTimeValue(0)
	ask65 := func(d *mad.Datagram) rec {
		(*rec)(d.Packet.SAData()[:64]).InformInfo().SetTrapNumber(65)
		return rec(ask(t, a, d).SAData()[:64])
	}
	if got := ask65(trust(get(sarec.AttrInformInfoRecord, sarec.InformTrapNumber, nil))); got != want {
		t.Errorf("got\n%x, want\n%x", got, want)
	}
	want.InformInfo().SetQPN(0)
	if got := ask65(get(sarec.AttrInformInfoRecord, sarec.InformTrapNumber, nil)); got != want {
		t.Errorf("for all: got\n%x, want\n%x", got, want)
	}
}

func TestGUIDInfoRecords(t *testing.T) {
	a := registered(t)
	if _, records := askTable(t, a, getTable(sarec.AttrGUIDInfoRecord, 0, nil)); len(records) != 12 {
		t.Errorf("%d records of 6 ports with two blocks each", len(records))
	}
	want := sarec.GUIDInfoRecord(madtest.Bytes(t, "guid-info-record-set-resp")[56:128])
	block := sarec.GUIDInfoRecord{1: 4}
	_, records := askTable(t, a, getTable(sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID, block[:]))
	if len(records) != 2 || !bytes.Equal(records[0], want[:]) ||
		(*sarec.GUIDInfoRecord)(records[1]).GUIDInfo().GUID(1) != 0x9999 {
		t.Errorf("got %x, want\n%x and one with 0x9999", records, want)
	}
	block.SetBlockNum(2)
	if p := ask(t, a, get(sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum,
		block[:])); p.Status() != mad.StatusNoRecords {
		t.Errorf("a block beyond GUIDCap: %v", p.Status())
	}
	_, records = askTable(t, a, getTable(sarec.AttrGUIDInfoRecord, sarec.GUIDInfoGUID0<<1, want[:]))
	if len(records) != 1 {
		t.Errorf("%d records with the alias", len(records))
	}
}
