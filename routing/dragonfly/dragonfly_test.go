package dragonfly

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
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

// groups are those that the names of switches begin with.
func groups(in routing.In) *shape.Dragonfly {
	d := &shape.Dragonfly{Of: make([]int32, len(in.Topo.Switches)), Spine: make([]bool, len(in.Topo.Switches))}
	number := map[string]int32{}
	for s, n := range in.Topo.Switches {
		group, name, _ := strings.Cut(in.Topo.Nodes[n].Desc.String(), " ")
		g, known := number[group]
		if !known {
			g = int32(len(d.Groups))
			number[group] = g
			d.Groups = append(d.Groups, nil)
		}
		d.Of[s] = g
		d.Groups[g] = append(d.Groups[g], topo.SwitchIdx(s))
		if d.Spine[s] = strings.HasPrefix(name, "spine"); d.Spine[s] {
			d.Plus = true
		}
	}
	return d
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
	find := func(in routing.In, tables *routing.Tables, trunk *routing.Trunk) *creditloop.Report {
		report, err := creditloop.Find(t.Context(), creditloop.In{
			Topo: in.Topo, LIDs: in.LIDs, Forwarding: routing.NewForwarding(in.Topo, in.LIDs, tables), SLs: tables.SLs,
			Maps: tables.SLs.Lanes(), Lanes: in.Lanes, Multicast: someGroups(t, in, trunk),
		})
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	without, loops := 0, 0
	check := func(in routing.In, whole bool) {
		tables, err := Route(t.Context(), in, groups(in))
		if err != nil {
			t.Fatal(err)
		}
		if find(in, tables, nil).Loop != nil {
			loops++
		}
		if tables.Trunk == nil {
			if without++; whole {
				t.Error("a whole dragonfly has no trunk")
			}
			return
		}
		if report := find(in, tables, tables.Trunk); report.Loop != nil || len(report.Findings) > 0 {
			t.Errorf("%+v, %+v", report.Loop, report.Findings)
		}
	}
	for _, spec := range []string{"dragonfly:a=4,p=2,h=2", "dragonfly:a=4,p=2,h=2,groups=3",
		"dragonfly:a=6,p=3,h=3,groups=7"} {
		check(withLanes(routingtest.Problem(t, spec), 2), true)
		for seed := range 10 {
			check(withLanes(routingtest.Problem(t, fmt.Sprintf("%s,missing-links=5%%,seed=%d", spec, seed+1)), 8),
				false)
		}
	}
	for _, f := range []plus{{3, 2, 2, 2, 1}, {5, 4, 4, 4, 2}, {9, 4, 4, 2, 2}, {4, 3, 3, 3, 4}} {
		for lanes := uint8(1); lanes <= 2; lanes++ {
			check(withLanes(f.build(t, 0, 0), lanes), lanes > 1)
		}
		for seed := range uint64(10) {
			check(withLanes(f.build(t, 0.03, seed), 8), false)
		}
	}
	t.Logf("%d without a trunk, %d would have loops", without, loops)
	if without > 20 || loops < 20 {
		t.Errorf("%d without a trunk, %d would have loops", without, loops)
	}
}

// TestWhole: whole dragonflies take two lanes and one SL, and their fullest link has no more routes than with other
// engines.
func TestWhole(t *testing.T) {
	for _, spec := range []string{
		"dragonfly:a=4,p=2,h=2", "dragonfly:a=4,p=2,h=2,groups=5", "dragonfly:a=4,p=2,h=2,groups=3",
		"dragonfly:a=6,p=3,h=3,groups=7", "dragonfly:a=5,p=2,h=3,groups=4", "dragonfly:a=8,p=4,h=4,groups=9",
	} {
		in := withLanes(routingtest.Problem(t, spec), 2)
		tables, err := Route(t.Context(), in, groups(in))
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		mustRoute(t, in, tables, creditloop.All)
		if tables.SLs.Count != 1 {
			t.Errorf("%s: %d SLs", spec, tables.SLs.Count)
		}
		ours := fullest(t, in, tables)
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
		if lanes := len(free.Findings.Lanes.Paths); lanes < 2 {
			t.Errorf("%s: dfsssp takes %d lanes", spec, lanes)
		} else {
			t.Logf("%s: dfsssp takes %d lanes", spec, lanes)
		}
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

// TestDamaged: with cables and switches missing everything is reached, without a credit loop. Four lanes are enough for
// all of these fabrics, two for nearly all, and nearly none needs a second SL.
func TestDamaged(t *testing.T) {
	seeds := 20
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 200
	}
	for _, spec := range []string{"dragonfly:a=4,p=2,h=2", "dragonfly:a=4,p=2,h=2,groups=5",
		"dragonfly:a=6,p=3,h=3,groups=7", "dragonfly:a=6,p=1,h=3"} {
		for _, damage := range []string{"missing-links=1%", "missing-links=3%", "missing-links=10%",
			"missing-switches=1", "missing-switches=2,missing-links=5%"} {
			for lanes, most := range map[uint8]int{2: seeds / 20, 4: 0} {
				t.Run(fmt.Sprintf("%s,%s/%d lanes", spec, damage, lanes), func(t *testing.T) {
					t.Parallel()
					refused, several := 0, 0
					for seed := range seeds {
						in := withLanes(routingtest.Problem(t, fmt.Sprintf("%s,%s,seed=%d", spec, damage, seed+1)),
							lanes)
						tables, err := Route(t.Context(), in, groups(in))
						if err != nil {
							refused++
							if !strings.Contains(err.Error(), "need more lanes than the 2 that links") {
								t.Error(err)
							}
							continue
						}
						mustRoute(t, in, tables, creditloop.All)
						if tables.SLs.Count > 1 {
							several++
						}
					}
					t.Logf("%d refused, %d with several SLs", refused, several)
					if refused > most || several > seeds/10 {
						t.Errorf("more than %d refused, or too many with several SLs", most)
					}
				})
			}
		}
	}
}

// TestRandom: parallel cables, cables from a switch to itself, switches in no group, hosts with two ports, GUIDs in any
// order, several LIDs with holes between them: everything is reached that has cables, without a credit loop.
func TestRandom(t *testing.T) {
	numbers, routed := uint64(300), 0
	if os.Getenv("IBSM_PROOF") != "" {
		numbers = 5000
	}
	for number := range numbers {
		f := routingtest.NewDamaged(t, "minhop", number)
		if !strings.HasPrefix(f.Spec, "dragonfly") {
			continue
		}
		d := groups(f.In)
		for s, n := range f.Topo.Switches {
			if strings.HasPrefix(f.Topo.Nodes[n].Desc.String(), "node") {
				d.Of[s] = topo.None
			}
		}
		tables, err := Route(t.Context(), f.In, d)
		switch lanes := routing.LeastLanes(f.Lanes); {
		case err == nil:
			routed++
			mustRoute(t, f.In, tables, creditloop.BetweenHosts)
			if len(tables.Notes) == 0 {
				mustRoute(t, f.In, tables, creditloop.All)
			}
		case lanes > 2 || !strings.Contains(err.Error(), "lanes"):
			t.Errorf("%s, %d lanes: %v", f.Spec, lanes, err)
		}
	}
	if routed < int(numbers)/30 {
		t.Errorf("%d routed", routed)
	}
}

// TestRefused: with one lane a dragonfly is refused, with the reason.
func TestRefused(t *testing.T) {
	in := withLanes(routingtest.Problem(t, "dragonfly"), 1)
	if _, err := Route(t.Context(), in, groups(in)); err == nil ||
		!strings.Contains(err.Error(), "takes two lanes, and links between switches have one") {
		t.Error(err)
	}
}

// TestSame: the number of workers changes nothing, and a second run neither.
func TestSame(t *testing.T) {
	in := routingtest.Problem(t, "dragonfly:a=4,p=2,h=2,groups=5,missing-links=10%,seed=3")
	first, err := Route(t.Context(), in, groups(in))
	if err != nil {
		t.Fatal(err)
	}
	for workers := range routing.Workers(3) {
		in.Workers = workers
		again, err := Route(t.Context(), in, groups(in))
		if err != nil || !slices.EqualFunc(first.LFT, again.LFT, slices.Equal) || !first.SLs.Equal(again.SLs) {
			t.Fatalf("%d workers: other tables, %v", workers, err)
		}
	}
}

// TestSeveralLIDs: the LIDs of a port are spread over the cables between groups.
func TestSeveralLIDs(t *testing.T) {
	in := withLanes(routingtest.Problem(t, "dragonfly:a=4,p=2,h=2,groups=3"), 2) // four cables between two groups
	in.LIDs = topo.SequentialLIDs(in.Topo, 2)
	d := groups(in)
	tables, err := Route(t.Context(), in, d)
	if err != nil {
		t.Fatal(err)
	}
	mustRoute(t, in, tables, creditloop.All)
	tracer := routing.NewTracer(in.Topo, in.LIDs)
	for _, p := range in.Topo.EndPorts {
		to := in.Topo.SwitchOf(p)
		for from := range in.Topo.Switches {
			if d.Of[from] == d.Of[to] || in.LIDs.LMC[p] == 0 || len(newNetwork(in, d).global[from]) > 0 {
				continue
			}
			entries := map[topo.SwitchIdx]bool{}
			for i := range mad.LID(4) {
				at := topo.SwitchIdx(from)
				for d.Of[at] != d.Of[to] {
					at = tracer.Next(at, tables.LFT[at][in.LIDs.Base[p]+i])
				}
				entries[at] = true
			}
			if len(entries) != 4 {
				t.Errorf("from switch %d to port %d: comes in at %v", from, p, entries)
			}
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
	in := withLanes(routingtest.Problem(t, "dragonfly:missing-links=10%,seed=4"), 8)
	const plenty = 1 << 30
	all := &asked{t.Context(), plenty}
	if _, err := Route(all, in, groups(in)); err != nil {
		t.Fatal(err)
	}
	questions := plenty - all.left
	for n := range 40 {
		ctx := &asked{t.Context(), min(n, 20) + max(0, n-20)*questions/20}
		if ctx.left >= questions {
			break
		}
		if tables, err := Route(ctx, in, groups(in)); !errors.Is(err, context.Canceled) || tables != nil {
			t.Fatalf("%d of %d questions: %v", n, questions, err)
		}
	}
}

func BenchmarkRoute(b *testing.B) {
	for _, spec := range []string{"dragonfly:a=12,p=6,h=6,groups=73", "dragonfly:a=12,p=6,h=6,groups=25",
		"dragonfly:a=12,p=6,h=6,groups=73,missing-links=3%", "dragonfly:a=12,p=6,h=6,groups=73,missing-links=10%"} {
		b.Run(spec, func(b *testing.B) {
			in := withLanes(routingtest.Problem(b, spec), 8)
			d := groups(in)
			for b.Loop() {
				if _, err := Route(b.Context(), in, d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
