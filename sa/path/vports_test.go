package path

import (
	"context"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// GUIDs of vPorts: vA and vB share the LID of h1, vC behind h4 has a LID of its own, vD shares that of vC, vDown is
// down, and vAlias is a further GUID of vA.
const (
	vA     mad.GUID = 0xf1
	vB     mad.GUID = 0xf2
	vC     mad.GUID = 0xf3
	vD     mad.GUID = 0xf4
	vDown  mad.GUID = 0xf5
	vAlias mad.GUID = 0xf6
)

// vLID is that of vC.
const vLID mad.LID = 20

func withVPorts(t *testing.T, lmc uint8) *subnet {
	s := newSubnet(t, lmc)
	p1, p4 := s.port(h1), s.port(h4)
	s.Topo.VPorts = topo.NewVPorts([]topo.VPort{
		{GUID: h1, Port: p1, State: smp.PortActive},
		{GUID: vA, Port: p1, Index: 1, State: smp.PortActive},
		{GUID: vB, Port: p1, Index: 2, State: smp.PortInit},
		{GUID: vDown, Port: p1, Index: 3, State: smp.PortDown},
		{Port: p1, Index: 4, State: smp.PortInit},
		{GUID: vC, Port: p4, Index: 1, State: smp.PortActive, LID: vLID, LIDRequired: true},
		{GUID: vD, Port: p4, Index: 2, State: smp.PortActive, Shares: 1},
		{GUID: vA, Port: p4, Index: 3, State: smp.PortActive, Elsewhere: true},
	}, map[topo.VPortIdx][]mad.GUID{1: {vAlias}})
	for i, row := range s.Tables.LFT {
		for len(row) <= int(vLID) {
			row = append(row, 0xff)
		}
		row[vLID] = row[s.LIDs.Base[p4]]
		s.Tables.LFT[i] = row
	}
	s.VPorts.HopLimit = 3
	return s
}

// A path by a GUID of a vPort has the LID at which it is met, and a HopLimit with which hosts send a GRH.
func TestVPorts(t *testing.T) {
	for _, c := range []struct {
		name       string
		src, dst   mad.GUID
		slid, dlid func(s *subnet) mad.LID
		hopLimit   uint8
	}{
		{"to one that shares its port's LID", h2, vA, func(s *subnet) mad.LID { return s.lid(h2) },
			func(s *subnet) mad.LID { return s.lid(h1) }, 3},
		{"from it", vA, h2, func(s *subnet) mad.LID { return s.lid(h1) },
			func(s *subnet) mad.LID { return s.lid(h2) }, 3},
		{"to one in Initialize", h2, vB, func(s *subnet) mad.LID { return s.lid(h2) },
			func(s *subnet) mad.LID { return s.lid(h1) }, 3},
		{"to one with a LID of its own", h1, vC, func(s *subnet) mad.LID { return s.lid(h1) },
			func(*subnet) mad.LID { return vLID }, 3},
		{"to one that shares that", h1, vD, func(s *subnet) mad.LID { return s.lid(h1) },
			func(*subnet) mad.LID { return vLID }, 3},
		{"between them", vA, vC, func(s *subnet) mad.LID { return s.lid(h1) },
			func(*subnet) mad.LID { return vLID }, 3},
		{"within an adapter", vA, vB, func(s *subnet) mad.LID { return s.lid(h1) },
			func(s *subnet) mad.LID { return s.lid(h1) }, 3},
		{"by a further GUID", h2, vAlias, func(s *subnet) mad.LID { return s.lid(h2) },
			func(s *subnet) mad.LID { return s.lid(h1) }, 3},
		{"to a port with vPorts", h2, h1, func(s *subnet) mad.LID { return s.lid(h2) },
			func(s *subnet) mad.LID { return s.lid(h1) }, 0},
	} {
		s := withVPorts(t, 0)
		got, st := s.find(c.src, c.dst)
		if st != mad.StatusOK {
			t.Errorf("%s: %v", c.name, st)
			continue
		}
		if got.SGID().GUID() != c.src || got.DGID().GUID() != c.dst || got.SLID() != c.slid(s) ||
			got.DLID() != c.dlid(s) || got.HopLimit() != c.hopLimit || !got.Reversible() {
			t.Errorf("%s: from %v LID %v to %v LID %v, HopLimit %d, reversible %t; want LIDs %v, %v, HopLimit %d, true",
				c.name, got.SGID(), got.SLID(), got.DGID(), got.DLID(), got.HopLimit(), got.Reversible(), c.slid(s),
				c.dlid(s), c.hopLimit)
		}
	}
}

// Without a setting the HopLimit of a path to a vPort is not 0.
func TestVPortHopLimit(t *testing.T) {
	s := withVPorts(t, 0)
	s.VPorts.HopLimit = 0
	if got, st := s.find(h2, vA); st != mad.StatusOK || got.HopLimit() != GRHHopLimit {
		t.Errorf("status %v, HopLimit %d, want 2", st, got.HopLimit())
	}
}

// A vPort that is down is not there.
func TestVPortDown(t *testing.T) {
	if _, st := withVPorts(t, 0).find(h2, vDown); st != mad.StatusNoRecords {
		t.Errorf("a path to a vPort that is down: status %v, want no records", st)
	}
}

// The LID in a request is one at which the vPort is met.
func TestVPortByLID(t *testing.T) {
	for _, c := range []struct {
		name string
		dgid mad.GUID // 0: not given
		dlid func(s *subnet) mad.LID
		want mad.Status
		to   mad.GUID
	}{
		{"its own LID alone", 0, func(*subnet) mad.LID { return vLID }, mad.StatusOK, vC},
		{"its own LID", vC, func(*subnet) mad.LID { return vLID }, mad.StatusOK, vC},
		{"the one that it shares", vD, func(*subnet) mad.LID { return vLID }, mad.StatusOK, vD},
		{"its port's", vA, func(s *subnet) mad.LID { return s.lid(h1) }, mad.StatusOK, vA},
		{"its port's, which is not its own", vC, func(s *subnet) mad.LID { return s.lid(h4) }, mad.StatusReqInvalid, 0},
		{"another port's", vA, func(s *subnet) mad.LID { return s.lid(h2) }, mad.StatusReqInvalid, 0},
		{"another vPort's", vA, func(*subnet) mad.LID { return vLID }, mad.StatusReqInvalid, 0},
		{"a LID that nobody has", 0, func(*subnet) mad.LID { return vLID - 1 }, mad.StatusNoRecords, 0},
	} {
		s := withVPorts(t, 0)
		var want, out sarec.PathRecord
		comps := sarec.PathSGID | sarec.PathDLID
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h2))
		want.SetDLID(c.dlid(s))
		if c.dgid != 0 {
			comps |= sarec.PathDGID
			want.SetDGID(mad.MakeGID(mad.DefaultPrefix, c.dgid))
		}
		st := New(&s.View).Find(asker, &want, comps, &out)
		if st != c.want || st == mad.StatusOK && (out.DGID().GUID() != c.to || out.DLID() != want.DLID()) {
			t.Errorf("%s: status %v, to %v LID %v; want %v, %v", c.name, st, out.DGID(), out.DLID(), c.want, c.to)
		}
	}
}

// vPorts of two tenants behind one port have no path to each other, whatever their port may do.
func TestVPortPKeys(t *testing.T) {
	s := withVPorts(t, 0)
	table := func(keys ...mad.PKey) *topo.PKeyTable { return topo.NewPKeyTable(keys) }
	list := slices.Clone(s.Topo.VPorts.List)
	list[1].PKeys, list[2].PKeys, list[5].PKeys = table(0x8001), table(0x8002), table(0x8001, 0x8002)
	s.Topo.VPorts = topo.NewVPorts(list, nil)
	for _, p := range s.Topo.EndPorts {
		s.Topo.Ports[p].PKeys = table(mad.DefaultPKey)
	}
	asker := s.Topo.FindEnd(vC)
	f := New(&s.View)
	for _, c := range []struct {
		src, dst mad.GUID
		key      mad.PKey // 0: no path
	}{
		{vA, vC, 0x8001}, {vC, vA, 0x8001}, {vB, vC, 0x8002}, {vA, vB, 0}, {vC, h1, 0}, {vA, h1, 0}, {vA, vA, 0x8001},
	} {
		var want, out sarec.PathRecord
		want.SetSGID(mad.MakeGID(mad.DefaultPrefix, c.src))
		want.SetDGID(mad.MakeGID(mad.DefaultPrefix, c.dst))
		st := f.Find(asker, &want, sarec.PathSGID|sarec.PathDGID, &out)
		if st == mad.StatusOK && out.PKey() != c.key || st == mad.StatusNoRecords && c.key != 0 {
			t.Errorf("from %v to %v: status %v, P_Key %v; want P_Key %v", c.src, c.dst, st, out.PKey(), c.key)
		}
	}
	var want, out sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, vC))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, vA))
	if st := f.Find(s.Topo.FindEnd(vB), &want, sarec.PathSGID|sarec.PathDGID, &out); st != mad.StatusNoRecords {
		t.Errorf("vPort %v asks for a path to vPort %v, of another tenant: %v, want no records", vB, vA, st)
	}
}

// A table has the paths of all vPorts that are up, by each of their GUIDs.
func TestVPortTable(t *testing.T) {
	s := withVPorts(t, 0)
	var want sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, h2))
	table, st := New(&s.View).Table(context.Background(), asker, &want, sarec.PathSGID, 1<<20)
	if st != mad.StatusOK {
		t.Fatal(st)
	}
	var got []mad.GUID
	for rec := range slices.Chunk(table, recordSize) {
		got = append(got, (*sarec.PathRecord)(rec).DGID().GUID())
	}
	if want := []mad.GUID{h1, h2, h3, h4, sw1, sw2, vA, vAlias, vB, vC, vD}; !slices.Equal(got, want) {
		t.Errorf("paths to %v, want %v", got, want)
	}
}

// With an LMC the paths of a vPort that shares its port's LID go to the base LID.
func TestVPortWithLMC(t *testing.T) {
	s := withVPorts(t, 1)
	var want sarec.PathRecord
	want.SetSGID(mad.MakeGID(mad.DefaultPrefix, vC))
	want.SetDGID(mad.MakeGID(mad.DefaultPrefix, vA))
	table, st := New(&s.View).Table(context.Background(), asker, &want, sarec.PathSGID|sarec.PathDGID, 1<<20)
	if st != mad.StatusOK || len(table) != recordSize {
		t.Fatalf("status %v, %d bytes, want one path", st, len(table))
	}
	if rec := (*sarec.PathRecord)(table); rec.SLID() != vLID || rec.DLID() != s.lid(h1) {
		t.Errorf("from LID %v to %v, want %v and %v", rec.SLID(), rec.DLID(), vLID, s.lid(h1))
	}
}
