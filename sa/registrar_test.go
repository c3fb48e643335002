package sa

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/view"
)

// harness is a Registrar with what it has done.
type harness struct {
	testing.TB
	*Registrar
	view  *view.View
	at    time.Duration
	tid   mad.TID
	saved []registry.Change
	sent  []mad.Datagram // replies and Reports that were not looked at yet
	guids []GUIDBlock
	// crowds are the ports at their share of the MLIDs.
	crowds []mad.GUID
	// slow holds changes back until the test releases them.
	slow bool
}

// newHarness is a Registrar of the subnet of newView, in the partitions that OpenSM's
// answers were seen in: all are limited members of the default partition, H1 and H3
// full ones; H2 and H3 are full members of partition 1, H1 a limited one.
func newHarness(t testing.TB) *harness {
	v := newView(t)
	for guid, keys := range map[mad.GUID][]mad.PKey{
		h1: {0xffff, 0x0001}, h2: {0x7fff, 0x8001}, h3: {0xffff, 0x8001}, h4: {0x7fff}, sw1: {0x7fff}, sw2: {0x7fff},
	} {
		p := v.Topo.FindPort(guid)
		v.Topo.Ports[p].PKeys = topo.NewPKeyTable(keys)
		v.Topo.Ports[p].Info.SetGUIDCap(32)
		v.Topo.Ports[p].Info.SetLID(v.LIDs.Base[p])
	}
	for _, n := range v.Topo.Switches {
		v.Topo.Nodes[n].SwitchInfo.SetMulticastFDBCap(1024)
	}
	d := &harness{TB: t, view: v}
	partition := DefaultGroups()[0]
	partition.MGID, partition.PKey = registry.BroadcastMGID(1, 2), 0x8001
	d.Registrar = NewRegistrar(RegistrarConfig{Groups: append(DefaultGroups(), partition), Began: 1_000_000},
		registry.New(), new(Stats))
	d.step(ViewPublished{v})
	return d
}

// sitePrefix is one that an operator may choose.
const sitePrefix mad.Prefix = 0xfec0000000000001

// newSiteHarness is newHarness where the subnet has a prefix of its own.
func newSiteHarness(t testing.TB) *harness {
	d := newHarness(t)
	v := *d.view
	v.Subnet.Prefix = sitePrefix
	d.view = &v
	d.Registrar = NewRegistrar(RegistrarConfig{Groups: d.cfg.Groups, Began: 1_000_000}, registry.New(), new(Stats))
	d.step(ViewPublished{&v})
	return d
}

// step takes an event, and writes its changes, at once unless slow.
func (d *harness) step(ev Event) {
	d.Helper()
	e := d.Step(d.at, ev)
	if (e.State != nil) != (len(e.Changes) > 0) || e.State != nil && e.State.Seq() != d.reg.Seq() {
		d.Fatalf("%d changes with state %v", len(e.Changes), e.State)
	}
	d.saved = append(d.saved, e.Changes...)
	d.sent = append(d.sent, e.Send...)
	d.guids = append(d.guids, e.GUIDs...)
	if e.Crowded != 0 {
		d.crowds = append(d.crowds, e.Crowded)
	}
	if d.slow {
		return
	}
	if e.State != nil {
		seq := e.State.Seq()
		d.step(Durable{seq})
		d.step(Forwarded{seq})
	}
	for len(d.guids) > 0 {
		g := d.guids[0]
		d.guids = d.guids[1:]
		d.step(GUIDsWritten{GUIDBlock: g, Outcome: HoldsBlock})
	}
}

// wait lets time pass, with all that is due in it.
func (d *harness) wait(t time.Duration) {
	d.Helper()
	end := d.at + t
	for {
		at, ok := d.Deadline()
		if !ok || at > end {
			break
		}
		d.at = max(d.at, at)
		d.step(TimePassed{})
	}
	d.at = end
	d.step(TimePassed{})
}

// request is one from a port.
func (d *harness) request(from mad.GUID, m mad.Method, a mad.AttrID, comps mad.ComponentMask, rec []byte) mad.Datagram {
	in := mad.Datagram{Addr: mad.Addr{LID: lidsOfOpenSM[from], QPN: 1}}
	in.Packet.SetHeader(mad.ClassSA, m, a, 0)
	d.tid++
	in.Packet.SetTID(d.tid)
	in.Packet.SetComponentMask(comps)
	copy(in.Packet.SAData()[:], rec)
	return in
}

// ask is the reply to a request, which there must be, without the Reports that it causes.
func (d *harness) ask(in mad.Datagram) *mad.Packet {
	d.Helper()
	d.step(Received{Datagrams: []mad.Datagram{in}})
	i := slices.IndexFunc(d.sent, func(out mad.Datagram) bool {
		return out.Packet.TID() == in.Packet.TID() && out.Packet.IsResponse()
	})
	if i < 0 {
		d.Fatalf("no reply to %v of %s", in.Packet.Method(), sarec.AttrName(in.Packet.AttrID()))
	}
	out := d.sent[i]
	d.sent = slices.Delete(d.sent, i, i+1)
	if out.Addr != in.Addr {
		d.Errorf("reply to %+v, request from %+v", out.Addr, in.Addr)
	}
	return &out.Packet
}

// Components of joins as clients give them.
const (
	minimalJoin = memberComps | sarec.MCMemberPKey // of IPoIB for the broadcast group
	fullJoin    = memberComps | createComps | sarec.MCMemberMTUSelector | sarec.MCMemberMTU |
		sarec.MCMemberRateSelector | sarec.MCMemberRate // of IPoIB for others
)

// joining is what a test's client asks for; what it does not change is as the broadcast
// group has it.
type joining struct {
	from  mad.GUID
	comps mad.ComponentMask
	rec   sarec.MCMemberRecord
}

func newJoining(from mad.GUID, mgid mad.GID, state uint8) *joining {
	j := &joining{from: from, comps: fullJoin}
	j.rec.SetMGID(mgid)
	j.rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, from))
	j.rec.SetQKey(0x0b1b)
	j.rec.SetPKey(0xffff)
	j.rec.SetMTU(sarec.Exactly, mad.MTU2048)
	j.rec.SetRate(sarec.Exactly, 3)
	j.rec.SetJoinState(state)
	return j
}

// member asks for it and returns the reply.
func (d *harness) member(m mad.Method, j *joining) (sarec.MCMemberRecord, mad.Status) {
	d.Helper()
	p := d.ask(d.request(j.from, m, sarec.AttrMCMemberRecord, j.comps, j.rec[:]))
	return sarec.MCMemberRecord(p.SAData()[:56]), p.Status()
}

// joined makes a port a full member of a group of its own choice.
func (d *harness) joined(from mad.GUID, mgid mad.GID) sarec.MCMemberRecord {
	d.Helper()
	rec, st := d.member(mad.MethodSet, newJoining(from, mgid, 1))
	if st != mad.StatusOK {
		d.Fatalf("join of %v: %v", mgid, st)
	}
	return rec
}

func gid(text string) (g mad.GID) {
	n := 0
	for i := 0; i < len(text); i++ {
		if text[i] == ':' {
			continue
		}
		v := byte(0)
		switch c := text[i]; {
		case c >= 'a':
			v = c - 'a' + 10
		default:
			v = c - '0'
		}
		g[n/2] |= v << (4 * (1 - n%2))
		n++
	}
	return g
}

var (
	broadcast = gid("ff12:401b:ffff:0000:0000:0000:ffff:ffff")
	ipv4Group = gid("ff12:401b:ffff:0000:0000:0000:e000:0001")
	ownGroup  = gid("ff15:a01b:0000:0000:0000:0000:0000:dead")
)

// The lifetime of a new group is the subnet's, 18, where that is as asked for, else the
// closest that is, as OpenSM chooses it (osm_sa_mcmember_record.c).
func TestLifeTimeOfNewGroup(t *testing.T) {
	for _, c := range []struct {
		selector sarec.Selector
		value    uint8
		want     int // -1 where no lifetime is as asked for
	}{
		{sarec.GreaterThan, 17, 18}, {sarec.GreaterThan, 18, 19}, {sarec.GreaterThan, 62, 63},
		{sarec.GreaterThan, 63, -1},
		{sarec.LessThan, 19, 18}, {sarec.LessThan, 18, 17}, {sarec.LessThan, 1, 0}, {sarec.LessThan, 0, -1},
		{sarec.Exactly, 18, 18}, {sarec.Exactly, 5, 5}, {sarec.Exactly, 40, 40}, {sarec.Best, 5, 18},
	} {
		d := newHarness(t)
		j := newJoining(h3, ownGroup, 1)
		j.comps |= sarec.MCMemberPacketLifeTimeSelector | sarec.MCMemberPacketLifeTime
		j.rec.SetPacketLifeTime(c.selector, c.value)
		rec, st := d.member(mad.MethodSet, j)
		if c.want < 0 {
			if st != mad.StatusReqInvalid {
				t.Errorf("selector %d, %d: %v", c.selector, c.value, st)
			}
			continue
		}
		if selector, life := rec.PacketLifeTime(); st != mad.StatusOK || selector != sarec.Exactly ||
			int(life) != c.want {
			t.Errorf("selector %d, %d: %v, lifetime %d, want %d", c.selector, c.value, st, life, c.want)
		}
	}
}

// What OpenSM was seen to answer, in its order. Each case is from H3 unless it says so,
// and stands on those before it.
func TestMembersAsOpenSM(t *testing.T) {
	d := newHarness(t)
	type change func(j *joining)
	join := func(mgid mad.GID, state uint8, changes ...change) *joining {
		j := newJoining(h3, mgid, state)
		for _, c := range changes {
			c(j)
		}
		return j
	}
	only := func(comps mad.ComponentMask) change { return func(j *joining) { j.comps = comps } }
	from := func(port mad.GUID) change { return func(j *joining) { j.from = port } }
	port := func(port mad.GUID) change {
		return func(j *joining) { j.rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, port)) }
	}
	key := func(k mad.PKey) change { return func(j *joining) { j.rec.SetPKey(k) } }
	qkey := func(k uint32) change { return func(j *joining) { j.rec.SetQKey(k) } }
	mtu := func(s sarec.Selector, v mad.MTU) change { return func(j *joining) { j.rec.SetMTU(s, v) } }
	rate := func(s sarec.Selector, v mad.Rate) change { return func(j *joining) { j.rec.SetRate(s, v) } }
	scope := func(s uint8) change {
		return func(j *joining) { j.comps |= sarec.MCMemberScope; j.rec.SetScope(s) }
	}
	minimal := only(minimalJoin)
	ok, invalid, insufficient := mad.StatusOK, mad.StatusReqInvalid, mad.StatusReqInsufficient
	for i, c := range []struct {
		name   string
		method mad.Method
		join   *joining
		status mad.Status
		state  uint8 // ScopeState of the reply, with StatusOK
		check  func(*sarec.MCMemberRecord) bool
	}{
		{"broadcast group", mad.MethodSet, join(broadcast, 1, minimal), ok, 0x21, func(r *sarec.MCMemberRecord) bool {
			return r.QKey() == 0xb1b && r.MLID() == 0xc000 && r[38] == 0x84 && r[42] == 0x83 && r[43] == 0x92
		}},
		{"again as NonMember", mad.MethodSet, join(broadcast, 2, minimal), ok, 0x23, nil},
		{"leave as NonMember", mad.MethodDelete, join(broadcast, 2, minimal, qkey(0), mtu(0, 0), rate(0, 0)), ok, 0x21,
			func(r *sarec.MCMemberRecord) bool {
				return r.QKey() == 0 && r.MLID() == 0 && r[38] == 0x80 && r[42] == 0x80 && r[43] == 0x80
			}},
		{"leave what is not held", mad.MethodDelete, join(broadcast, 4, minimal), invalid, 0, nil},
		{"leave what is partly held", mad.MethodDelete, join(broadcast, 5, minimal), invalid, 0, nil},
		{"absent group, minimal", mad.MethodSet, join(ipv4Group, 1, minimal), insufficient, 0, nil},
		{"create", mad.MethodSet, join(ipv4Group, 1), ok, 0x21, func(r *sarec.MCMemberRecord) bool {
			return r.MLID() == 0xc002
		}},
		{"create with another Q_Key", mad.MethodSet, join(gid("ff12401bffff000000000000e0000002"), 1, qkey(1)), invalid,
			0, nil},
		{"create without broadcast group", mad.MethodSet, join(gid("ff12401b8005000000000000e0000002"), 1), invalid, 0,
			nil},
		{"create send-only full", mad.MethodSet, join(gid("ff12401bffff000000000000e0000003"), 8), ok, 0x28, nil},
		{"create send-only", mad.MethodSet, join(gid("ff12401bffff000000000000e0000004"), 4), invalid, 0, nil},
		{"no JoinState", mad.MethodSet, join(broadcast, 1, only(minimalJoin&^sarec.MCMemberJoinState)), insufficient, 0,
			nil},
		{"JoinState 0", mad.MethodSet, join(broadcast, 0), invalid, 0, nil},
		{"site-local PortGID", mad.MethodSet, join(broadcast, 1, func(j *joining) {
			j.rec.SetPortGID(mad.MakeGID(0xfec0<<48, h3))
		}), mad.StatusReqInvalidGID, 0, nil},
		{"unknown PortGID", mad.MethodSet, join(broadcast, 1, port(0x999)), invalid, 0, nil},
		{"rate 50 of 10 Gb/s", mad.MethodSet, join(broadcast, 1, rate(sarec.Exactly, 20)), invalid, 0, nil},
		{"another rate", mad.MethodSet, join(broadcast, 1, rate(sarec.Exactly, 2)), invalid, 0, nil},
		{"another MTU", mad.MethodSet, join(broadcast, 1, mtu(sarec.Exactly, mad.MTU4096)), invalid, 0, nil},
		{"another Q_Key", mad.MethodSet, join(broadcast, 1, qkey(1)), invalid, 0, nil},
		{"another SL", mad.MethodSet, join(broadcast, 1, func(j *joining) { j.rec.SetSL(1) }), invalid, 0, nil},
		{"another P_Key", mad.MethodSet, join(broadcast, 1, key(0x8001)), invalid, 0, nil},
		{"limited P_Key", mad.MethodSet, join(broadcast, 1, key(0x7fff)), ok, 0x21, nil},
		{"another lifetime", mad.MethodSet, join(broadcast, 1, func(j *joining) {
			j.comps |= sarec.MCMemberPacketLifeTimeSelector | sarec.MCMemberPacketLifeTime
			j.rec.SetPacketLifeTime(sarec.Exactly, 17)
		}), ok, 0x21, func(r *sarec.MCMemberRecord) bool { return r[43] == 0x92 }},
		{"MGID of the SA", mad.MethodSet, join(mad.GID{}, 1), ok, 0x21, func(r *sarec.MCMemberRecord) bool {
			return r.MGID() == gid("ff12a01bfe8000000000000000000001")
		}},
		{"MGID of the SA in scope 5", mad.MethodSet, join(mad.GID{}, 1, scope(5)), ok, 0x51,
			func(r *sarec.MCMemberRecord) bool {
				return r.MGID() == gid("ff15a01bfe8000000000000000000002")
			}},
		{"MGID of the SA, no SL", mad.MethodSet, join(mad.GID{}, 1, only(fullJoin&^sarec.MCMemberSL)), insufficient, 0,
			nil},
		{"rate above the port's", mad.MethodSet, join(mad.GID{}, 1, rate(sarec.GreaterThan, 3)), invalid, 0, nil},
		{"rate below the port's", mad.MethodSet, join(mad.GID{}, 1, rate(sarec.LessThan, 3)), ok, 0x21,
			func(r *sarec.MCMemberRecord) bool {
				return r[42] == 0x85
			}},
		{"rate 40", mad.MethodSet, join(mad.GID{}, 1, rate(sarec.Exactly, 7)), invalid, 0, nil},
		{"MTU above 1024", mad.MethodSet, join(mad.GID{}, 1, mtu(sarec.GreaterThan, mad.MTU1024)), ok, 0x21,
			func(r *sarec.MCMemberRecord) bool {
				return r[38] == 0x84
			}},
		{"MTU above 2048", mad.MethodSet, join(mad.GID{}, 1, mtu(sarec.GreaterThan, mad.MTU2048)), invalid, 0, nil},
		{"MTU below 256", mad.MethodSet, join(mad.GID{}, 1, mtu(sarec.LessThan, mad.MTU256)), invalid, 0, nil},
		{"link-local MGID of the SA's kind", mad.MethodSet, join(gid("ff12a01b00000000000000000000dead"), 1), invalid,
			0, nil},
		{"wider MGID of the SA's kind", mad.MethodSet, join(ownGroup, 1), ok, 0x51, nil},
		{"no multicast GID", mad.MethodSet, join(gid("fe12401bffff000000000000e0000009"), 1), invalid, 0, nil},
		{"unknown flags", mad.MethodSet, join(gid("ff220000000000000000000000000001"), 1), invalid, 0, nil},
		{"well-known IPv6", mad.MethodSet, join(gid("ff020000000000000000000000000001"), 1), ok, 0x21, nil},
		{"P_Key held", mad.MethodSet, join(gid("ff150000000000000000000000000001"), 1, key(0x8001)), ok, 0x51, nil},
		{"P_Key not held", mad.MethodSet, join(gid("ff150000000000000000000000000002"), 1, key(0x8009)), invalid, 0,
			nil},
		{"P_Key 0", mad.MethodSet, join(gid("ff150000000000000000000000000002"), 1, key(0)), invalid, 0, nil},
		{"H1 by proxy", mad.MethodSet, join(broadcast, 1, port(h1)), ok, 0x21, func(r *sarec.MCMemberRecord) bool {
			return r[49] == 0
		}},
		{"H4 by proxy", mad.MethodSet, join(broadcast, 1, port(h4)), ok, 0x21, nil},
		{"both ways to keep alive", mad.MethodSet, join(gid("ff150000000000000000000000000003"), 9), ok, 0x59, nil},
		{"one of them left", mad.MethodDelete, join(gid("ff150000000000000000000000000003"), 1), ok, 0x58, nil},
		{"the other left", mad.MethodDelete, join(gid("ff150000000000000000000000000003"), 8), ok, 0x50, nil},
		{"then it has gone", mad.MethodSet, join(gid("ff150000000000000000000000000003"), 1, minimal), insufficient, 0,
			nil},
		{"leave", mad.MethodDelete, join(broadcast, 1), ok, 0x20, nil},
		{"leave again", mad.MethodDelete, join(broadcast, 1), invalid, 0, nil},
		{"leave what there is not", mad.MethodDelete, join(gid("ff150000000000000000000000000004"), 1), invalid, 0,
			nil},
		{"leave without JoinState", mad.MethodDelete, join(broadcast, 1, only(minimalJoin&^sarec.MCMemberJoinState)),
			insufficient, 0, nil},
		{"another's membership", mad.MethodDelete, join(ipv4Group, 1, from(h1), port(h3)), invalid, 0, nil},
		{"another's by proxy", mad.MethodDelete, join(broadcast, 1, from(h1), port(h4)), ok, 0x20, nil},
		{"create before the broadcast group of scope 5", mad.MethodSet,
			join(gid("ff15401bffff000000000000e0000001"), 1), invalid, 0, nil},
		{"create the broadcast group of scope 5", mad.MethodSet, join(gid("ff15401bffff000000000000ffffffff"), 1), ok,
			0x51, nil},
		{"create after the broadcast group of scope 5", mad.MethodSet, join(gid("ff15401bffff000000000000e0000001"), 1),
			ok, 0x51, nil},
	} {
		rec, st := d.member(c.method, c.join)
		switch {
		case st != c.status:
			t.Errorf("%d %s: %v, want %v", i, c.name, st, c.status)
		case st == mad.StatusOK && rec[48] != c.state:
			t.Errorf("%d %s: ScopeState 0x%02x, want 0x%02x", i, c.name, rec[48], c.state)
		case st == mad.StatusOK && c.check != nil && !c.check(&rec):
			t.Errorf("%d %s: %x", i, c.name, rec)
		}
	}
}

// A port whose P_Key table could not be read counts as a member of all partitions.
func TestUnreadPKeys(t *testing.T) {
	d := newHarness(t)
	j := newJoining(h4, gid("ff150000000000000000000000000001"), 1)
	j.rec.SetPKey(0x8001)
	if _, st := d.member(mad.MethodSet, j); st != mad.StatusReqInvalid {
		t.Errorf("a port that is not in the partition: %v", st)
	}
	d.view.Topo.Ports[d.view.Topo.FindPort(h4)].PKeys = nil
	if _, st := d.member(mad.MethodSet, j); st != mad.StatusOK {
		t.Errorf("a port whose table is not known: %v", st)
	}
}

// What a client has written behind its record does not come back to it.
func TestNothingBehindRecord(t *testing.T) {
	d := newHarness(t)
	j := newJoining(h3, broadcast, 1)
	in := d.request(j.from, mad.MethodSet, sarec.AttrMCMemberRecord, j.comps, j.rec[:])
	for i := range in.Packet.SAData()[len(j.rec):] {
		in.Packet.SAData()[len(j.rec)+i] = 0xee
	}
	out := d.ask(in)
	if behind := out.SAData()[len(j.rec):]; out.Status() != mad.StatusOK || slices.Max(behind) != 0 {
		t.Errorf("%v, behind the record %x", out.Status(), behind)
	}
}
