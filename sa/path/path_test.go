package path

import (
	"context"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// fabric is the file of two switches with two hosts each; here they have the default
// rates of ibsim: 4x SDR, and MTUs of 2048.
const fabric = "../../testdata/fabrics/captured.net"

func readFabric(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile(fabric)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// Port GUIDs of fabric.
const (
	h1  mad.GUID = 0x100001
	h2  mad.GUID = 0x100011
	h3  mad.GUID = 0x100021
	h4  mad.GUID = 0x100031
	sw1 mad.GUID = 0x200000
	sw2 mad.GUID = 0x200010
)

// asker is the port of H1, where a test does not name one.
const asker topo.PortIdx = 1

// subnet is a View that a test may change before it makes a Finder.
type subnet struct {
	*testing.T
	view.View
}

func newSubnet(t *testing.T, lmc uint8) *subnet {
	t.Helper()
	n, err := net.Parse(fabric, []byte(readFabric(t)))
	if err != nil {
		t.Fatal(err)
	}
	return routed(t, n, lmc)
}

func routed(t *testing.T, n *net.Net, lmc uint8) *subnet {
	t.Helper()
	tp, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tp.Ports {
		info := &tp.Ports[i].Info
		info.SetMTUCap(mad.MTU2048)
		info.SetLinkWidthActive(mad.Width4x)
		info.SetLinkSpeedActive(1)
	}
	lids := topo.SequentialLIDs(tp, lmc)
	tables, err := minhop.Route(context.Background(), routing.In{Topo: tp, LIDs: lids})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tables.LFT { // rows of their own, for tests to write
		tables.LFT[i] = append([]uint8(nil), tables.LFT[i]...)
	}
	return &subnet{t, view.View{
		Topo: tp, LIDs: lids, Tables: tables,
		Subnet: view.Subnet{Prefix: mad.DefaultPrefix, SubnetTimeOut: 18},
	}}
}

func (s *subnet) port(g mad.GUID) topo.PortIdx {
	s.Helper()
	p := s.Topo.FindPort(g)
	if p == topo.None {
		s.Fatalf("no port %v", g)
	}
	return p
}

func (s *subnet) lid(g mad.GUID) mad.LID { return s.LIDs.Base[s.port(g)] }

func (s *subnet) info(g mad.GUID, num uint8) *smp.PortInfo {
	return &s.Topo.Ports[s.Topo.Port(s.Topo.Ports[s.port(g)].Node, num)].Info
}

// lft is the table of the switch with the GUID.
func (s *subnet) lft(g mad.GUID) []uint8 {
	return s.Tables.LFT[s.Topo.Nodes[s.Topo.Ports[s.port(g)].Node].Switch]
}

// find asks for a path between two ports by GID.
func (s *subnet) find(src, dst mad.GUID) (sarec.PathRecord, mad.Status) {
	var want, out sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, src))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, dst))
	st := New(&s.View).Find(asker, &want, sarec.PathSGID|sarec.PathDGID, &out)
	return out, st
}

func TestWalkTakesTheLeastOfTheWay(t *testing.T) {
	for _, c := range []struct {
		name     string
		src, dst mad.GUID
		change   func(s *subnet)
		mtu      mad.MTU
		rate     mad.Rate
	}{
		{"one switch", h1, h2, nil, mad.MTU2048, 3},
		{"two switches", h1, h4, nil, mad.MTU2048, 3},
		{"source", h1, h4, func(s *subnet) {
			s.info(h1, 1).SetMTUCap(1)
			s.info(h1, 1).SetLinkWidthActive(mad.Width1x)
		}, 1, 2},
		{"ingress", h1, h4, func(s *subnet) {
			s.info(sw1, 1).SetMTUCap(1)
			s.info(sw1, 1).SetLinkWidthActive(mad.Width1x)
		}, 1, 2},
		{"egress", h1, h4, func(s *subnet) {
			s.info(sw1, 7).SetMTUCap(1)
			s.info(sw1, 7).SetLinkWidthActive(mad.Width1x)
		}, 1, 2},
		{"second ingress", h1, h4, func(s *subnet) { s.info(sw2, 7).SetMTUCap(3) }, 3, 3},
		{"destination", h1, h4, func(s *subnet) {
			s.info(h4, 1).SetMTUCap(1)
			s.info(h4, 1).SetLinkWidthActive(mad.Width1x)
		}, 1, 2},
		{"beside the way", h1, h4, func(s *subnet) {
			s.info(h2, 1).SetMTUCap(1)
			s.info(sw1, 2).SetMTUCap(1)
		}, mad.MTU2048, 3},
		{"port 0 as source", sw1, h4, func(s *subnet) { s.info(sw1, 0).SetMTUCap(1) }, 1, 3},
		{"port 0 as destination", h1, sw2, func(s *subnet) { s.info(sw2, 0).SetMTUCap(1) }, 1, 3},
		{"port 0 on the way", h1, h2, func(s *subnet) { s.info(sw1, 0).SetMTUCap(1) }, mad.MTU2048, 3},
		{"not read", h1, h2, func(s *subnet) {
			s.Topo.Ports[s.port(h1)].Seen = false
			s.info(h1, 1).SetMTUCap(1)
		}, mad.MTU2048, 3},
		{"MTU of no meaning", h1, h2, func(s *subnet) { s.info(h1, 1).SetMTUCap(9) }, mad.MTU2048, 3},
	} {
		s := newSubnet(t, 0)
		if c.change != nil {
			c.change(s)
		}
		rec, st := s.find(c.src, c.dst)
		if st != mad.StatusOK {
			t.Errorf("%s: %v", c.name, st)
			continue
		}
		if sel, mtu := rec.MTU(); mtu != c.mtu || sel != sarec.Exactly {
			t.Errorf("%s: MTU %v %d, want %d", c.name, sel, mtu, c.mtu)
		}
		if sel, rate := rec.Rate(); rate != c.rate || sel != sarec.Exactly {
			t.Errorf("%s: rate %v %d, want %d", c.name, sel, rate, c.rate)
		}
		if rec.SLID() != s.lid(c.src) || rec.DLID() != s.lid(c.dst) || !rec.Reversible() {
			t.Errorf("%s: LIDs %d to %d, reversible %v", c.name, rec.SLID(), rec.DLID(), rec.Reversible())
		}
	}
}

// Tables that do not lead to the destination give no path, and from there no way
// back.
func TestWalkFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *subnet)
	}{
		{"no entry", func(s *subnet) { s.lft(sw2)[s.lid(h4)] = routing.NoPath }},
		{"no table", func(s *subnet) { s.Tables.LFT[0] = nil }},
		{"to another host", func(s *subnet) { s.lft(sw2)[s.lid(h4)] = 1 }},
		{"to an unplugged port", func(s *subnet) { s.lft(sw2)[s.lid(h4)] = 5 }},
		{"to a port that is not there", func(s *subnet) { s.lft(sw2)[s.lid(h4)] = 9 }},
		{"to the switch itself", func(s *subnet) { s.lft(sw2)[s.lid(h4)] = 0 }},
		{"loop", func(s *subnet) { s.lft(sw2)[s.lid(h4)] = 7 }},
		{"cut off", func(s *subnet) { s.Topo.Ports[s.port(h1)].Peer = topo.None }},
	} {
		s := newSubnet(t, 0)
		c.change(s)
		if _, st := s.find(h1, h4); st != mad.StatusNoRecords {
			t.Errorf("%s: %v, want no records", c.name, st)
		}
	}
	s := newSubnet(t, 0)
	s.lft(sw2)[s.lid(h4)] = routing.NoPath
	rec, st := s.find(h4, h1)
	if st != mad.StatusOK || rec.Reversible() {
		t.Errorf("from the port that cannot be reached: %v, reversible %v", st, rec.Reversible())
	}
	var want, out sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h4))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h1))
	want.SetReversible(true)
	comps := sarec.PathSGID | sarec.PathDGID | sarec.PathReversible
	if st := New(&s.View).Find(asker, &want, comps, &out); st != mad.StatusNoRecords {
		t.Errorf("a reversible path from there: %v, want no records", st)
	}
}

// Two hosts cabled to each other need no switch.
func TestWalkWithoutSwitch(t *testing.T) {
	n, err := net.Parse("pair", []byte("Ca 1 \"A\"\n[1] \"B\"[1]\n\nCa 1 \"B\"\n[1] \"A\"[1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := routed(t, n, 0)
	a, b := s.Topo.Ports[s.Topo.EndPorts[0]].GUID, s.Topo.Ports[s.Topo.EndPorts[1]].GUID
	if rec, st := s.find(a, b); st != mad.StatusOK || !rec.Reversible() {
		t.Errorf("%v, reversible %v", st, rec.Reversible())
	}
}

// A rate that an end does not know, or that the operator forbids, is lowered to one that
// both know.
func TestRateThatBothEndsKnow(t *testing.T) {
	hdr1x := func(s *subnet, g mad.GUID, num uint8) { // 50 Gb/s
		info := s.info(g, num)
		info.SetLinkWidthActive(mad.Width1x)
		info.SetLinkSpeedActive(0)
		info.SetLinkSpeedExtActive(4)
	}
	for _, c := range []struct {
		name     string
		src, dst smp.CapMask2
		most     mad.Rate
		want     mad.Rate
	}{
		{"both", smp.IsLinkSpeedHDRSupported, smp.IsLinkSpeedHDRSupported, 0, 20},
		{"one by width, one by speed", smp.IsLinkWidth2xSupported, smp.IsLinkSpeedHDRSupported, 0, 20},
		{"only the source", smp.IsLinkSpeedHDRSupported, 0, 0, 7},
		{"only the destination", 0, smp.IsLinkSpeedHDRSupported, 0, 7},
		{"the operator to the last of the classic codes", smp.IsLinkSpeedHDRSupported, smp.IsLinkSpeedHDRSupported, 18,
			7},
		{"the operator to 20 Gb/s", smp.IsLinkSpeedHDRSupported, smp.IsLinkSpeedHDRSupported, 6, 6},
		{"the operator to this very rate", smp.IsLinkSpeedHDRSupported, smp.IsLinkSpeedHDRSupported, 20, 20},
	} {
		s := newSubnet(t, 0)
		s.Subnet.MaxRate = c.most
		for i := range s.Topo.Ports {
			caps := &s.Topo.Ports[i].Info
			caps.SetCapabilityMask(smp.IsExtendedSpeedsSupported | smp.IsCapabilityMask2Supported)
		}
		hdr1x(s, h1, 1)
		hdr1x(s, sw1, 1)
		hdr1x(s, sw1, 2)
		hdr1x(s, h2, 1)
		s.info(sw1, 1).SetCapabilityMask(0) // port 0's counts
		s.info(h1, 1).SetCapabilityMask2(c.src)
		s.info(h2, 1).SetCapabilityMask2(c.dst)
		rec, st := s.find(h1, h2)
		if _, rate := rec.Rate(); st != mad.StatusOK || rate != c.want {
			t.Errorf("%s: %v, rate %d, want %d", c.name, st, rate, c.want)
		}
	}
}

// Pairs of the same offset come first, then the others, destination fastest.
func TestOrderOfLIDs(t *testing.T) {
	s := newSubnet(t, 2)
	src, dst := s.lid(h1), s.lid(h4)
	check := func(name string, want sarec.PathRecord, comps mad.ComponentMask, slid, dlid mad.LID, preference uint8) {
		t.Helper()
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h4))
		var out sarec.PathRecord
		st := New(&s.View).Find(asker, &want, comps|sarec.PathSGID|sarec.PathDGID, &out)
		if st != mad.StatusOK || out.SLID() != slid || out.DLID() != dlid || out.Preference() != preference {
			t.Errorf("%s: %v, LIDs %d to %d, preference %d; want %d to %d, %d",
				name, st, out.SLID(), out.DLID(), out.Preference(), slid, dlid, preference)
		}
	}
	var want sarec.PathRecord
	want.SetSLID(src + 3)
	want.SetDLID(dst + 2)
	check("any", want, 0, src, dst, 0)
	check("from one LID", want, sarec.PathSLID, src+3, dst, 0)
	check("to one LID", want, sarec.PathDLID, src, dst+2, 0)
	check("both given", want, sarec.PathSLID|sarec.PathDLID, src+3, dst+2, 0)
	s.lft(sw2)[dst] = routing.NoPath
	check("the first is cut", want, 0, src+1, dst+1, 0)
	check("the first from one LID is cut", want, sarec.PathSLID, src+3, dst+1, 2)
}

// What a request says in a component that its mask does not have is not in the answer.
func TestComponentsThatDoNotCount(t *testing.T) {
	s := newSubnet(t, 0)
	var want, out sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h4))
	want.SetSL(5)
	want.SetRawTraffic(true)
	want.SetFlowLabel(7)
	want.SetTClass(8)
	if st := New(&s.View).Find(asker, &want, sarec.PathSGID|sarec.PathDGID, &out); st != mad.StatusOK ||
		out.SL() != 0 || out.RawTraffic() || out.FlowLabel() != 0 || out.TClass() != 0 {
		t.Errorf("%v: SL %d, raw %t, FlowLabel %d, TClass %d", st, out.SL(), out.RawTraffic(), out.FlowLabel(),
			out.TClass())
	}
}

// A query that names no end and wants what no path has ends soon.
func TestSearchIsBounded(t *testing.T) {
	n, err := net.Generate("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	s := routed(t, n, 4) // 16 hosts of 16 LIDs: more than 65,536 pairs of LIDs
	var want, out sarec.PathRecord
	want.SetMTU(sarec.GreaterThan, mad.MTU4096)
	comps := sarec.PathMTUSelector | sarec.PathMTU
	f := New(&s.View)
	if st := f.Find(asker, &want, comps, &out); st != mad.StatusNoResources {
		t.Errorf("all to all: %v, want no resources", st)
	}
	want.SetSLID(1)
	if st := f.Find(asker, &want, comps|sarec.PathSLID, &out); st != mad.StatusNoRecords {
		t.Errorf("one LID to all: %v, want no records", st)
	}
}

func TestFindDoesNotAllocate(t *testing.T) {
	s := newSubnet(t, 0)
	f := New(&s.View)
	var want, out sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h4))
	for name, comps := range map[string]mad.ComponentMask{
		"pair": sarec.PathSGID | sarec.PathDGID, "from one": sarec.PathSGID, "any": 0,
	} {
		if n := testing.AllocsPerRun(100, func() {
			if st := f.Find(asker, &want, comps, &out); st != mad.StatusOK {
				t.Fatal(st)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestEngineSL: a path has the SL that the routing engine gives it by its LIDs, whatever that of the
// partition, and there is no path of another SL. With LMC 1 the two paths have SLs of their own.
func TestEngineSL(t *testing.T) {
	s := newSubnet(t, 1)
	key := func(k mad.PKey) mad.PKey { return k &^ mad.FullMember }
	s.SLs = map[mad.PKey]uint8{key(mad.DefaultPKey): 3}
	from, to := make([]int32, len(s.LIDs.Owner)), make([]int32, len(s.LIDs.Owner))
	for lid := range to {
		to[lid] = int32(lid & 1)
	}
	s.Tables.SLs = routing.NewSLs(from, to, [][]uint8{{5, 6}})
	f := New(&s.View)
	var want sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h3))
	ends := sarec.PathSGID | sarec.PathDGID
	for _, c := range []struct {
		comps mad.ComponentMask
		sl    uint8
		want  []uint8
	}{{0, 0, []uint8{5, 6}}, {sarec.PathSL, 6, []uint8{6}}, {sarec.PathSL, 3, nil}} {
		want.SetSL(c.sl)
		table, st := f.Table(t.Context(), asker, &want, ends|c.comps, 1<<16)
		var got []uint8
		for rec := range slices.Chunk(table, recordSize) {
			got = append(got, (*sarec.PathRecord)(rec).SL())
		}
		slices.Sort(got)
		if got = slices.Compact(got); st != mad.StatusOK || !slices.Equal(got, c.want) {
			t.Errorf("components %#x, SL %d: SLs %d, %v, want %d", c.comps, c.sl, got, st, c.want)
		}
		var out sarec.PathRecord
		if st := f.Find(asker, &want, ends|c.comps, &out); (st == mad.StatusOK) != (c.want != nil) ||
			st == mad.StatusOK && !slices.Contains(c.want, out.SL()) {
			t.Errorf("components %#x, SL %d: %v, SL %d", c.comps, c.sl, st, out.SL())
		}
	}
	var many sarec.MultiPathRecord
	many.SetSGIDCount(1)
	many.SetDGIDCount(1)
	many.SetGID(0, want.SGID())
	many.SetGID(1, want.DGID())
	table, st := f.Multi(t.Context(), asker, &many, sarec.MultiPathSGIDCount|sarec.MultiPathDGIDCount)
	if st != mad.StatusOK || len(table) == 0 {
		t.Fatal(st)
	}
	for rec := range slices.Chunk(table, recordSize) {
		if r := (*sarec.PathRecord)(rec); r.SL() != 5+uint8(r.DLID()&1) {
			t.Errorf("MultiPathRecord: SL %d to LID %v", r.SL(), r.DLID())
		}
	}
}

// TestPartitionSL: a path has the SL of the partition of its P_Key, unless one is asked for.
func TestPartitionSL(t *testing.T) {
	s := newSubnet(t, 0)
	for _, g := range []mad.GUID{h1, h3} {
		s.Topo.Ports[s.port(g)].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x8001, 0x8002})
	}
	s.SLs = map[mad.PKey]uint8{0x0001: 3, 0x0002: 5}
	f := New(&s.View)
	for _, c := range []struct {
		key   mad.PKey
		comps mad.ComponentMask
		want  uint8
	}{{0x8001, sarec.PathPKey, 3}, {0x8002, sarec.PathPKey, 5}, {0xffff, sarec.PathPKey, 0}, {0, 0, 3},
		{0x8002, sarec.PathPKey | sarec.PathSL, 7}} {
		var want, out sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h1))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, h3))
		want.SetPKey(c.key)
		want.SetSL(7)
		if st := f.Find(asker, &want, sarec.PathSGID|sarec.PathDGID|c.comps, &out); st != mad.StatusOK ||
			out.SL() != c.want {
			t.Errorf("P_Key %v, components %#x: %v, SL %d, want %d", c.key, c.comps, st, out.SL(), c.want)
		}
	}
}
