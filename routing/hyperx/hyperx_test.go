package hyperx

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/mcast"
	"ibsm/routing/minhop"
	"ibsm/routing/quality"
	"ibsm/routing/routingtest"
	"ibsm/routing/routingtest/certificate"
	"ibsm/routing/shape"
	"ibsm/routing/sssp"
	"ibsm/routing/verify"
	"ibsm/topo"
)

// coordinates are those in the names of switches: "switch-1-2", or "switch-0110" in a hypercube.
func coordinates(in routing.In) *shape.HyperX {
	h := &shape.HyperX{}
	for _, n := range in.Topo.Switches {
		parts := strings.Split(in.Topo.Nodes[n].Desc.String(), "-")[1:]
		if len(parts) == 1 && len(parts[0]) > 2 {
			parts = strings.Split(parts[0], "")
		}
		var at []int32
		for d, text := range parts {
			c, _ := strconv.Atoi(text)
			at = append(at, int32(c))
			if d == len(h.Dims) {
				h.Dims = append(h.Dims, 0)
			}
			h.Dims[d] = max(h.Dims[d], c+1)
		}
		h.At = append(h.At, at)
	}
	return h
}

// withLanes is a problem in which all links have so many lanes.
func withLanes(in routing.In, lanes uint8) routing.In {
	in.Lanes = slices.Repeat([]uint8{lanes}, len(in.Topo.Ports))
	return in
}

// mustRoute checks that packets arrive from everywhere, and that there is no credit loop and nothing that stops
// packets.
func mustRoute(t testing.TB, in routing.In, tables *routing.Tables, traffic creditloop.Traffic) {
	t.Helper()
	report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
	if err != nil || report.Bad() != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	loops, err := creditloop.Find(t.Context(), creditloop.In{
		Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding(), SLs: tables.SLs, Maps: tables.SLs.Lanes(),
		Lanes: in.Lanes, Traffic: traffic,
	})
	if err != nil || loops.Loop != nil || len(loops.Findings) > 0 {
		t.Fatalf("%+v, %+v, %v", loops.Loop, loops.Findings, err)
	}
	err = certificate.Check(t.Context(), certificate.In{
		Topo: in.Topo, LIDs: in.LIDs, Tables: tables, Maps: tables.SLs.Lanes(),
		Hosts: traffic == creditloop.BetweenHosts, Lanes: in.Lanes, Number: loops.Number,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fullest is the number of routes of the fullest link between switches.
func fullest(t testing.TB, in routing.In, tables *routing.Tables) (most uint32) {
	t.Helper()
	loads, err := quality.Loads(t.Context(), in, tables.LFT)
	if err != nil {
		t.Fatal(err)
	}
	for p, n := range loads {
		if in.Topo.BetweenSwitches(topo.PortIdx(p)) {
			most = max(most, n)
		}
	}
	return most
}

// someGroups are the trees of multicast groups of random hosts.
func someGroups(t testing.TB, in routing.In, trunk *routing.Trunk) (groups []mcast.Group) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	hosts := quality.Hosts(in.Topo, in.LIDs)
	grower := mcast.NewGrower(mcast.NewGraph(in.Topo, nil, func(topo.PortIdx) mcast.Use { return mcast.Extend }))
	for i := range mad.LID(20) {
		var m mcast.Members
		for range 2 + rng.IntN(len(hosts)) {
			m.Receivers = append(m.Receivers, hosts[rng.IntN(len(hosts))])
		}
		var tree *mcast.Tree
		var unreached []topo.PortIdx
		if trunk == nil {
			tree, unreached = grower.Grow(mad.MinMulticastLID+i, m, nil)
		} else {
			tree, unreached = grower.GrowAlong(trunk, mad.MinMulticastLID+i, m, nil)
		}
		if len(unreached) > 0 {
			t.Fatalf("%d hosts are not in the tree", len(unreached))
		}
		groups = append(groups, mcast.Group{Tree: tree})
	}
	return groups
}

// TestMulticast: packets of multicast groups, whose trees are parts of the trunk, close no credit loop with the others.
// Without the trunk they do, so that the test would find one. Damaged fabrics can be without a trunk.
func TestMulticast(t *testing.T) {
	without, loops := 0, 0
	for _, spec := range []string{"hypercube:dim=4", "hyperx:dims=4x4,hosts=2", "hyperx:dims=3x5x4",
		"hyperx:dims=2x2x3x2", "hyperx:dims=8x8"} {
		for seed := range 11 {
			if seed > 0 {
				spec, _, _ = strings.Cut(spec, ",missing")
				spec += fmt.Sprintf(",missing-links=4%%,seed=%d", seed)
			}
			in := withLanes(routingtest.Problem(t, spec), 1)
			tables, err := Route(t.Context(), in, coordinates(in))
			if err != nil {
				t.Log(spec, err)
				continue
			}
			search := creditloop.In{Topo: in.Topo, LIDs: in.LIDs,
				Forwarding: routing.NewForwarding(in.Topo, in.LIDs, tables), SLs: tables.SLs, Maps: tables.SLs.Lanes(),
				Lanes: in.Lanes}
			search.Multicast = someGroups(t, in, nil)
			if free, err := creditloop.Find(t.Context(), search); err != nil || free.Loop != nil {
				loops++
			}
			if tables.Trunk == nil {
				if without++; seed == 0 {
					t.Errorf("%s: no trunk", spec)
				}
				continue
			}
			search.Multicast = someGroups(t, in, tables.Trunk)
			if report, err := creditloop.Find(t.Context(), search); err != nil || report.Loop != nil {
				t.Errorf("%s: %+v, %v", spec, report.Loop, err)
			}
		}
	}
	t.Logf("%d without a trunk, %d would have loops", without, loops)
	if without > 15 || loops < 20 {
		t.Errorf("%d without a trunk, %d would have loops", without, loops)
	}
}

// TestWhole: whole grids take one lane and one SL, and all links of a dimension have as many routes, not more than the
// fullest with other engines.
func TestWhole(t *testing.T) {
	// hosts of a switch * hosts that lie beyond it: the product of the later dimensions * that of the earlier
	for spec, want := range map[string]uint32{
		"hypercube:dim=4": 8, "hypercube:dim=6,hosts=2": 4 * 32, "hyperx:dims=4x4": 4,
		"hyperx:dims=3x5x4,hosts=2": 4 * 20, "hyperx:dims=8x8,hosts=4": 16 * 8,
	} {
		in := withLanes(routingtest.Problem(t, spec), 1)
		tables, err := Route(t.Context(), in, coordinates(in))
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		mustRoute(t, in, tables, creditloop.All)
		ours := fullest(t, in, tables)
		if ours != want || tables.SLs != nil {
			t.Errorf("%s: fullest link %d, want %d; %+v", spec, ours, want, tables.SLs)
		}
		for name, engine := range map[string]routing.Engine{"minhop": minhop.Route, "sssp": sssp.New(sssp.Settings{})} {
			theirs, err := engine(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			n := fullest(t, in, theirs)
			t.Logf("%s: %d, %s %d", spec, ours, name, n)
			if n < ours {
				t.Errorf("%s: fullest link %d, with %s %d", spec, ours, name, n)
			}
		}
		in.Lanes = nil
		free, err := sssp.NewDeadlockFree(sssp.Settings{})(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if lanes := len(free.Findings.Lanes.Paths); lanes < 1 {
			t.Errorf("%s: dfsssp takes %d lanes", spec, lanes)
		} else {
			t.Logf("%s: dfsssp takes %d lanes", spec, lanes)
		}
	}
}

// TestDamaged: with cables and switches missing everything is reached, without a credit loop. Two lanes are enough for
// all of these fabrics, and one for nearly all.
func TestDamaged(t *testing.T) {
	seeds := 20
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 200
	}
	for _, spec := range []string{"hypercube:dim=4", "hypercube:dim=5", "hypercube:dim=6", "hyperx:dims=4x4,hosts=2",
		"hyperx:dims=3x5x4,hosts=2", "hyperx:dims=8x8"} {
		for _, damage := range []string{"missing-links=1%", "missing-switches=1", "missing-links=3%",
			"missing-links=10%", "missing-switches=2,missing-links=5%"} {
			for lanes, most := range map[uint8]int{1: seeds / 20, 2: 0} {
				t.Run(fmt.Sprintf("%s,%s/%d lanes", spec, damage, lanes), func(t *testing.T) {
					t.Parallel()
					refused, raised, several := 0, 0, 0
					for seed := range seeds {
						in := withLanes(routingtest.Problem(t, fmt.Sprintf("%s,%s,seed=%d", spec, damage, seed+1)),
							lanes)
						tables, err := Route(t.Context(), in, coordinates(in))
						if err != nil {
							refused++
							if !strings.Contains(err.Error(), "need more lanes than the") {
								t.Error(err)
							}
							continue
						}
						mustRoute(t, in, tables, creditloop.All)
						if tables.SLs != nil {
							raised++
						}
						if tables.SLs != nil && tables.SLs.Count > 1 {
							several++
						}
					}
					t.Logf("%d refused, %d with a raised lane, %d of them with several SLs", refused, raised, several)
					if refused > most || several > 0 {
						t.Errorf("more than %d refused, or too many with several SLs", most)
					}
				})
			}
		}
	}
}

// TestRandom: parallel cables, cables from a switch to itself, switches without coordinates, hosts with two ports,
// GUIDs in any order, several LIDs with holes between them: everything is reached that has cables, without a credit
// loop.
func TestRandom(t *testing.T) {
	numbers, routed := uint64(300), 0
	if os.Getenv("IBSM_PROOF") != "" {
		numbers = 5000
	}
	for number := range numbers {
		f := routingtest.NewDamaged(t, "minhop", number)
		if !strings.HasPrefix(f.Spec, "hyper") {
			continue
		}
		tables, err := Route(t.Context(), f.In, coordinates(f.In))
		switch lanes := routing.LeastLanes(f.Lanes); {
		case err == nil:
			routed++
			traffic := creditloop.All
			if len(tables.Notes) > 0 {
				traffic = creditloop.BetweenHosts
			}
			mustRoute(t, f.In, tables, traffic)
		case lanes > 2 || !strings.Contains(err.Error(), "lanes"):
			t.Errorf("%s, %d lanes: %v", f.Spec, lanes, err)
		}
	}
	if routed < int(numbers)/30 {
		t.Errorf("%d routed", routed)
	}
}

// TestRefused: coordinates that switches cannot have are refused, with the reason.
func TestRefused(t *testing.T) {
	for want, spoil := range map[string]func(h *shape.HyperX){
		`has the coordinates [0 0] of another switch`:            func(h *shape.HyperX) { h.At[5] = []int32{0, 0} },
		`has the coordinates [0 4] in a HyperX of [4 4] places`:  func(h *shape.HyperX) { h.At[5] = []int32{0, 4} },
		`has 1 coordinates in a HyperX of 2 dimensions`:          func(h *shape.HyperX) { h.At[5] = []int32{0} },
		`the HyperX has 15 switches, but the subnet has 16`:      func(h *shape.HyperX) { h.At = h.At[1:] },
		`a HyperX of [4 0]: expected 1 to 1048576 places`:        func(h *shape.HyperX) { h.Dims[1] = 0 },
		`a HyperX of [4 99999999]: expected 1 to 1048576 places`: func(h *shape.HyperX) { h.Dims[1] = 99999999 },
	} {
		in := routingtest.Problem(t, "hyperx:dims=4x4")
		h := coordinates(in)
		spoil(h)
		if _, err := Route(t.Context(), in, h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestWithoutPlace: a switch that has no coordinates is reached all the same.
func TestWithoutPlace(t *testing.T) {
	in := routingtest.Problem(t, "hyperx:dims=4x4")
	h := coordinates(in)
	h.At[7] = nil
	tables, err := Route(t.Context(), in, h)
	if err != nil {
		t.Fatal(err)
	}
	mustRoute(t, in, tables, creditloop.All)
}

// TestSame: the number of workers changes nothing, and a second run neither.
func TestSame(t *testing.T) {
	in := routingtest.Problem(t, "hyperx:dims=4x4,hosts=2,missing-links=10%,seed=3")
	first, err := Route(t.Context(), in, coordinates(in))
	if err != nil {
		t.Fatal(err)
	}
	for workers := range routing.Workers(3) {
		in.Workers = workers
		again, err := Route(t.Context(), in, coordinates(in))
		if err != nil || !slices.EqualFunc(first.LFT, again.LFT, slices.Equal) || !first.SLs.Equal(again.SLs) {
			t.Fatalf("%d workers: other tables, %v", workers, err)
		}
	}
}

// asked is a context that is done after so many questions.
type asked struct {
	context.Context
	left int
}

func (a *asked) Err() error {
	if a.left--; a.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelled: whenever the engine asks whether it is cancelled, it ends with the error of its context.
func TestCancelled(t *testing.T) {
	in := withLanes(routingtest.Problem(t, "hypercube:dim=5,missing-links=10%,seed=4"), 8)
	const plenty = 1 << 30
	all := &asked{t.Context(), plenty}
	if _, err := Route(all, in, coordinates(in)); err != nil {
		t.Fatal(err)
	}
	questions := plenty - all.left
	for n := range 40 {
		ctx := &asked{t.Context(), min(n, 20) + max(0, n-20)*questions/20}
		if ctx.left >= questions {
			break
		}
		if tables, err := Route(ctx, in, coordinates(in)); !errors.Is(err, context.Canceled) || tables != nil {
			t.Fatalf("%d of %d questions: %v", n, questions, err)
		}
	}
}

func BenchmarkRoute(b *testing.B) {
	for _, spec := range []string{"hyperx:dims=16x16,hosts=8", "hyperx:dims=16x16,hosts=8,missing-links=3%",
		"hyperx:dims=16x16,hosts=8,missing-switches=3,missing-links=10%"} {
		b.Run(spec, func(b *testing.B) {
			in := withLanes(routingtest.Problem(b, spec), 8)
			h := coordinates(in)
			for b.Loop() {
				if _, err := Route(b.Context(), in, h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
