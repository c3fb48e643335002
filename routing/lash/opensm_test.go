package lash

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
)

var lanesNeeded, inLayer = regexp.MustCompile(`Lanes needed: (\d+)`), regexp.MustCompile(`Lanes in layer (\d+): (\d+)`)

// fabrics are whole and damaged ones, with the LMC that they get. Of those that come first the small
// size tests all.
var fabrics = []struct {
	spec string
	lmc  int
}{
	{"fattree:k=4", 0},
	{"torus:dims=5x5,hosts=2", 0},
	{"torus:dims=3x3x3,hosts=1", 1},
	{"random:seed=3", 0},
	{"torus:dims=4x4x4,hosts=1", 0},
	{"random:switches=40,degree=4,hosts=1,seed=5", 0},
	{"mesh:dims=4x5,hosts=1", 2},
	{"torus:dims=6x5,hosts=1,missing-links=5%", 1},
	{"mesh:dims=3x4x3,hosts=1,missing-switches=2", 0},
	{"torus:dims=5x5,hosts=1,missing-switches=1,missing-links=3%,seed=2", 2},
	{"dragonfly", 0},
	{"hyperx", 0},
	{"hypercube", 1},
	{"torus:dims=6x6x3,hosts=1", 0},
	{"torus:dims=7,hosts=1", 2},
	{"torus:dims=2x3x5,hosts=1", 0},
	{"torus:dims=8x7,hosts=1,missing-links=10%,seed=4", 0},
	{"torus:dims=5x5x5,hosts=1,missing-switches=2,missing-links=2%", 0},
	{"mesh:dims=7x7,hosts=2,missing-links=4%", 1},
	{"mesh:dims=5x5x4,hosts=1,missing-links=3%,seed=6", 0},
	{"torus:dims=3x3x3x3,hosts=1", 0},
	{"torus:dims=12x3,hosts=1,missing-switches=3,seed=9", 1},
	{"hyperx:missing-links=5%", 2},
	{"fattree:k=6,missing-links=5%", 2},
}

// small is how many fabrics the small size tests.
const small = 10

// TestOpenSM routes what OpenSM has routed, and wants each entry to be its, and as many lanes.
func TestOpenSM(t *testing.T) {
	some := fabrics
	if os.Getenv("IBSM_PROOF") == "" {
		some = fabrics[:small]
	}
	for _, mesh := range []bool{false, true} {
		settings := Settings{MeshAnalysis: mesh}
		for i, c := range some {
			t.Run(fmt.Sprintf("%s lmc %d mesh %v", c.spec, c.lmc, mesh), func(t *testing.T) {
				settings.StartVL = uint8(i % 4)
				compareWithOpenSM(t, routingtest.File(t, c.spec), c.lmc, settings)
			})
		}
		for _, file := range routingtest.Files(t) {
			t.Run(fmt.Sprintf("%s mesh %v", filepath.Base(file), mesh), func(t *testing.T) {
				compareWithOpenSM(t, file, 0, settings)
			})
		}
	}
}

// options are the settings as OpenSM takes them.
func (s Settings) options() []string {
	options := []string{"--lash_start_vl", strconv.Itoa(int(s.StartVL))}
	if s.MeshAnalysis {
		options = append(options, "--do_mesh_analysis")
	}
	return options
}

func compareWithOpenSM(t *testing.T, file string, lmc int, settings Settings) {
	run := routingtest.OpenSM(t, file, "lash", append(settings.options(), "-l", strconv.Itoa(lmc))...)
	tables, err := New(settings)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	run.Compare(t, tables)
	if m := lanesNeeded.FindStringSubmatch(run.Log); m == nil ||
		m[1] != strconv.Itoa(tables.SLs.Count-int(settings.StartVL)) {
		t.Errorf("%d lanes, OpenSM %q", tables.SLs.Count, m)
	}
	paths := make([]int, tables.SLs.Count-int(settings.StartVL))
	for i, row := range tables.SLs.Rows {
		for j, sl := range row {
			if i != j {
				paths[sl-settings.StartVL]++
			}
		}
	}
	theirs := inLayer.FindAllStringSubmatch(run.Log, -1)
	for lane, n := range paths { // logged before and after the lanes are evened out
		if m := theirs[len(theirs)-len(paths)+lane]; m[1] != strconv.Itoa(lane) || m[2] != strconv.Itoa(n) {
			t.Errorf("%d paths on lane %d, OpenSM %q", n, lane, m)
		}
	}
	t.Logf("paths by lane: %d", paths)
}
