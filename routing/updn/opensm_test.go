package updn

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
)

// TestOpenSM routes what OpenSM has routed, with roots that it detects or that a file names, and
// wants no entry to differ.
func TestOpenSM(t *testing.T) {
	for _, c := range []struct {
		spec    string
		lmc     int
		roots   int // the first so many switches; 0: detected
		connect bool
	}{
		{"fattree:k=4", 0, 0, false},
		{"fattree:k=8", 1, 0, false},
		{"fattree:k=8,levels=2", 0, 0, true},
		{"fattree:k=8,missing-links=5%", 0, 0, true},
		{"torus:dims=4x5,hosts=1", 0, 1, false},
		{"torus:dims=4x5,hosts=1", 0, 3, true},
		{"random:switches=30,degree=4,hosts=2,seed=4", 0, 2, false},
		{"random:switches=30,degree=4,hosts=2,seed=5", 2, 1, false},
		{"hyperx", 0, 4, true},
		{"dragonfly", 0, 2, false},
	} {
		t.Run(fmt.Sprintf("%s lmc %d roots %d connect %v", c.spec, c.lmc, c.roots, c.connect), func(t *testing.T) {
			file := routingtest.File(t, c.spec)
			options, s := []string{"-l", strconv.Itoa(c.lmc)}, Settings{ConnectRoots: c.connect}
			if c.connect {
				options = append(options, "-z")
			}
			if c.roots > 0 {
				var list bytes.Buffer
				for i := range c.roots {
					s.Roots = append(s.Roots, switchGUID(t, file, i))
					fmt.Fprintf(&list, "0x%x\n", uint64(s.Roots[i]))
				}
				name := filepath.Join(t.TempDir(), "roots")
				if err := os.WriteFile(name, list.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				options = append(options, "-a", name)
			}
			run := routingtest.OpenSM(t, file, "updn", options...)
			if !bytes.Contains([]byte(run.Log), []byte("updn tables configured")) {
				t.Fatal("OpenSM did not route by updn")
			}
			tables, err := New(s, routing.Balancing{})(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
			if err != nil {
				t.Fatal(err)
			}
			run.Compare(t, tables)
			mustForbid(t, run, tables)
		})
	}
}

// TestRootTwice: with connect_roots a root that the file names twice is reached by the cheapest ways, as if there were
// two.
func TestRootTwice(t *testing.T) {
	file := routingtest.File(t, "torus:dims=3x4,hosts=1")
	root := switchGUID(t, file, 0)
	s := Settings{ConnectRoots: true, Roots: []mad.GUID{root, root}}
	b := routing.Balancing{Weights: map[routing.SwitchPort]uint8{}}
	var weights []byte
	for i := range 12 {
		for port := uint8(1); port < 5; port++ {
			p, weight := routing.SwitchPort{Switch: switchGUID(t, file, i), Port: port}, uint8(1+i*int(port)%7*20)
			b.Weights[p] = weight
			weights = fmt.Appendf(weights, "%#x %d %d\n", uint64(p.Switch), port, weight)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"roots": fmt.Sprintf("%#x\n%#x\n", uint64(root), uint64(root)),
		"weights": string(weights)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := routingtest.OpenSM(t, file, "updn", "-z", "-a", filepath.Join(dir, "roots"), "--hop_weights_file",
		filepath.Join(dir, "weights"))
	tables, err := New(s, b)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	run.Compare(t, tables)
	once, err := New(Settings{ConnectRoots: true, Roots: []mad.GUID{root}}, b)(t.Context(),
		routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil || slices.EqualFunc(tables.LFT, once.LFT, bytes.Equal) {
		t.Error("the same as with one root", err)
	}
}

// switchGUID is the GUID of a switch of a file.
func switchGUID(t *testing.T, file string, n int) mad.GUID {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if guid, is := bytes.CutPrefix(bytes.TrimSpace(line), []byte("switchguid=")); is {
			if n--; n < 0 {
				hex, _, _ := bytes.Cut(guid, []byte("("))
				g, err := mad.ParseGUID(string(hex))
				if err != nil {
					t.Fatal(err)
				}
				return g
			}
		}
	}
	t.Fatal("too few switches")
	return 0
}

// mustForbid checks the proof of tables that are OpenSM's: the entries that OpenSM leaves empty are lost where hosts or
// the manager need them, and in no other place: the rules forbid all others.
func mustForbid(t *testing.T, run *routingtest.Run, tables *routing.Tables) {
	t.Helper()
	report, err := verify.Check(t.Context(), 0, run.Topo, run.LIDs, tables, nil)
	if err != nil {
		t.Fatal(err)
	}
	needed, others := run.Empty(tables)
	if report.Bad() != needed || report.Unreached() != needed || report.Count[verify.Forbidden] != others {
		t.Errorf("%d entries that hosts or the manager need are empty, and %d others; the proof says %v, such as %+v",
			needed, others, report.Count, report.Examples)
	}
}
