package updn

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/routingtest"
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
		})
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
