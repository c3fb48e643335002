package nue

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
)

// fabrics are whole and damaged ones, with the LMC and the number of lanes that they get. Of those that
// come first the small size tests all.
var fabrics = []struct {
	spec       string
	lmc, lanes int
}{
	{"fattree:k=4", 0, 1},
	{"torus:dims=5x5,hosts=2", 0, 1},
	{"torus:dims=5x5,hosts=1", 1, 4},
	{"mesh:dims=4x5,hosts=1", 2, 2},
	{"dragonfly", 0, 1},
	{"hypercube", 1, 3},
	{"random:switches=40,degree=4,hosts=1,seed=5", 0, 8},
	{"random:switches=30,degree=4,hosts=2,seed=6", 1, 1},
	{"torus:dims=6x5,hosts=1,missing-links=5%", 0, 2},
	{"fattree:k=6,missing-links=5%", 0, 1},
	{"hyperx", 2, 1},
	{"hyperx:missing-links=5%", 0, 5},
	{"torus:dims=4x4x4,hosts=1", 0, 1},
	{"torus:dims=4x4x4,hosts=1", 0, 4},
	{"torus:dims=5x5x5,hosts=1", 0, 1},
	{"torus:dims=5x5x5,hosts=1", 0, 8},
	{"mesh:dims=3x4x3,hosts=1,missing-switches=2", 1, 1},
	{"torus:dims=5x5,hosts=1,missing-switches=1,missing-links=3%,seed=2", 2, 6},
	{"torus:dims=6x6x3,hosts=1", 0, 7},
	{"torus:dims=7,hosts=1", 2, 1},
	{"torus:dims=2x3x5,hosts=1", 0, 2},
	{"torus:dims=8x7,hosts=1,missing-links=10%,seed=4", 0, 1},
	{"fattree:k=8", 0, 1},
	{"fattree:k=8", 2, 3},
	{"fattree:k=8,missing-links=5%", 1, 1},
	{"dragonfly:missing-links=5%", 0, 2},
	{"hypercube:missing-links=5%", 0, 1},
	{"random:switches=60,degree=5,hosts=2,seed=7", 0, 1},
	{"random:switches=60,degree=3,hosts=2,seed=8", 0, 2},
}

// small is how many fabrics the small size tests.
const small = 10

// TestOpenSM routes what OpenSM has routed, and wants each entry to be its, and no credit loop.
func TestOpenSM(t *testing.T) {
	some := fabrics
	if os.Getenv("IBSM_PROOF") == "" {
		some = fabrics[:small]
	}
	for _, switches := range []bool{false, true} {
		for _, c := range some {
			t.Run(fmt.Sprintf("%s lmc %d lanes %d switches %v", c.spec, c.lmc, c.lanes, switches), func(t *testing.T) {
				compare(t, routingtest.File(t, c.spec), c.lmc,
					Settings{MaxVLs: uint8(c.lanes), Switches: switches, QoS: true})
			})
		}
		for _, file := range routingtest.Files(t) {
			t.Run(fmt.Sprintf("%s switches %v", filepath.Base(file), switches), func(t *testing.T) {
				compare(t, file, 0, Settings{MaxVLs: 2, Switches: switches, QoS: true})
			})
		}
	}
}

// options are the settings as OpenSM takes them. They need a configuration file, too.
func (s Settings) options(t *testing.T) []string {
	conf := filepath.Join(t.TempDir(), "nue.conf")
	text := fmt.Sprintf("nue_include_switches %s\n", strings.ToUpper(strconv.FormatBool(s.Switches)))
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	options := []string{"-F", conf, "--nue_max_num_vls", strconv.Itoa(int(s.MaxVLs))}
	if s.QoS {
		options = append(options, "-Q")
	}
	return options
}

func compare(t *testing.T, file string, lmc int, s Settings) {
	t.Helper()
	run := routingtest.OpenSM(t, file, "nue", append(s.options(t), "-l", strconv.Itoa(lmc))...)
	if !strings.Contains(run.Log, "nue tables configured") {
		t.Fatal("OpenSM did not route by nue")
	}
	if strings.Contains(run.Log, "consider switches as traffic sinks") != s.Switches {
		t.Fatal("OpenSM did not read nue_include_switches")
	}
	in := routing.In{Topo: run.Topo, LIDs: run.LIDs}
	tables, err := New(s)(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	run.Compare(t, tables)
	mustKeep(t, in, tables, s)
}

// TestCircle: OpenSM takes channels that are connected for ones that are not, and on this torus its
// routes have a credit loop. They are what the engine finds at first, but not what it returns.
func TestCircle(t *testing.T) {
	s := Settings{MaxVLs: 2, QoS: true}
	run := routingtest.OpenSM(t, routingtest.File(t, "torus:dims=6x6x6,hosts=1,missing-links=1%,seed=1"), "nue",
		s.options(t)...)
	in := routing.In{Topo: run.Topo, LIDs: run.LIDs}
	r, err := newRoutes(t.Context(), in, s)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := r.centres(t.Context(), r.lanes)
	if err != nil {
		t.Fatal(err)
	}
	circles := 0
	for lane, dests := range r.lanes {
		circle, err := r.tryLane(t.Context(), uint8(lane), dests, roots[lane], false)
		if err != nil {
			t.Fatal(err)
		}
		if circle {
			circles++
		}
	}
	if err := r.routeSwitches(t.Context()); err != nil {
		t.Fatal(err)
	}
	theirs := r.result()
	run.Compare(t, theirs)
	report, err := creditloop.Find(t.Context(),
		creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: routing.NewForwarding(in.Topo, in.LIDs, theirs),
			SLs: theirs.SLs})
	if err != nil || report.Loop == nil || circles != 1 {
		t.Errorf("%d circles, OpenSM's loop %+v, %v", circles, report, err)
	}
	tables, err := New(s)(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	mustKeep(t, in, tables, s)
}
