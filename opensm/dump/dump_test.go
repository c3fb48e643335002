package dump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/file"
	"ibsm/topo"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// The comparison with OpenSM itself is in cmd/ibsm. The tests here are of what a
// healthy subnet does not show.

func write(t *testing.T, w writer, v *view.View) string {
	t.Helper()
	var text bytes.Buffer
	if err := w(t.Context(), &text, v, nil); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestReadBack: what is written is what is read.
func TestReadBack(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4", 0)
	tables, err := file.ReadLFTs("lfts", strings.NewReader(write(t, LFTs, v)))
	if err != nil {
		t.Fatal(err)
	}
	for s, n := range v.Topo.Switches {
		if got := tables.Switches[s]; got.GUID != v.Topo.Nodes[n].GUID || !slices.Equal(got.Port, v.Tables.LFT[s]) {
			t.Errorf("switch %v: %v, want %v", got.GUID, got.Port, v.Tables.LFT[s])
		}
	}
	if len(tables.Owner) != len(v.Topo.EndPorts) {
		t.Errorf("%d owners of %d LIDs", len(tables.Owner), len(v.Topo.EndPorts))
	}
	matrix, err := file.ReadHops("matrix", strings.NewReader(write(t, LIDMatrix, v)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range matrix.Switches {
		if h := &matrix.Switches[i]; len(h.LIDs) != len(v.Topo.Switches) || h.Ports != 5 {
			t.Errorf("switch %v: %d LIDs, %d ports", h.GUID, len(h.LIDs), h.Ports)
		}
	}
	if len(matrix.Owner) != len(v.Topo.Switches) {
		t.Errorf("%d owners of %d switches", len(matrix.Owner), len(v.Topo.Switches))
	}
}

// TestBadRoutes: opensm.fdbs says what is wrong with a route.
func TestBadRoutes(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 0) // switches of four ports: two leaves are two links apart
	leaf := v.Topo.Nodes[v.Topo.Switches[0]].Switch
	_, uplinks := routing.NewGraph(v.Topo).Edges(leaf)
	for _, c := range []struct {
		name   string
		change func(row []uint8, other mad.LID)
		want   string
	}{
		{"none", func(row []uint8, other mad.LID) { row[other] = routing.NoPath }, `UNREACHABLE`},
		{"to a host", func(row []uint8, other mad.LID) { row[other] = 1 }, `001  : HOPS UNKNOWN`},
		{"port that is not there", func(row []uint8, other mad.LID) { row[other] = 200 }, `200  : HOPS UNKNOWN`},
		{"best", func(row []uint8, other mad.LID) { row[other] = uplinks[0] }, `00\d  : 02   : yes`},
		{"long way round", func(row []uint8, other mad.LID) {
			spine := v.LIDs.Base[v.Topo.Port(v.Topo.Switches[len(v.Topo.Switches)-1], 0)]
			for _, port := range uplinks { // the one that does not lead to the last spine at once
				if row[spine] != port {
					row[spine] = port
					break
				}
			}
		}, `00\d  : 03   : No 1 hop path possible via port \d!`},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := *v
			changed.Tables = &routing.Tables{LFT: slices.Clone(v.Tables.LFT), Top: v.Tables.Top}
			row := slices.Clone(v.Tables.LFT[leaf])
			changed.Tables.LFT[leaf] = row
			other := v.LIDs.Base[v.Topo.Port(v.Topo.Switches[1], 0)]
			c.change(row, other)
			table, _, _ := strings.Cut(write(t, Routes, &changed),
				"dump_ucast_routes: Switch "+v.Topo.Nodes[v.Topo.Switches[1]].GUID.String())
			if !regexp.MustCompile(`(?m)^0x[0-9A-F]{4} : ` + c.want + `$`).MatchString(table) {
				t.Errorf("no line %s in\n%s", c.want, table)
			}
		})
	}
}

// TestHoles: LIDs without an owner, entries of such LIDs, and hosts that no cable
// connects to a switch.
func TestHoles(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 0)
	base := slices.Clone(v.LIDs.Base)
	host := v.Topo.EndPorts[len(v.Topo.EndPorts)-1]
	gone := base[host]
	base[host] = 0
	v.LIDs = topo.NewLIDs(base, v.LIDs.LMC)
	if text := write(t, LFTs, v); !strings.Contains(text, "# unknown node and type\n") {
		t.Errorf("LID %v, which nobody owns, is not notified of:\n%s", gone, text)
	}
	v.LIDs = topo.NewLIDs(make([]mad.LID, len(base)), v.LIDs.LMC)
	if text := write(t, LIDMatrix, v); strings.Contains(text, "# portguid") {
		t.Errorf("hops to LIDs that nobody has:\n%s", text)
	}
}

func TestDescription(t *testing.T) {
	for _, c := range []struct{ desc, want string }{
		{"", "<unknown>"},
		{"node mlx5_0", "node mlx5_0"},
		{"tab\there \x1b[31m\x7f\xff", "tab here  [31m  "},
		{strings.Repeat("x", 64), strings.Repeat("x", 63)},
	} {
		node := topo.Node{GUID: 7}
		copy(node.Desc[:], c.desc)
		if got := string(appendName(nil, names.Map{8: "other"}, &node)); got != c.want {
			t.Errorf("%q: %q, want %q", c.desc, got, c.want)
		}
		if got := string(appendName(nil, names.Map{7: "given"}, &node)); got != "given" {
			t.Errorf("%q: %q though it was given a name", c.desc, got)
		}
	}
}

// TestLinks: width, state and speed of a cable.
func TestLinks(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 0)
	p := v.Topo.EndPorts[0]
	for i := range v.Topo.EndPorts {
		if v.Topo.Nodes[v.Topo.Ports[v.Topo.EndPorts[i]].Node].Type == mad.CA {
			p = v.Topo.EndPorts[i]
		}
	}
	port, far := &v.Topo.Ports[p].Info, &v.Topo.Ports[endPort(v.Topo, v.Topo.Ports[p].Peer)].Info
	for _, c := range []struct {
		width     mad.LinkWidth
		state     smp.PortState
		speed     uint8
		ext       uint8
		farHasExt bool
		want      string
	}{
		{mad.Width4x, smp.PortActive, 1, 0, true, "PHY=4x LOG=ACT SPD=2.5\n"},
		{mad.Width1x, smp.PortArmed, 2, 0, true, "PHY=1x LOG=ARM SPD=5\n"},
		{mad.Width8x, smp.PortInit, 4, 0, false, "PHY=8x LOG=INI SPD=10\n"},
		{mad.Width12x, smp.PortDown, 4, 1, true, "PHY=12x LOG=DWN SPD=14\n"},
		{mad.Width2x, smp.PortActive, 4, 2, true, "PHY=2x LOG=ACT SPD=25\n"},
		{mad.Width4x, smp.PortActive, 4, 4, true, "PHY=4x LOG=ACT SPD=50\n"},
		{mad.Width4x, smp.PortActive, 4, 4, false, "PHY=4x LOG=ACT SPD=10\n"},
		{mad.Width4x, smp.PortActive, 4, 8, true, "PHY=4x LOG=ACT SPD=??\n"},
		{0, smp.PortActive, 0, 0, true, "PHY=?? LOG=ACT SPD=??\n"},
	} {
		port.SetLinkWidthActive(c.width)
		port.SetPortState(c.state)
		port.SetLinkSpeedActive(c.speed)
		port.SetLinkSpeedExtActive(c.ext)
		far.SetCapabilityMask(0)
		if c.farHasExt {
			far.SetCapabilityMask(smp.IsExtendedSpeedsSupported)
		}
		if got := string(appendLink(nil, v.Topo, p)); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestNumbers: numbers are as wide as asked, or wider.
func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(appendHex(nil, 0, 4, upperDigits)), "0000"},
		{string(appendHex(nil, 0xabc, 2, upperDigits)), "ABC"},
		{string(appendHex(nil, 1<<63, 16, lowerDigits)), "8000000000000000"},
		{string(appendDecimal(nil, 0, 1)), "0"},
		{string(appendDecimal(nil, 7, 3)), "007"},
		{string(appendDecimal(nil, 49151, 3)), "49151"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

var allFiles = []string{"opensm-lfts.dump", "opensm-lid-matrix.dump", "opensm-subnet.lst", "opensm.fdbs",
	"opensm.mcfdbs"}

// files are the files in a folder.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestDir: which files are written, and that others stay when one cannot be.
func TestDir(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 0)
	dir := t.TempDir()
	if err := (Dir{Path: dir}).Write(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"opensm-subnet.lst"}) {
		t.Errorf("without routing: %v", got)
	}
	if err := os.Remove(filepath.Join(dir, "opensm-subnet.lst")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "opensm-subnet.lst"), 0o700); err != nil { // nothing can take its place
		t.Fatal(err)
	}
	if err := (Dir{Path: dir, Routing: true}).Write(t.Context(), v); err == nil ||
		strings.Contains(err.Error(), "lfts") {
		t.Errorf("a folder in the way of opensm-subnet.lst: %v", err)
	}
	if got := files(t, dir); !slices.Equal(got, allFiles) {
		t.Errorf("with routing: %v", got)
	}
}

// TestRootsOfARefusal: the roots of an earlier sweep do not stay where updn has refused the subnet since.
func TestRootsOfARefusal(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 0)
	d := Dir{Path: t.TempDir(), Routing: true}
	text := func(v *view.View) string {
		if err := d.Write(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(d.Path, "opensm-updn-roots.dump"))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	tables := *v.Tables
	tables.Findings = &routing.Findings{Roots: []topo.SwitchIdx{0}}
	with, without := *v, *v
	with.Tables = &tables
	if want := fmt.Sprintf("%#x\n", uint64(v.Topo.Nodes[v.Topo.Switches[0]].GUID)); text(&with) != want {
		t.Errorf("want %q", want)
	}
	without.Routing.Refused = []view.Refusal{{Engine: "updn"}}
	if got := text(&without); got != "" {
		t.Errorf("%q after a refusal", got)
	}
}

// TestInterrupted: a file that is not finished leaves the old one as it was.
func TestInterrupted(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 0)
	dir := t.TempDir()
	old := filepath.Join(dir, "opensm-lfts.dump")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(ctx context.Context, w io.Writer, v *view.View, given names.Map) error {
		io.WriteString(w, "half a ")
		cancel()
		return LFTs(ctx, w, v, given)
	}
	err := Dir{Path: dir}.replace("opensm-lfts.dump", 0o644, false, func(w io.Writer) error {
		return stop(ctx, w, v, nil)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "old" {
		t.Errorf("the old file says %q (%v)", text, err)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// TestRegistered: what is registered is written when it has changed, for its owner alone,
// and what is put last is not lost.
func TestRegistered(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 0)
	dir := t.TempDir()
	k := NewKeeper(dir, nil, func() bool { return false }, slog.New(slog.DiscardHandler))
	reg := registry.New()
	port := v.Topo.Ports[v.Topo.EndPorts[3]].GUID
	if err := reg.Apply(
		registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: port, Index: 1}, GUID: 0x77}}); err != nil {
		t.Fatal(err)
	}
	first := reg.Freeze()
	k.PutSA(Registered{State: first, View: v, Now: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.Run(ctx)
	k.WriteRest()
	path := filepath.Join(dir, "opensm-sa.dump")
	text, err := os.ReadFile(path)
	if want := fmt.Sprintf("GUIDInfo Record: base_guid=%v lid=0x%04x block_num=0x0 guid0=%v guid1=0x0000000000000077 ",
		port, uint16(v.LIDs.Base[v.Topo.EndPorts[3]]), port); err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%v: %s, want %s", err, text, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	k.PutSA(Registered{State: first, View: v, Now: 2})
	k.PutSA(Registered{View: v, Now: 2})
	k.WriteRest()
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("what has not changed is written: %v", got)
	}
}

// TestKeeper: the last view is written before Run ends, and the same error is reported
// once.
func TestKeeper(t *testing.T) {
	none := func() bool { return false }
	first, last := viewtest.New(t, "fattree:k=4,levels=2", 0), viewtest.New(t, "fattree:k=4", 0)
	dir := t.TempDir()
	k := NewKeeper(dir, nil, none, slog.New(slog.DiscardHandler))
	k.Put(nil)
	k.Put(first)
	k.Put(last) // nobody has taken the first
	k.Close()
	k.Run(t.Context())
	got, err := os.ReadFile(filepath.Join(dir, "opensm-subnet.lst"))
	if err != nil {
		t.Fatal(err)
	}
	if want := write(t, Subnet, last); string(got) != want {
		t.Errorf("got %d bytes, the last view has %d", len(got), len(want))
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("files about routes that were not asked for: %v", left)
	}
	NewKeeper(dir, nil, func() bool { return true }, nil).write(t.Context(), last)
	if left := files(t, dir); len(left) != len(allFiles) {
		t.Errorf("not all files: %v", left)
	}

	var reported bytes.Buffer
	k = NewKeeper(filepath.Join(dir, "none"), nil, none, slog.New(slog.NewTextHandler(&reported, nil)))
	for range 3 {
		k.write(t.Context(), first)
	}
	if strings.Count(reported.String(), "\n") != 1 || !strings.Contains(reported.String(), "no such file") {
		t.Errorf("reported: %s", &reported)
	}
}

// TestSweepWrites: the files are written after each heavy sweep, as OpenSM does, also where
// it has found nothing changed: somebody may have taken them away. A join writes none.
func TestSweepWrites(t *testing.T) {
	swept := *viewtest.New(t, "fattree:k=4,levels=2", 0)
	swept.Partitions = new(partitions.Tables)
	joined, again := swept, swept
	joined.Gen, again.Gen = 1, 2
	again.Partitions = new(partitions.Tables)
	k := NewKeeper(t.TempDir(), nil, func() bool { return false }, slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		v     *view.View
		waits int
	}{{&swept, 1}, {&joined, 0}, {&again, 1}} {
		if k.Put(c.v); len(k.views) != c.waits {
			t.Fatalf("generation %d: %d views must be written, want %d", c.v.Gen, len(k.views), c.waits)
		}
		for len(k.views) > 0 {
			<-k.views
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	v := viewtest.New(b, "fattree:k=16", 0) // 1024 hosts, 320 switches
	for name, w := range map[string]writer{"subnet": Subnet, "lfts": LFTs, "matrix": LIDMatrix, "fdbs": Routes} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var size countWriter
			for b.Loop() {
				if err := w(b.Context(), &size, v, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(size) / int64(b.N))
		})
	}
}

type countWriter int

func (c *countWriter) Write(b []byte) (int, error) { *c += countWriter(len(b)); return len(b), nil }
