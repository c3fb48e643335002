package creditloop

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/routing/updn"
	"ibsm/topo"
)

// mixed is a subnet while a stage is written: switches written before have the new tables, those
// of later stages the old ones, and each of the stage either.
func mixed(is, was *routingtest.Subnet, written, writing []topo.SwitchIdx) *routingtest.Subnet {
	m, old := was.Changed(), was.Changed()
	m.Tables.SLs = is.Tables.SLs
	for _, s := range written {
		m.Tables.LFT[s], old.Tables.LFT[s] = is.Tables.LFT[s], is.Tables.LFT[s]
	}
	for _, s := range writing {
		m.Tables.LFT[s] = is.Tables.LFT[s]
	}
	m.Before = old
	return m
}

// TestOrder: between routes of different roots, and to and from min-hop, each stage is free of loops by
// the naive search, or the loop that is named as the risk can form. Stages have all switches
// that change, and these only.
func TestOrder(t *testing.T) {
	const seed = 4
	rng := rand.New(rand.NewPCG(seed, 1))
	seeds := 30
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 600
	}
	var count [2]struct{ once, staged, risks int } // without and with a report of the new routes
	for range seeds {
		spec := []string{"torus:dims=4x3,hosts=1", "mesh:dims=4x3,hosts=1", "torus:dims=5,hosts=1",
			"random:switches=10,degree=4,hosts=1", "fattree:k=4"}[rng.IntN(5)]
		is, was := routed(t, spec, rng), routed(t, spec, rng)
		rules := func(s *routingtest.Subnet) Rules {
			return Rules{routing.NewForwarding(s.Topo, s.LIDs, s.Tables), s.Tables.SLs, nil}
		}
		old, now := rules(was), rules(is)
		tr, err := Order(t.Context(), In{Topo: is.Topo, LIDs: is.LIDs, Forwarding: now.Forwarding, SLs: now.SLs,
			Before: &old}, 64)
		if err != nil {
			t.Fatal(err)
		}
		report, err := Find(t.Context(), In{Topo: is.Topo, LIDs: is.LIDs, Forwarding: now.Forwarding, SLs: now.SLs})
		if err != nil {
			t.Fatal(err)
		}
		in := In{Topo: is.Topo, LIDs: is.LIDs, Forwarding: now.Forwarding, SLs: now.SLs, Before: &old, Since: report}
		if _, since, err := newGraph(in).descents(t.Context(), report); (since != nil) != (report.Loop == nil) ||
			err != nil {
			t.Fatalf("seed %d, %s: %v, %v", seed, spec, since, err)
		}
		quick, err := Order(t.Context(), in, 64)
		if err != nil {
			t.Fatal(err)
		}
		for i, tr := range []*Transition{tr, quick} {
			mustOrder(t, fmt.Sprintf("seed %d, %s", seed, spec), is, was, tr)
			switch {
			case tr.Risk != nil:
				count[i].risks++
			case len(tr.Stages) > 1:
				count[i].staged++
			default:
				count[i].once++
			}
		}
	}
	t.Logf("seed %d: %+v", seed, count)
	for _, c := range count {
		if c.once == 0 || c.staged == 0 || c.risks == 0 {
			t.Error("some case did not happen")
		}
	}
}

// mustOrder checks what Order found.
func mustOrder(t *testing.T, name string, is, was *routingtest.Subnet, tr *Transition) {
	t.Helper()
	var written []topo.SwitchIdx
	for i, stage := range tr.Stages {
		m := mixed(is, was, written, stage)
		if last := i == len(tr.Stages)-1; m.Search(true).HasLoop() != (last && tr.Risk != nil) {
			t.Fatalf("%s: stage %d of %v, risk %v", name, i, tr.Stages, tr.Risk)
		} else if last && tr.Risk != nil {
			mustHold(t, m, BetweenHosts, &Report{Loop: tr.Risk})
		}
		written = append(written, stage...)
	}
	slices.Sort(written)
	var changed []topo.SwitchIdx
	for s := range is.Tables.LFT {
		if !bytes.Equal(is.Tables.LFT[s], was.Tables.LFT[s]) {
			changed = append(changed, topo.SwitchIdx(s))
		}
	}
	if !slices.Equal(written, changed) {
		t.Errorf("%s: stages %v; changed are %v", name, tr.Stages, changed)
	}
}

// routed is a fabric with routes of some root, or those of min-hop.
func routed(t *testing.T, spec string, rng *rand.Rand) *routingtest.Subnet {
	s := routingtest.NewSubnet(t, spec, minhop.Route)
	if rng.IntN(5) == 0 {
		return s
	}
	root := s.Topo.Nodes[s.Topo.Switches[rng.IntN(len(s.Topo.Switches))]].GUID
	return routingtest.NewSubnet(t, spec, updn.New(updn.Settings{Roots: []mad.GUID{root}, ConnectRoots: true},
		routing.Balancing{}))
}

// TestOrderOfMaps: new mapping tables of a switch make it one that changes, and nothing else does.
func TestOrderOfMaps(t *testing.T) {
	s := routingtest.NewSubnet(t, "mesh:dims=1x4,hosts=1", minhop.Route)
	f := routing.NewForwarding(s.Topo, s.LIDs, s.Tables)
	m := &routing.Maps{Of: make([][]*routing.SLToVL, len(s.Topo.Ports))}
	m.Of[s.Topo.Port(s.Topo.Switches[2], 1)] = []*routing.SLToVL{{1, 1}}
	tr, err := Order(t.Context(), In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: f, Maps: m, Before: &Rules{Forwarding: f}},
		64)
	if err != nil || tr.Risk != nil || len(tr.Stages) != 1 || !slices.Equal(tr.Stages[0], []topo.SwitchIdx{2}) {
		t.Errorf("%+v, %v", tr, err)
	}
	same := &routing.Maps{Of: make([][]*routing.SLToVL, len(s.Topo.Ports))}
	tr, err = Order(t.Context(),
		In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: f, Maps: same, Before: &Rules{Forwarding: f}}, 64)
	if err != nil || tr.Stages != nil {
		t.Errorf("%+v, %v", tr, err)
	}
}

// TestStages: whatever switches have been written, the graph that all stages share has the descents of all routes, and
// rows are compared for the first of them only.
func TestStages(t *testing.T) {
	seeds := 20
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 400
	}
	stages, same, more := 0, 0, 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 3))
		spec := []string{"torus:dims=4x3,hosts=1", "mesh:dims=4x3,hosts=1", "random:switches=10,degree=4,hosts=1",
			"fattree:k=4", "fattree:k=6"}[seed%5]
		is, was := routed(t, spec, rng), routed(t, spec, rng)
		if rng.IntN(2) == 0 { // few entries change
			was = is.Changed()
			for range 1 + rng.IntN(4) {
				was.Spoil(rng)
			}
		}
		in := In{Topo: is.Topo, LIDs: is.LIDs, Forwarding: routing.NewForwarding(is.Topo, is.LIDs, is.Tables)}
		report, err := Find(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if report.Loop != nil {
			continue
		}
		in.Since = report
		in.Before = &Rules{Forwarding: routing.NewForwarding(is.Topo, is.LIDs, was.Tables)}
		tr := &transition{in: in, stage: make([]int, len(is.Topo.Switches))}
		var changed [2]*changes
		for round := range 6 {
			for s := range tr.stage {
				if tr.stage[s] = rng.IntN(3); round == 0 {
					tr.stage[s] = writing
				}
			}
			g := tr.staged()
			from, since, err := g.descents(t.Context(), report)
			again := round > 1 && changed != tr.changed
			if err != nil || since == nil || again {
				t.Fatalf("seed %d: %v, %v; compared again: %v", seed, since, err, again)
			}
			changed = tr.changed
			all := newGraph(tr.rules())
			if err := all.follow(t.Context(), all.Changed(nil)); err != nil {
				t.Fatal(err)
			}
			for _, s := range all.descending(report) {
				if !slices.Contains(from, s) {
					t.Fatalf("seed %d, %s, stages %v: descents from switch %d are missing", seed, spec, tr.stage, s)
				}
			}
			fresh, _, err := newGraph(tr.rules()).descents(t.Context(), report)
			if err != nil {
				t.Fatal(err)
			}
			stages++
			if same++; !slices.Equal(from, fresh) {
				same--
				more += len(fresh) - len(from)
			}
		}
	}
	t.Logf("%d stages, %d with the descents of a graph of their own; the others have %d more of these", stages, same, more)
	if stages == 0 || same*10 < stages*9 || more < 0 {
		t.Error("some case did not happen, or the shared graph has more descents")
	}
}
