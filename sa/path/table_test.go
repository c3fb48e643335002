package path

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/topo/net"
)

// room is more than any table here has.
const room = 1 << 20

// A table is what Find gives for each pair of LIDs, pair by pair, with the paths
// between two ports in the order of preference; NumbPath bounds those.
func TestTableByLIDs(t *testing.T) {
	s := newSubnet(t, 1)
	f := New(&s.View)
	for _, numb := range []int{-1, 0, 1, 2, 3, 4, 127} {
		var want sarec.PathRecord
		var comps mad.ComponentMask
		most := 4
		if numb >= 0 {
			want.SetNumbPath(uint8(numb))
			comps = sarec.PathNumbPath
			most = min(most, numb)
		}
		var wanted []byte
		for _, dst := range s.Topo.EndPorts {
			for _, src := range s.Topo.EndPorts {
				wanted = append(wanted, s.pathsBetween(f, s.Topo.Ports[src].GUID, s.Topo.Ports[dst].GUID, most)...)
			}
		}
		table, st := f.Table(t.Context(), asker, &want, comps, room)
		if st != mad.StatusOK || !bytes.Equal(table, wanted) {
			t.Errorf("NumbPath %d: %v, %d records, want %d", numb, st, len(table)/64, len(wanted)/64)
		}
	}
}

// pathsBetween asks Find for each pair of LIDs of two ports.
func (s *subnet) pathsBetween(f *Finder, src, dst mad.GUID, most int) (all []byte) {
	s.Helper()
	srcLIDs := []mad.LID{s.lid(src), s.lid(src) + 1}
	dstLIDs := []mad.LID{s.lid(dst), s.lid(dst) + 1}
	count := func(g mad.GUID) int { return int(s.LIDs.Count(s.port(g))) }
	srcLIDs, dstLIDs = srcLIDs[:count(src)], dstLIDs[:count(dst)]
	type pair struct {
		slid, dlid mad.LID
		preference uint8
	}
	var pairs []pair
	for i, slid := range srcLIDs {
		for j, dlid := range dstLIDs {
			if i == j {
				pairs = append(pairs, pair{slid, dlid, 0})
			}
		}
	}
	for i, slid := range srcLIDs {
		for j, dlid := range dstLIDs {
			if i != j {
				pairs = append(pairs, pair{slid, dlid, 2})
			}
		}
	}
	for _, p := range pairs[:min(most, len(pairs))] {
		var want, out sarec.PathRecord
		want.SetSLID(p.slid)
		want.SetDLID(p.dlid)
		if st := f.Find(asker, &want, sarec.PathSLID|sarec.PathDLID, &out); st != mad.StatusOK {
			s.Fatalf("LID %d to %d: %v", p.slid, p.dlid, st)
		}
		out.SetPreference(p.preference)
		all = append(all, out[:]...)
	}
	return all
}

// A table about one end is the part of the whole table that has this end.
func TestTableOfOneEnd(t *testing.T) {
	s := newSubnet(t, 1)
	f := New(&s.View)
	whole, _ := f.Table(t.Context(), asker, new(sarec.PathRecord), 0, room)
	for _, c := range []struct {
		name string
		comp mad.ComponentMask
		set  func(r *sarec.PathRecord)
		has  func(r *sarec.PathRecord) bool
	}{
		{"SGID", sarec.PathSGID, func(r *sarec.PathRecord) { r.SetSGID(mad.MakeGID(mad.DefaultPrefix, h2)) },
			func(r *sarec.PathRecord) bool { return r.SGID().GUID() == h2 }},
		{"DGID", sarec.PathDGID, func(r *sarec.PathRecord) { r.SetDGID(mad.MakeGID(mad.DefaultPrefix, sw2)) },
			func(r *sarec.PathRecord) bool { return r.DGID().GUID() == sw2 }},
	} {
		var want sarec.PathRecord
		c.set(&want)
		var part []byte
		for rec := range slices.Chunk(whole, 64) {
			if c.has((*sarec.PathRecord)(rec)) {
				part = append(part, rec...)
			}
		}
		if table, st := f.Table(t.Context(), asker, &want, c.comp, room); st != mad.StatusOK || len(part) == 0 ||
			!bytes.Equal(table, part) {
			t.Errorf("%s: %v, %d records, want %d", c.name, st, len(table)/64, len(part)/64)
		}
	}
	var want sarec.PathRecord
	want.SetSLID(s.lid(h1) + 1)
	table, st := f.Table(t.Context(), asker, &want, sarec.PathSLID, room)
	for rec := range slices.Chunk(table, 64) {
		if (*sarec.PathRecord)(rec).SLID() != want.SLID() {
			t.Errorf("SLID %d in a table of %d", (*sarec.PathRecord)(rec).SLID(), want.SLID())
		}
	}
	if n := len(table) / 64; st != mad.StatusOK || n != 4*2+2 { // hosts have two LIDs, switches one
		t.Errorf("SLID: %v, %d records", st, n)
	}
}

func TestTableLimits(t *testing.T) {
	s := newSubnet(t, 0)
	f := New(&s.View)
	const whole = 6 * 6 * 64
	if table, st := f.Table(t.Context(), asker, new(sarec.PathRecord), 0, whole); st != mad.StatusOK ||
		len(table) != whole {
		t.Errorf("as long as allowed: %v, %d bytes", st, len(table))
	}
	if table, st := f.Table(t.Context(), asker, new(sarec.PathRecord), 0, whole-1); st != mad.StatusNoResources ||
		table != nil {
		t.Errorf("longer than allowed: %v, %d bytes", st, len(table))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, st := f.Table(ctx, asker, new(sarec.PathRecord), 0, room); st != mad.StatusNoResources {
		t.Errorf("after the end of the context: %v", st)
	}
	n, err := net.Generate("fattree:k=22") // 2,662 hosts and 605 switches
	if err != nil {
		t.Fatal(err)
	}
	big := routed(t, n, 0)
	begun := &watched{Context: t.Context()}
	if _, st := New(&big.View).Table(begun, asker, new(sarec.PathRecord), 0, room); st != mad.StatusNoResources ||
		begun.asked {
		t.Errorf("too many pairs: %v, the search begins: %t", st, begun.asked)
	}
}

// watched is a context that shows whether somebody looks for its end.
type watched struct {
	context.Context
	asked bool
}

func (w *watched) Err() error {
	w.asked = true
	return w.Context.Err()
}
