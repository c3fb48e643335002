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
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// pair is a switch (GUID 0x1000) with two hosts (port GUIDs 0x11 and 0x21).
func pair(t *testing.T) *view.View {
	t.Helper()
	n := &net.Net{
		Nodes: []net.Node{{Type: mad.Switch, GUID: 0x1000, Ports: []net.Port{{GUID: 0x1000, Peer: net.NoEnd}}}},
	}
	for i := range 2 {
		guid := mad.GUID(i+1) << 4
		n.Nodes[0].Ports = append(n.Nodes[0].Ports, net.Port{Peer: net.End{Node: int32(i + 1), Port: 1}})
		n.Nodes = append(n.Nodes, net.Node{Type: mad.CA, GUID: guid, Ports: []net.Port{
			{Peer: net.NoEnd}, {GUID: guid + 1, Peer: net.End{Node: 0, Port: uint8(i + 1)}},
		}})
	}
	top, err := netwalk.Topo(n, net.End{Node: 1, Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &view.View{Topo: top}
}

// keep gives a Keeper of dir what put puts, and waits until it is written.
func keep(dir string, lids map[mad.GUID]LIDRange, mkeys map[mad.GUID]mad.MKey, put func(*Keeper)) (log string) {
	var b bytes.Buffer
	k := NewKeeper(&Files{Dir: dir}, lids, mkeys, slog.New(slog.NewTextHandler(&b, nil)))
	done := make(chan struct{})
	go func() {
		k.Run()
		close(done)
	}()
	put(k)
	k.Close()
	<-done
	return b.String()
}

// What is written is what OpenSM reads: LIDs also of ports that are absent, keys that are
// shown or were known, links from both ends.
func TestKeeper(t *testing.T) {
	dir := t.TempDir()
	v := pair(t)
	hidden := &v.Topo.Ports[v.Topo.FindPort(0x21)].Info
	hidden.SetMKeyProtectBits(1)
	v.Topo.Ports[v.Topo.FindPort(0x11)].Info.SetMKey(0xaa)
	mkeys := map[mad.GUID]mad.MKey{0x21: 0xbb, 0x77: 0xcc, 0x99: 0xdd}
	log := keep(dir, map[mad.GUID]LIDRange{0x77: {7, 7}, 0x88: {8, 8}}, mkeys, func(k *Keeper) {
		k.PutLIDs(map[mad.GUID]LIDRange{0x11: {1, 1}, 0x21: {2, 3}, 0x88: {}})
		k.PutView(v)
	})
	if log != "" {
		t.Error(log)
	}
	f := &Files{Dir: dir}
	lids, w1, err1 := f.ReadLIDs(0)
	keys, w2, err2 := f.ReadMKeys()
	ends, w3, err3 := f.ReadNeighbors()
	if len(w1)+len(w2)+len(w3) > 0 || err1 != nil || err2 != nil || err3 != nil {
		t.Error(w1, w2, w3, err1, err2, err3)
	}
	if want := (map[mad.GUID]LIDRange{0x11: {1, 1}, 0x21: {2, 3}, 0x77: {7, 7}}); !maps.Equal(lids, want) {
		t.Errorf("LIDs %v, want %v", lids, want)
	}
	if want := (map[mad.GUID]mad.MKey{0x11: 0xaa, 0x21: 0xbb, 0x77: 0xcc, 0x1000: 0}); !maps.Equal(keys, want) {
		t.Errorf("M_Keys %v, want %v", keys, want)
	}
	want := map[End]End{{0x1000, 1}: {0x11, 1}, {0x11, 1}: {0x1000, 1}, {0x1000, 2}: {0x21, 1}, {0x21, 1}: {0x1000, 2}}
	if !maps.Equal(ends, want) {
		t.Errorf("neighbors %v, want %v", ends, want)
	}
}

// A folder that cannot be written is reported once.
func TestKeeperTrouble(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file", "dir")
	if err := os.WriteFile(filepath.Dir(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	v := pair(t)
	k := NewKeeper(&Files{Dir: dir}, nil, nil, nil)
	var b bytes.Buffer
	k.logger = slog.New(slog.NewTextHandler(&b, nil))
	for range 2 {
		k.PutView(v)
		k.write()
	}
	if n := strings.Count(b.String(), "level=ERROR"); n != 1 {
		t.Errorf("reported %d times: %s", n, b.String())
	}
	if err := os.Remove(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	k.PutView(v)
	k.write()
	if _, err := os.Stat(filepath.Join(dir, "neighbors")); err != nil ||
		!strings.Contains(b.String(), "written again") {
		t.Errorf("%v; reported %s", err, b.String())
	}
}

// After another manager has been at the files they are written although nothing has
// changed.
func TestKeeperUnusable(t *testing.T) {
	dir := t.TempDir()
	k := NewKeeper(&Files{Dir: dir}, map[mad.GUID]LIDRange{5: {5, 5}}, nil, slog.New(slog.DiscardHandler))
	write := func(want string) {
		t.Helper()
		k.write()
		if b, err := os.ReadFile(filepath.Join(dir, guid2lid)); err != nil || string(b) != want {
			t.Errorf("%q, want %q; %v", b, want, err)
		}
	}
	const ours = "0x0000000000000005 0x0005 0x0005\n\n"
	write(ours)
	if err := os.WriteFile(filepath.Join(dir, guid2lid), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("another")
	k.MarkDirty()
	write(ours)
}

// Who becomes master may have to read guid2lid first: before something is known to have changed, what another manager
// has written stays.
func TestKeeperLeavesFiles(t *testing.T) {
	for _, changes := range []bool{false, true} {
		dir := t.TempDir()
		k := NewKeeper(&Files{Dir: dir}, map[mad.GUID]LIDRange{5: {5, 5}}, nil, slog.New(slog.DiscardHandler))
		const theirs = "0x0000000000000005 0x0123 0x0123\n\n"
		if err := os.WriteFile(filepath.Join(dir, guid2lid), []byte(theirs), 0o600); err != nil {
			t.Fatal(err)
		}
		k.MarkDirty()
		k.PutLIDs(nil)
		want := theirs
		if changes {
			k.PutLIDs(map[mad.GUID]LIDRange{5: {6, 6}})
			want = "0x0000000000000005 0x0006 0x0006\n\n"
		}
		k.Close()
		k.Run()
		if b, err := os.ReadFile(filepath.Join(dir, guid2lid)); err != nil || string(b) != want {
			t.Errorf("changes %t: %q, want %q; %v", changes, b, want, err)
		}
	}
}
