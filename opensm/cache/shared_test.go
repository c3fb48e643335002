package cache

import (
	"bytes"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad"
)

// lids is a guid2lid of one LID for each port, by the ports' numbers.
func lids(pairs ...int) map[mad.GUID]LIDRange {
	m := map[mad.GUID]LIDRange{}
	for i := 0; i < len(pairs); i += 2 {
		l := mad.LID(pairs[i+1])
		m[mad.GUID(pairs[i])] = LIDRange{l, l}
	}
	return m
}

// TestMergeLIDs: what OpenSM reads for each subnet of a host. It moves a port in use whose LID is in
// the record of another port, and leaves one without a record where it is; no host gets a LID that
// is in a record. Ports 1 to 9 are in our subnet, 1 to 4 run; 11 to 19 in another, 11 to 14 run.
func TestMergeLIDs(t *testing.T) {
	running := map[mad.GUID]bool{1: true, 2: true, 3: true, 4: true}
	for _, c := range []struct {
		name                      string
		all, ours, theirs, wanted map[mad.GUID]LIDRange
		both                      int
	}{
		{"first", nil, lids(1, 1, 5, 5), nil, lids(1, 1, 5, 5), 0},
		{"the other's records stay", lids(11, 11, 15, 15), lids(1, 1, 5, 5), lids(11, 11),
			lids(1, 1, 5, 5, 11, 11, 15, 15), 0},
		{"ours changes", lids(1, 1, 2, 2, 11, 11), lids(1, 2, 2, 1), lids(11, 11), lids(1, 2, 2, 1, 11, 11), 0},
		{"one LID runs in both", lids(11, 1, 12, 12), lids(1, 1, 2, 2), lids(11, 1, 12, 12), lids(2, 2, 12, 12), 1},
		{"the other has left it out before", lids(12, 12), lids(1, 1, 2, 2), lids(11, 1, 12, 12), lids(2, 2, 12, 12),
			1},
		{"ours runs, the other's is absent", lids(15, 1), lids(1, 1), nil, lids(1, 1), 0},
		{"ours is absent, the other's runs", lids(5, 1, 11, 1), lids(5, 1), lids(11, 1), lids(11, 1), 0},
		{"ours is absent, the other's runs and has no record", nil, lids(5, 1), lids(11, 1), lids(), 0},
		{"both are absent", lids(15, 1), lids(5, 1), nil, lids(15, 1), 0},
		{"the other runs at a LID that we have reserved for it", lids(11, 11), lids(1, 1, 11, 12), lids(11, 11),
			lids(1, 1, 11, 11), 0},
		{"a third one's stay", lids(21, 21), lids(1, 1), nil, lids(1, 1, 21, 21), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			merged, both := mergeLIDs(c.all, c.ours, c.theirs, running)
			if !maps.Equal(merged, c.wanted) || both != c.both {
				t.Errorf("got %v, %d, want %v, %d", merged, both, c.wanted, c.both)
			}
		})
	}
	wide := map[mad.GUID]LIDRange{1: {4, 7}}
	if merged, _ := mergeLIDs(lids(15, 6), wide, nil, running); !maps.Equal(merged, wide) {
		t.Errorf("a LID within a range: %v", merged)
	}
}

// TestShare: two managers keep OpenSM's own files together, whoever writes last, and log once that
// a LID is in use in both subnets.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	folder := func(port string) string { return filepath.Join(dir, port) }
	var log bytes.Buffer
	manager := func(port, other string, lids map[mad.GUID]LIDRange) *Keeper {
		k := NewKeeper(&Files{Dir: folder(port)}, lids, nil, slog.New(slog.NewTextHandler(&log, nil)))
		k.Share(&Shared{Files: Files{Dir: dir}, Others: []string{folder(other)}})
		return k
	}
	first := manager("a", "b", lids(0x11, 1, 0x21, 2, 0x1000, 3, 0x77, 7))
	first.PutLIDs(lids(0x11, 1))
	first.write()
	if _, err := os.Stat(filepath.Join(dir, guid2lid)); err == nil {
		t.Error("OpenSM's own file is written before anybody knows what runs")
	}
	first.PutView(pair(t))
	first.write()
	second := manager("b", "a", lids(0x1111, 1, 0x1121, 12, 0x2000, 13))
	other := pair(t) // the same with other GUIDs
	for i := range other.Topo.Nodes {
		other.Topo.Nodes[i].GUID += 0x1000
	}
	for i := range other.Topo.Ports {
		if p := &other.Topo.Ports[i]; p.GUID == 0x1000 {
			p.GUID = 0x2000
		} else if p.GUID != 0 {
			p.GUID += 0x1100
		}
	}
	second.PutView(other)
	for range 2 {
		second.write()
		first.PutLIDs(lids(0x21, 2))
		first.write()
		f := Files{Dir: dir}
		got, wrong, err := f.ReadLIDs(0)
		if want := lids(0x21, 2, 0x1000, 3, 0x77, 7, 0x1121, 12, 0x2000, 13); err != nil || wrong != nil ||
			!maps.Equal(got, want) {
			t.Errorf("LIDs %v, want %v; %v %v", got, want, wrong, err)
		}
		keys, wrong, err := f.ReadMKeys()
		if err != nil || wrong != nil || len(keys) != 6 {
			t.Errorf("M_Keys %v; %v %v", keys, wrong, err)
		}
		ends, wrong, err := f.ReadNeighbors()
		if err != nil || wrong != nil || len(ends) != 8 {
			t.Errorf("neighbors %v; %v %v", ends, wrong, err)
		}
	}
	if n := strings.Count(log.String(), "in use in another subnet"); n != 2 || strings.Contains(log.String(), "ERROR") {
		t.Errorf("each reports it once, not %d times: %s", n, log.String())
	}
}
