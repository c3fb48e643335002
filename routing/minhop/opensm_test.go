package minhop

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"ibsm/routing"
	"ibsm/routing/routingtest"
)

// TestOpenSM routes what OpenSM has routed, with the LIDs it gave, and wants no
// entry to differ.
func TestOpenSM(t *testing.T) {
	for _, c := range []struct {
		spec  string
		lmc   int
		proof bool
	}{
		{"fattree:k=4", 0, false},
		{"fattree:k=4", 2, false},
		{"fattree:k=8,levels=2", 0, false},
		{"fattree:k=8", 0, false},
		{"fattree:k=8,taper=3,levels=2", 1, false},
		{"torus:dims=3x4,hosts=2", 0, false},
		{"torus:dims=3x4,hosts=2", 2, false},
		{"random:seed=3", 0, false},
		{"random:seed=3", 2, false},
		{"fattree:k=8", 2, true},
		{"fattree:k=8,missing-links=5%", 0, true},
		{"fattree:k=8,missing-links=5%", 2, true},
		{"fattree:k=16", 0, true},
		{"fattree:k=16,missing-switches=3", 0, true},
		{"torus:dims=4x4x4", 0, true},
		{"mesh:dims=5x5", 3, true},
		{"hypercube", 0, true},
		{"hypercube", 2, true},
		{"dragonfly", 0, true},
		{"dragonfly", 2, true},
		{"hyperx", 0, true},
		{"hyperx", 2, true},
		{"tree", 2, true},
		{"random:seed=9,missing-links=10%", 7, true},
	} {
		t.Run(fmt.Sprintf("%s lmc %d", c.spec, c.lmc), func(t *testing.T) {
			if c.proof && !proof() {
				t.Skip("runs when IBSM_PROOF is set")
			}
			compareWithOpenSM(t, routingtest.File(t, c.spec), c.lmc)
		})
	}
}

// TestOpenSMFiles does the same for the fabrics that come with ibsim, and an odd one.
func TestOpenSMFiles(t *testing.T) {
	for _, file := range routingtest.Files(t) {
		for _, lmc := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s lmc %d", filepath.Base(file), lmc), func(t *testing.T) {
				compareWithOpenSM(t, file, lmc)
			})
		}
	}
}

func compareWithOpenSM(t *testing.T, file string, lmc int) {
	run := routingtest.OpenSM(t, file, "minhop", "-l", strconv.Itoa(lmc))
	run.Compare(t, mustRoute(t, routing.In{Topo: run.Topo, LIDs: run.LIDs}))
}
