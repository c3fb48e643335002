package file

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// TestOpenSM has OpenSM write its dump files with some engine, then load them, also where ports
// have other LIDs or cables are missing, and wants no entry to differ from what it loads.
func TestOpenSM(t *testing.T) {
	for _, c := range []struct {
		name           string
		dumped, loaded string // fabrics
		engine         string
		lmc            string // of the second
	}{
		{"the same fabric", "fattree:k=4", "fattree:k=4", "updn", "0"},
		{"more LIDs", "fattree:k=4", "fattree:k=4", "minhop", "1"},
		{"ports have gone, and others have other LIDs", "fattree:k=4", "fattree:k=4,hosts=1", "lash", "0"},
		{"lash on a torus", "torus:dims=3x4,hosts=2", "torus:dims=3x4,hosts=2", "lash", "0"},
		{"cables are missing", "fattree:k=8", "fattree:k=8,missing-links=5%", "minhop", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := routingtest.OpenSM(t, routingtest.File(t, c.dumped), c.engine)
			second := routingtest.File(t, c.loaded)
			lfts := filepath.Join(first.Dir, "opensm-lfts.dump")
			run := routingtest.OpenSM(t, second, "file", "-U", lfts, "-l", c.lmc)
			if !strings.Contains(run.Log, "file tables configured") {
				t.Fatal("OpenSM did not load its dump")
			}
			run.Compare(t, routed(t, run, readLFTs(t, lfts).Route))
			hops := filepath.Join(first.Dir, "opensm-lid-matrix.dump")
			run = routingtest.OpenSM(t, second, "file", "-M", hops, "-l", c.lmc)
			if !strings.Contains(run.Log, "file tables configured") {
				t.Fatal("OpenSM did not load its lid matrix")
			}
			run.Compare(t, routed(t, run, readHops(t, hops).Engine(routing.Balancing{})))
		})
	}
}

// TestPlaceholders: a file that has a placeholder in the place of each portguid, as some sites' generators write it,
// gives the LIDs the ports that OpenSM gives them.
func TestPlaceholders(t *testing.T) {
	fabric := routingtest.File(t, "fattree:k=4")
	first := routingtest.OpenSM(t, fabric, "updn")
	for _, placeholder := range []string{"guid", "0x0000000000000000"} {
		for name, engine := range map[string]func(string) (routing.Engine, diag.List){
			"opensm-lfts.dump": func(file string) (routing.Engine, diag.List) {
				lfts := readLFTs(t, file)
				return lfts.Route, lfts.Warnings
			},
			"opensm-lid-matrix.dump": func(file string) (routing.Engine, diag.List) {
				hops := readHops(t, file)
				return hops.Engine(routing.Balancing{}), hops.Warnings
			},
		} {
			text, err := os.ReadFile(filepath.Join(first.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			owner := regexp.MustCompile("portguid 0x[0-9a-f]+")
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, owner.ReplaceAll(text, []byte("portguid "+placeholder)), 0o600); err != nil {
				t.Fatal(err)
			}
			option := map[string]string{"opensm-lfts.dump": "-U", "opensm-lid-matrix.dump": "-M"}[name]
			run := routingtest.OpenSM(t, fabric, "file", option, file)
			if !strings.Contains(run.Log, "file tables configured") {
				t.Fatalf("OpenSM did not load %s with %s", name, placeholder)
			}
			ours, warnings := engine(file)
			run.Compare(t, routed(t, run, ours))
			if want := fmt.Sprintf("here and in %d more lines", len(owner.FindAll(text, -1))-1); len(warnings) != 1 ||
				!strings.Contains(warnings[0].Text, want) {
				t.Errorf("%s with %s: warnings %v, want one with %q", name, placeholder, warnings, want)
			}
		}
	}
}

func routed(t *testing.T, run *routingtest.Run, engine routing.Engine) *routing.Tables {
	t.Helper()
	tables, err := engine(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func readLFTs(t *testing.T, name string) *LFTs {
	t.Helper()
	from, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	lfts, err := ReadLFTs(name, from)
	if err != nil {
		t.Fatal(err)
	}
	return lfts
}

func readHops(t *testing.T, name string) *Matrix {
	t.Helper()
	from, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	hops, err := ReadHops(name, from)
	if err != nil {
		t.Fatal(err)
	}
	return hops
}

// TestRefused: a port that a switch lacks is refused with its place, a switch that has gone is not.
func TestRefused(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=4")
	sw := in.Topo.Nodes[in.Topo.Switches[0]].GUID
	text := "Unicast lids [0-8] of switch Lid 2 guid 0x00000000000000aa ('gone'):\n0x0001 200\n" +
		"Unicast lids [0-8] of switch Lid 3 guid " + sw.String() + " ('here'):\n0x0001 5\n"
	lfts, err := ReadLFTs("routes", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lfts.Route(t.Context(), in); err == nil || !strings.HasPrefix(err.Error(), "routes:3:") ||
		!strings.Contains(err.Error(), "has no port 5, by which LID 1 leaves it") {
		t.Errorf("%v", err)
	}
}

// TestMoved: a route follows its port to the LID that this has now, and is dropped where the port has
// gone and its LID is another's.
func TestMoved(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=4")
	a, b := in.Topo.EndPorts[0], in.Topo.EndPorts[1]
	lid := func(p topo.PortIdx) mad.LID { return in.LIDs.Base[p] }
	f := &LFTs{Owner: map[mad.LID]mad.GUID{lid(a): in.Topo.Ports[b].GUID, lid(b): 0x77, 0x900: 0x78,
		0x901: in.Topo.Ports[a].GUID}}
	moved := f.moved(in)
	for was, want := range map[mad.LID]mad.LID{lid(a): lid(b), lid(b): 0, 0x900: 0x900, 0x901: lid(a), 0x902: 0x902} {
		if moved[was] != want {
			t.Errorf("LID %d is %d now, want %d", was, moved[was], want)
		}
	}
}
