package path

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/sarec"
)

// ends are the LIDs of the paths of a table.
func ends(table []byte) (lids [][2]mad.LID) {
	for rec := range slices.Chunk(table, recordSize) {
		r := (*sarec.PathRecord)(rec)
		lids = append(lids, [2]mad.LID{r.SLID(), r.DLID()})
	}
	return lids
}

func TestMulti(t *testing.T) {
	s := newSubnet(t, 0)
	s.Topo.Ports[s.port(h4)].PKeys = nil
	f := New(&s.View)
	const counts = sarec.MultiPathSGIDCount | sarec.MultiPathDGIDCount
	id := func(g mad.GUID) mad.GID { return mad.MakeGID(mad.DefaultPrefix, g) }
	l := func(src, dst mad.GUID) [2]mad.LID { return [2]mad.LID{s.lid(src), s.lid(dst)} }
	for _, c := range []struct {
		name      string
		comps     mad.ComponentMask
		src, dst  []mad.GID
		numbPath  uint8
		status    mad.Status
		wantPaths [][2]mad.LID
	}{
		{"one to one", counts, []mad.GID{id(h1)}, []mad.GID{id(h3)}, 0, mad.StatusOK, [][2]mad.LID{l(h1, h3)}},
		{"two to two", counts, []mad.GID{id(h1), id(h2)}, []mad.GID{id(h3), id(h4)}, 0, mad.StatusOK,
			[][2]mad.LID{l(h1, h3), l(h2, h3), l(h1, h4), l(h2, h4)}},
		{"the first three", counts | sarec.MultiPathNumbPath, []mad.GID{id(h1), id(h2)}, []mad.GID{id(h3), id(h4)}, 3,
			mad.StatusOK,
			[][2]mad.LID{l(h1, h3), l(h2, h3), l(h1, h4)}},
		{"none", counts | sarec.MultiPathNumbPath, []mad.GID{id(h1)}, []mad.GID{id(h3)}, 0, mad.StatusOK, nil},
		{"migration, straight", counts | sarec.MultiPathNumbPath, []mad.GID{id(h1), id(h3)}, []mad.GID{id(h2), id(h4)},
			2, mad.StatusOK,
			[][2]mad.LID{l(h1, h2), l(h3, h4)}},
		{"migration, crossed", counts | sarec.MultiPathNumbPath, []mad.GID{id(h1), id(h3)}, []mad.GID{id(h4), id(h2)},
			2, mad.StatusOK,
			[][2]mad.LID{l(h1, h2), l(h3, h4)}},
		{"no count", sarec.MultiPathDGIDCount, []mad.GID{id(h1)}, []mad.GID{id(h3)}, 0, mad.StatusReqInsufficient, nil},
		{"no sources", counts, nil, []mad.GID{id(h3)}, 0, mad.StatusReqInvalid, nil},
		{"no destinations", counts, []mad.GID{id(h3)}, nil, 0, mad.StatusReqInvalid, nil},
		{"nobody's GID", counts, []mad.GID{id(h1)}, []mad.GID{id(99)}, 0, mad.StatusReqInvalidGID, nil},
		{"a GID of elsewhere", counts, []mad.GID{mad.MakeGID(0x2001, h1)}, []mad.GID{id(h3)}, 0,
			mad.StatusReqInvalidGID, nil},
		{"a group", counts, []mad.GID{id(h1)}, []mad.GID{ipv4Broadcast}, 0, mad.StatusReqInvalidGID, nil},
		{"more than there is room for", counts, slices.Repeat([]mad.GID{id(h1)}, 10),
			slices.Repeat([]mad.GID{id(h2)}, 10), 0, mad.StatusOK,
			slices.Repeat([][2]mad.LID{l(h1, h2)}, 10)},
	} {
		var want sarec.MultiPathRecord
		want.SetNumbPath(c.numbPath)
		want.SetSGIDCount(uint8(len(c.src)))
		want.SetDGIDCount(uint8(len(c.dst)))
		for i, g := range slices.Concat(c.src, c.dst) {
			if i < sarec.MultiPathMaxGIDs {
				want.SetGID(i, g)
			}
		}
		table, st := f.Multi(t.Context(), asker, &want, c.comps)
		if got := ends(table); st != c.status || !slices.Equal(got, c.wantPaths) {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, st, got, c.status, c.wantPaths)
		}
	}
}

// Each component counts as it does in a PathRecord.
func TestMultiTerms(t *testing.T) {
	s := newSubnet(t, 0)
	s.tenants()
	f := New(&s.View)
	for _, c := range []struct {
		name  string
		comps mad.ComponentMask
		set   func(r *sarec.MultiPathRecord)
		n     int
	}{
		{"P_Key", sarec.MultiPathPKey, func(r *sarec.MultiPathRecord) { r.SetPKey(0x8001) }, 1},
		{"P_Key of neither", sarec.MultiPathPKey, func(r *sarec.MultiPathRecord) { r.SetPKey(0x8002) }, 0},
		{"MTU", sarec.MultiPathMTU | sarec.MultiPathMTUSelector, func(r *sarec.MultiPathRecord) {
			r.SetMTU(sarec.Exactly, mad.MTU4096)
		}, 0},
		{"rate", sarec.MultiPathRate | sarec.MultiPathRateSelector, func(r *sarec.MultiPathRecord) {
			r.SetRate(sarec.GreaterThan, 3)
		}, 0},
		{"lifetime", sarec.MultiPathPacketLifeTime | sarec.MultiPathPacketLifeTimeSelector,
			func(r *sarec.MultiPathRecord) { r.SetPacketLifeTime(sarec.GreaterThan, 18) }, 0},
	} {
		var want sarec.MultiPathRecord
		want.SetSGIDCount(1)
		want.SetDGIDCount(1)
		want.SetGID(0, mad.MakeGID(mad.DefaultPrefix, h3))
		want.SetGID(1, mad.MakeGID(mad.DefaultPrefix, h1))
		c.set(&want)
		table, st := f.Multi(t.Context(), s.port(h3), &want, c.comps|sarec.MultiPathSGIDCount|sarec.MultiPathDGIDCount)
		if st != mad.StatusOK || len(table) != c.n*recordSize {
			t.Errorf("%s: %v, %d paths, want %d", c.name, st, len(table)/recordSize, c.n)
		}
	}
	var want sarec.MultiPathRecord
	want.SetSGIDCount(1)
	want.SetDGIDCount(1)
	if _, st := f.Multi(t.Context(), asker, &want, sarec.MultiPathServiceIDLow|sarec.MultiPathSGIDCount|
		sarec.MultiPathDGIDCount); st != mad.StatusReqInvalidGID {
		t.Errorf("GIDs of nobody: %v", st)
	}
}

// A path runs to the GUID that a request names, be it the port's own or an alias.
func TestMultiToAlias(t *testing.T) {
	s := newSubnet(t, 0)
	f := s.register(0x12)
	for _, dst := range []mad.GUID{h2, alias} {
		var want sarec.MultiPathRecord
		want.SetSGIDCount(1)
		want.SetDGIDCount(1)
		want.SetGID(0, mad.MakeGID(mad.DefaultPrefix, h1))
		want.SetGID(1, mad.MakeGID(mad.DefaultPrefix, dst))
		table, st := f.Multi(t.Context(), asker, &want, sarec.MultiPathSGIDCount|sarec.MultiPathDGIDCount)
		if st != mad.StatusOK || len(table) != recordSize {
			t.Fatalf("to %v: %v, %d paths, want 1", dst, st, len(table)/recordSize)
		}
		if r := (*sarec.PathRecord)(table); r.SGID() != want.GID(0) || r.DGID() != want.GID(1) ||
			r.DLID() != s.lid(h2) {
			t.Errorf("to %v: %v to %v, LID %d", dst, r.SGID(), r.DGID(), r.DLID())
		}
	}
}

// osmtest's request, and OpenSM's answer to it: twice the path of the manager's port to
// itself, in a subnet of 200 Gb/s.
func TestMultiGolden(t *testing.T) {
	s := newSubnet(t, 0)
	p := madtest.Packet(t, "multi-path-record-get-multi")
	table, st := New(&s.View).Multi(t.Context(), asker, (*sarec.MultiPathRecord)(p.SAData()), p.ComponentMask())
	want := madtest.Bytes(t, "multi-path-record-get-multi-resp")[56:]
	for rec := range slices.Chunk(want, recordSize) {
		(*sarec.PathRecord)(rec).SetRate(sarec.Exactly, 3)
	}
	if st != mad.StatusOK || !slices.Equal(table, want) {
		t.Errorf("%v\n%x, want\n%x", st, table, want)
	}
}
