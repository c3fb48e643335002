package path

import (
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/view"
)

const (
	bySGID = sarec.PathSGID | sarec.PathDGID
	alias  = mad.GUID(0x0002c90300123456)
)

var ipv4Broadcast = mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}

// withKeys gives ports their partition tables.
func (s *subnet) withKeys(keys map[mad.GUID][]mad.PKey) {
	for g, k := range keys {
		s.Topo.Ports[s.port(g)].PKeys = topo.NewPKeyTable(k)
	}
}

// tenants are the partitions that OpenSM was seen with: all limited members of the
// default partition but SW1's host H1 and H3, and partition 1 with H3 and H2 full and H1
// limited.
func (s *subnet) tenants() {
	s.withKeys(map[mad.GUID][]mad.PKey{
		h1: {0xffff, 0x0001}, h2: {0x7fff, 0x8001}, h3: {0xffff, 0x8001}, h4: {0x7fff}, sw1: {0x7fff}, sw2: {0x7fff},
	})
}

// As OpenSM answered with these partitions.
func TestPKeysAsOpenSM(t *testing.T) {
	s := newSubnet(t, 0)
	s.tenants()
	f := New(&s.View)
	for _, c := range []struct {
		name           string
		from, src, dst mad.GUID
		comps          mad.ComponentMask
		want           mad.PKey
		status         mad.Status
		pkey           mad.PKey
	}{
		{"lowest partition of both", h3, h3, h1, 0, 0, mad.StatusOK, 0x8001},
		{"full asked for", h3, h3, h1, sarec.PathPKey, 0xffff, mad.StatusOK, 0xffff},
		{"as asked for", h3, h3, h1, sarec.PathPKey, 0x7fff, mad.StatusOK, 0x7fff},
		{"limited asked for", h3, h3, h2, sarec.PathPKey, 0x0001, mad.StatusOK, 0x0001},
		{"source's entry", h3, h3, h4, 0, 0, mad.StatusOK, 0xffff},
		{"source is limited", h4, h4, h3, 0, 0, mad.StatusOK, 0x7fff},
		{"both limited", h2, h2, h4, 0, 0, mad.StatusNoRecords, 0},
		{"both limited, asked for", h3, h2, h4, sarec.PathPKey, 0x7fff, mad.StatusNoRecords, 0},
		{"asked for as full, one limited", h1, h1, h2, sarec.PathPKey, 0x8001, mad.StatusOK, 0x8001},
		{"partition of one of both", h3, h3, h4, sarec.PathPKey, 0x8001, mad.StatusNoRecords, 0},
		{"of others, to see both", h3, h1, h2, 0, 0, mad.StatusOK, 0x0001},
		{"of others, one unseen", h4, h3, h2, 0, 0, mad.StatusNoRecords, 0},
		{"loopback of a limited member", h4, h4, h4, 0, 0, mad.StatusOK, 0x7fff},
		{"raw", h3, h3, h1, sarec.PathRawTraffic, 0, mad.StatusOK, 0},
		{"raw between limited members", h2, h2, h4, sarec.PathRawTraffic, 0, mad.StatusNoRecords, 0},
	} {
		var want, out sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, c.src))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, c.dst))
		want.SetPKey(c.want)
		want.SetRawTraffic(true)
		if st := f.Find(s.port(c.from), &want, bySGID|c.comps, &out); st != c.status || out.PKey() != c.pkey {
			t.Errorf("%s: %v, P_Key %v; want %v, %v", c.name, st, out.PKey(), c.status, c.pkey)
		}
	}
}

// A member of both kinds talks as the one that is asked for.
func TestPKeysOfBothKinds(t *testing.T) {
	s := newSubnet(t, 0)
	s.withKeys(map[mad.GUID][]mad.PKey{h1: {0x7fff, 0xffff}, h2: {0xffff, 0x7fff}, h3: {0x7fff}, h4: {0xffff}})
	f := New(&s.View)
	for _, c := range []struct {
		src, dst mad.GUID
		pkey     mad.PKey
		status   mad.Status
	}{
		{h1, h3, 0xffff, mad.StatusOK},
		{h1, h3, 0x7fff, mad.StatusNoRecords},
		{h1, h4, 0x7fff, mad.StatusOK},
		{h1, h2, 0x7fff, mad.StatusOK},
		{h3, h1, 0x7fff, mad.StatusOK},
		{h4, h1, 0xffff, mad.StatusOK},
		{h1, h1, 0x7fff, mad.StatusOK},
	} {
		var want, out sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, c.src))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, c.dst))
		want.SetPKey(c.pkey)
		if st := f.Find(s.port(h1), &want, bySGID|sarec.PathPKey, &out); st != c.status {
			t.Errorf("%v to %v by %v: %v, want %v", c.src, c.dst, c.pkey, st, c.status)
		}
	}
}

// register makes a Finder that knows of an alias of H2, and of the broadcast group with
// H1 in it.
func (s *subnet) register(scope byte) *Finder {
	s.Helper()
	mgid := ipv4Broadcast
	mgid[1] = scope
	r := registry.New()
	for _, c := range []registry.Change{
		registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: h2, Index: 1}, GUID: alias}},
		registry.PutGroup{Group: registry.Group{MGID: mgid, MLID: 0xc000, PKey: 0xffff, MTU: mad.MTU2048, Rate: 3,
			PacketLifeTime: 18, SL: 2, TClass: 7, FlowLabel: 5, HopLimit: 9}},
		registry.PutMember{
			Member: registry.Member{MGID: mgid, Port: mad.MakeGID(s.Subnet.Prefix, h1), JoinState: registry.FullMember},
		},
	} {
		if err := r.Apply(c); err != nil {
			s.Fatal(err)
		}
	}
	return New(&s.View).WithRegistry(r.Freeze())
}

// An alias is a port's as its own GUID is, and has paths of its own in tables.
func TestAlias(t *testing.T) {
	s := newSubnet(t, 0)
	f := s.register(0x12)
	var want, out sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, alias))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, alias))
	if st := f.Find(asker, &want, bySGID, &out); st != mad.StatusOK || out.SGID() != want.SGID() ||
		out.DGID() != want.DGID() || out.SLID() != s.lid(h2) || out.DLID() != s.lid(h2) {
		t.Errorf("from the alias to itself: %v, %x", st, out)
	}
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h3))
	if st := f.Find(asker, &want, bySGID, &out); st != mad.StatusOK || out.SGID() != want.SGID() ||
		out.DLID() != s.lid(h3) {
		t.Errorf("from the alias: %v, %x", st, out)
	}
	for _, c := range []struct {
		name  string
		comps mad.ComponentMask
		n     int
	}{
		{"all to all of seven GUIDs", 0, 7 * 7},
		{"from one GUID", sarec.PathSGID, 7},
		{"from the LID of the port", sarec.PathSLID, 2 * 7},
		{"from one GUID to one GUID", bySGID, 1},
	} {
		want.SetSLID(s.lid(h2))
		table, st := f.Table(t.Context(), asker, &want, c.comps, 1<<20)
		if st != mad.StatusOK || len(table) != c.n*recordSize {
			t.Errorf("%s: %v, %d paths, want %d", c.name, st, len(table)/recordSize, c.n)
		}
	}
	if table, st := f.Table(t.Context(), asker, &want, 0, 7*7*recordSize-1); st != mad.StatusNoResources ||
		table != nil {
		t.Errorf("a table that is too long: %v, %d bytes", st, len(table))
	}
}

func TestPathToGroup(t *testing.T) {
	s := newSubnet(t, 0)
	f := s.register(0x12)
	group := func(r *sarec.PathRecord) { r.SetDGID(ipv4Broadcast) }
	for _, c := range []struct {
		name  string
		comps mad.ComponentMask
		set   func(r *sarec.PathRecord)
		want  mad.Status
	}{
		{"MGID", 0, group, mad.StatusOK},
		{"MLID", sarec.PathDLID, func(r *sarec.PathRecord) { group(r); r.SetDLID(0xc000) }, mad.StatusOK},
		{"MLID of another", sarec.PathDLID, func(r *sarec.PathRecord) {
			group(r)
			r.SetDLID(0xc001)
		}, mad.StatusNoRecords},
		{"MGID of nothing", 0, func(r *sarec.PathRecord) { r.SetDGID(mad.GID{0xff, 1}) }, mad.StatusNoRecords},
		{"from a member", sarec.PathSGID, func(r *sarec.PathRecord) {
			group(r)
			r.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
		}, mad.StatusOK},
		{"from another", sarec.PathSGID, func(r *sarec.PathRecord) {
			group(r)
			r.SetSGID(mad.MakeGID(mad.DefaultPrefix, h3))
		}, mad.StatusNoRecords},
		{"from a member of another subnet", sarec.PathSGID, func(r *sarec.PathRecord) {
			group(r)
			r.SetSGID(mad.MakeGID(0xfec0<<48, h1))
		}, mad.StatusNoRecords},
		{"from a member's LID", sarec.PathSLID, func(r *sarec.PathRecord) {
			group(r)
			r.SetSLID(s.lid(h1))
		}, mad.StatusOK},
		{"from another's LID", sarec.PathSLID, func(r *sarec.PathRecord) {
			group(r)
			r.SetSLID(s.lid(h3))
		}, mad.StatusNoRecords},
		{"from nobody's LID", sarec.PathSLID, func(r *sarec.PathRecord) {
			group(r)
			r.SetSLID(99)
		}, mad.StatusNoRecords},
		{"P_Key", sarec.PathPKey, func(r *sarec.PathRecord) { group(r); r.SetPKey(0xffff) }, mad.StatusOK},
		{"another P_Key", sarec.PathPKey, func(r *sarec.PathRecord) {
			group(r)
			r.SetPKey(0x8001)
		}, mad.StatusNoRecords},
		{"another SL", sarec.PathSL, func(r *sarec.PathRecord) { group(r); r.SetSL(3) }, mad.StatusNoRecords},
		{"another FlowLabel", sarec.PathFlowLabel, group, mad.StatusNoRecords},
		{"another HopLimit", sarec.PathHopLimit, group, mad.StatusNoRecords},
		{"another TClass", sarec.PathTClass, group, mad.StatusNoRecords},
		{"MTU, which does not count", sarec.PathMTU | sarec.PathMTUSelector, func(r *sarec.PathRecord) {
			group(r)
			r.SetMTU(sarec.Exactly, mad.MTU4096)
		}, mad.StatusOK},
	} {
		var want, out sarec.PathRecord
		c.set(&want)
		if st := f.Find(asker, &want, c.comps|sarec.PathDGID, &out); st != c.want {
			t.Errorf("%s: %v, want %v", c.name, st, c.want)
		}
		if table, _ := f.Table(t.Context(), asker, &want, c.comps|sarec.PathDGID,
			1<<10); (len(table) == recordSize) != (c.want == mad.StatusOK) {
			t.Errorf("%s: a table of %d bytes", c.name, len(table))
		}
	}
	var want, out sarec.PathRecord
	want.SetDLID(0xc000)
	if st := f.Find(asker, &want, sarec.PathDLID, &out); st != mad.StatusOK || out.DGID() != ipv4Broadcast {
		t.Errorf("by MLID alone: %v, %s", st, out.DGID())
	}
	if table, st := f.Table(t.Context(), asker, &want, sarec.PathDLID, 1<<10); st != mad.StatusOK ||
		len(table) != recordSize {
		t.Errorf("by MLID alone: %v, %d bytes", st, len(table))
	}
	if table, st := f.Table(t.Context(), asker, &want, sarec.PathDLID|sarec.PathNumbPath, 1<<10); st != mad.StatusOK ||
		len(table) != 0 {
		t.Errorf("NumbPath 0: %v, %d bytes", st, len(table))
	}
	s.withKeys(map[mad.GUID][]mad.PKey{h1: {0x8001}})
	if st := s.register(0x12).Find(asker, &want, sarec.PathDLID, &out); st != mad.StatusNoRecords {
		t.Errorf("from outside the partition: %v", st)
	}
}

// What OpenSM answered of the path to a group, and what the scope changes.
func TestPathToGroupContent(t *testing.T) {
	for scope, hopLimit := range map[byte]uint8{0x12: 9, 0x15: beyondHopLimit} {
		s := newSubnet(t, 0)
		var want, out, ask sarec.PathRecord
		want.SetDGID(ipv4Broadcast)
		want[9] = scope
		ask = want
		want.SetDLID(0xc000)
		want.SetPKey(0xffff)
		want.SetNumbPath(1)
		want.SetMTU(sarec.Exactly, mad.MTU2048)
		want.SetRate(sarec.Exactly, 3)
		want.SetPacketLifeTime(sarec.Exactly, 18)
		want.SetSL(2)
		want.SetTClass(7)
		want.SetFlowLabel(5)
		want.SetHopLimit(hopLimit)
		if st := s.register(scope).Find(asker, &ask, sarec.PathDGID, &out); st != mad.StatusOK || out != want {
			t.Errorf("%v\n%x, want\n%x", st, out, want)
		}
	}
}

// atSwitches puts a router at each switch of fabric, with routers behind it.
var atSwitches = strings.NewReplacer("[2] \"H2\"[1]\n", "[2] \"H2\"[1]\n[3] \"R1\"[1]\n", "[2] \"H4\"[1]\n",
	"[2] \"H4\"[1]\n[3] \"R2\"[1]\n")

const routers = `
rtguid=0x300000
Rt 1 "R1"
[1] "SW1"[3]

rtguid=0x300010
Rt 1 "R2"
[1] "SW2"[3]
`

func TestOffSubnet(t *testing.T) {
	n, err := net.Parse("routed", []byte(atSwitches.Replace(readFabric(t))+routers))
	if err != nil {
		t.Fatal(err)
	}
	const r1, r2, far, farther = mad.GUID(0x300001), mad.GUID(0x300011), mad.Prefix(0x2001), mad.Prefix(0x2002)
	for _, c := range []struct {
		name   string
		routes []view.PrefixRoute
		prefix mad.Prefix
		via    mad.GUID // 0 for none
	}{
		{"no routes", nil, far, 0},
		{"of the prefix", []view.PrefixRoute{{Prefix: far, Router: r2}}, far, r2},
		{"of another prefix", []view.PrefixRoute{{Prefix: far, Router: r2}}, farther, 0},
		{"of all", []view.PrefixRoute{{Prefix: far, Router: r2}, {AnyPrefix: true, Router: r1}}, farther, r1},
		{"the first that holds", []view.PrefixRoute{{AnyPrefix: true, Router: r1}, {Prefix: far, Router: r2}}, far, r1},
		{"by any router", []view.PrefixRoute{{Prefix: far}}, far, r1},
		{"by a router that is not there", []view.PrefixRoute{{Prefix: far, Router: 0x99}, {Prefix: far, Router: r2}},
			far, r2},
		{"by what is no router", []view.PrefixRoute{{Prefix: far, Router: h2}}, far, 0},
	} {
		s := routed(t, n, 0)
		s.PrefixRoutes = c.routes
		var want, out sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
		want.SetDGID(mad.MakeGID(c.prefix, 0x1234))
		st := New(&s.View).Find(asker, &want, bySGID, &out)
		switch {
		case c.via == 0 && st == mad.StatusNoRecords:
		case c.via != 0 && st == mad.StatusOK && out.DLID() == s.lid(c.via) && out.DGID() == want.DGID() &&
			out.HopLimit() == 255:
		default:
			t.Errorf("%s: %v, DLID %v, DGID %s, HopLimit %d", c.name, st, out.DLID(), out.DGID(), out.HopLimit())
		}
		want.SetSGID(mad.MakeGID(c.prefix, h1))
		if st := New(&s.View).Find(asker, &want, bySGID, &out); st != mad.StatusNoRecords {
			t.Errorf("%s: a source elsewhere: %v", c.name, st)
		}
	}
}
