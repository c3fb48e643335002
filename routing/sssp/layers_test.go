package sssp

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/sim/ibsim/ibsimtest"
)

// TestOpenSMDeadlockFree compares with OpenSM the tables, how many lanes are needed, how many paths
// each layer has, and the layer of the path between each two hosts.
func TestOpenSMDeadlockFree(t *testing.T) {
	for _, spec := range []string{"fattree:k=4", "hyperx", "dragonfly", "torus:dims=4x4x4,hosts=1",
		"torus:dims=5x5,hosts=2", "random:switches=40,degree=4,hosts=1,seed=5",
		"random:switches=30,degree=4,hosts=2,seed=6"} {
		t.Run(spec, func(t *testing.T) {
			file := routingtest.File(t, spec)
			run := routingtest.OpenSM(t, file, "dfsssp")
			if !strings.Contains(run.Log, "dfsssp tables configured") {
				t.Fatal("OpenSM did not route by dfsssp")
			}
			n := newNetwork(routing.In{Topo: run.Topo, LIDs: run.LIDs}, Settings{})
			list := n.destinations(Settings{})
			tables, err := n.place(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			run.Compare(t, tables)
			a := newAssignment(n, tables, list)
			if tables.SLs, err = a.assign(t.Context(), 8); err != nil {
				t.Fatal(err)
			}
			if needed := regexp.MustCompile(`Virtual Lanes needed: (\d+)`).FindStringSubmatch(run.Log); needed == nil ||
				needed[1] != strconv.Itoa(len(a.count)) {
				t.Errorf("%d lanes are needed, OpenSM %q", len(a.count), needed)
			}
			for i, count := range a.count {
				if line := fmt.Sprintf("%d. lane: %d\n", i, count); !strings.Contains(run.Log, line) {
					t.Errorf("not in OpenSM's log: %q", line)
				}
			}
			base, _ := balance(a.count, 8)
			layer := func(sl uint8) (layer int) {
				for i, first := range base {
					if uint64(sl) >= first {
						layer = i
					}
				}
				return layer
			}
			compared, differ := 0, 0
			for path, theirs := range run.Serve(t, ibsimtest.Dial).SLs(run.HostLIDs()) {
				compared++
				if got := tables.SLs.Of(path[0], path[1]); layer(got) != layer(theirs) {
					if differ++; differ < 10 {
						t.Errorf("from LID %v to LID %v: SL %d, OpenSM %d; layers begin at %v", path[0], path[1], got,
							theirs, base)
					}
				}
			}
			t.Logf("%d layers; compared %d paths, %d differ", len(a.count), compared, differ)
			mustBeFree(t, run, tables)
		})
	}
}

// mustBeFree fails the test if the routes between hosts have a credit loop.
func mustBeFree(t *testing.T, run *routingtest.Run, tables *routing.Tables) {
	t.Helper()
	r, err := creditloop.Find(t.Context(),
		creditloop.In{Topo: run.Topo, LIDs: run.LIDs, Forwarding: routing.NewForwarding(run.Topo, run.LIDs, tables),
			SLs: tables.SLs, Traffic: creditloop.BetweenHosts})
	if err != nil || r.Loop != nil {
		t.Errorf("%v; loop %+v", err, r.Loop)
	}
}

// TestTooFewLanes: a subnet that needs more lanes than there are is refused.
func TestTooFewLanes(t *testing.T) {
	in := routingtest.Problem(t, "torus:dims=4x4x4,hosts=1")
	in.Lanes = make([]uint8, len(in.Topo.Ports))
	for p := range in.Lanes {
		in.Lanes[p] = 2
	}
	if _, err := NewDeadlockFree(Settings{})(t.Context(), in); err == nil ||
		!strings.Contains(err.Error(), "the links between switches have 2") {
		t.Errorf("%v", err)
	}
}

// TestRefusesEarly: as soon as the last lane has a loop no more paths are moved: it would keep the loop.
func TestRefusesEarly(t *testing.T) {
	in := routingtest.Problem(t, "torus:dims=4x4x4,hosts=1")
	work := func(lanes uint8) (int64, error) {
		in.Lanes = slices.Repeat([]uint8{lanes}, len(in.Topo.Ports))
		ctx, budget, end := routing.WithBudget(t.Context(), math.MaxInt64)
		defer end()
		_, err := NewDeadlockFree(Settings{})(ctx, in)
		return math.MaxInt64 - budget.Left(), err
	}
	all, err := work(8)
	if err != nil {
		t.Fatal(err)
	}
	refused, err := work(2)
	var few *TooFewLanes
	if !errors.As(err, &few) || refused*4 > all {
		t.Errorf("%d units of work of %d, %v", refused, all, err)
	}
}
