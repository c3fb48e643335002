package tree

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/routing/routingtest/certificate"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net"
)

// naive are the shortest ways to a switch that go up and then down, found by relaxation of all links again and again.
type naive struct {
	down, any []int // by switch: links by going down only, and by any way; far is none
	up        func(from, to topo.SwitchIdx) bool
}

const far = math.MaxInt / 2

func naiveWays(g *routing.Graph, ranks []int32, to topo.SwitchIdx) *naive {
	w := &naive{down: slices.Repeat([]int{far}, g.Len()), up: func(from, to topo.SwitchIdx) bool {
		return ranks[to] < ranks[from]
	}}
	w.down[to] = 0
	relax := func(cost []int, use func(s, r topo.SwitchIdx) bool) {
		for changed := true; changed; {
			changed = false
			for s := range topo.SwitchIdx(g.Len()) {
				peers, _ := g.Edges(s)
				for _, r := range peers {
					if use(s, r) && cost[r]+1 < cost[s] {
						cost[s], changed = cost[r]+1, true
					}
				}
			}
		}
	}
	relax(w.down, func(s, r topo.SwitchIdx) bool { return !w.up(s, r) })
	w.any = slices.Clone(w.down)
	relax(w.any, func(s, r topo.SwitchIdx) bool { return w.down[s] == far && w.up(s, r) })
	return w
}

// leads reports whether a shortest way begins with a link.
func (w *naive) leads(from, to topo.SwitchIdx) bool {
	switch {
	case to == topo.None || w.any[from] == far:
		return false
	case w.down[from] < far:
		return !w.up(from, to) && w.down[to] == w.down[from]-1
	}
	return w.up(from, to) && w.any[to] == w.any[from]-1
}

// steady is a living fabric with the tables that were computed afresh, and those in force.
type steady struct {
	*routingtest.Living
	whole        *topo.Topo // that base is for
	base, tables *routing.Tables
	report       *verify.Report     // of tables
	credit       *creditloop.Report // likewise
	changed      int                // entries
	must         int                // of these, and of others, those that had to
}

// arrives follows packets from a switch, one link after the other.
func (f *steady) arrives(tracer *routing.Tracer, rows [][]uint8, s topo.SwitchIdx, lid mad.LID) bool {
	home, egress := routing.Home(f.Topo, f.LIDs.PortOf(lid))
	for range f.Topo.Switches {
		switch port := portOf(rows[s], lid); {
		case s == home:
			return port == egress
		case tracer.Next(s, port) == topo.None:
			return false
		default:
			s = tracer.Next(s, port)
		}
	}
	return false
}

// follow routes the fabric after a change, and checks each entry. It returns why the engine refuses the fabric, if it
// does.
func (f *steady) follow(t *testing.T, was *topo.Topo) (refused error) {
	t.Helper()
	in := routing.In{Topo: f.Topo, LIDs: f.LIDs, Base: f.Found(f.whole, f.base), Prev: f.Found(was, f.tables)}
	tables, err := Route(t.Context(), in)
	if err != nil {
		if !strings.HasPrefix(err.Error(), "not a fat tree: ") {
			t.Fatal(err)
		}
		return err
	}
	f.tables = tables
	graph, tracer := routing.NewGraph(f.Topo), routing.NewTracer(f.Topo, f.LIDs)
	for lid := mad.LID(1); lid <= f.LIDs.Top; lid++ {
		home, egress := routing.Home(f.Topo, f.LIDs.PortOf(lid))
		if home == topo.None {
			continue
		}
		w := naiveWays(graph, tables.Ranks, home)
		for s := range topo.SwitchIdx(len(f.Topo.Switches)) {
			is, first, last := portOf(tables.LFT[s], lid), portOf(in.Base.LFT[s], lid), portOf(in.Prev.LFT[s], lid)
			leads := func(port uint8) bool { return w.leads(s, tracer.Next(s, port)) }
			if is != last {
				f.changed++
			}
			good := func(rows [][]uint8, port uint8) bool {
				return s == home && port == egress || s != home &&
					(leads(port) || w.any[s] == far && f.arrives(tracer, rows, s, lid))
			}
			if good(in.Base.LFT, first) && last != first || !good(in.Base.LFT, first) && !good(in.Prev.LFT, last) &&
				good(tables.LFT, is) {
				f.must++
			}
			switch {
			case s == home && is != egress:
				t.Fatalf("switch %d LID %d: port %d, not that of its owner", s, lid, is)
			case s == home || w.any[s] == far:
			case leads(first) && is != first:
				t.Fatalf("switch %d LID %d: port %d was chosen first and is good, but now it is %d", s, lid, first, is)
			case !leads(first) && leads(last) && is != last:
				t.Fatalf("switch %d LID %d: port %d is good, and became %d", s, lid, last, is)
			case !leads(is):
				t.Fatalf("switch %d LID %d: port %d is on no shortest way", s, lid, is)
			}
		}
	}
	report, err := verify.Check(t.Context(), 0, f.Topo, f.LIDs, tables, nil)
	if err != nil || report.Bad() > 0 {
		t.Fatal(err, report.Count)
	}
	since, err := verify.Check(t.Context(), 0, f.Topo, f.LIDs, tables, f.report)
	if err != nil || since.Routes != report.Routes || since.Count != report.Count || since.Longest != report.Longest ||
		!slices.Equal(since.Good(), report.Good()) {
		t.Fatalf("%v: %d routes, the longest %d links, %v; all followed: %d, %d, %v", err, since.Routes, since.Longest,
			since.Count, report.Routes, report.Longest, report.Count)
	}
	search := creditloop.In{Topo: f.Topo, LIDs: f.LIDs, Forwarding: report.Forwarding(), SLs: tables.SLs}
	credit, err := creditloop.Find(t.Context(), search)
	if err != nil || credit.Loop != nil {
		t.Fatal(err, creditloop.Text(f.Topo, credit.Loop, creditloop.Description))
	}
	search.Since = f.credit
	if f.credit, err = creditloop.Find(t.Context(), search); err != nil || f.credit.Loop != nil {
		t.Fatal(err, creditloop.Text(f.Topo, f.credit.Loop, creditloop.Description))
	}
	err = certificate.Check(t.Context(), certificate.In{Topo: f.Topo, LIDs: f.LIDs, Tables: tables, Hosts: true,
		Number: f.credit.Number})
	if f.report = since; err != nil {
		t.Fatal(err)
	}
	return nil
}

// TestSteady: cables, switches and hosts are lost and return at random. An entry is that of the tables computed first
// wherever it is good; where it is not, the one in force stays if it is good. When everything is back, all is as it
// was. Base tables are the engine's own or min-hop's, of whole and damaged trees.
func TestSteady(t *testing.T) {
	events := 60
	if os.Getenv("IBSM_PROOF") != "" {
		events = 10000 / 7
	}
	for i, c := range []struct {
		spec   string
		lmc    uint8
		engine routing.Engine
	}{
		{"fattree:k=8", 0, Route}, {"fattree:k=8,levels=2", 2, Route}, {"fattree:k=4,levels=4", 1, Route},
		{"fattree:k=6,missing-links=5%,seed=2", 0, Route},
		{"fattree:k=8", 0, minhop.Route}, {"fattree:k=6,missing-links=5%,seed=3", 0, minhop.Route},
		{"two trees", 0, Route}, {"rails", 0, Route}, {"pods", 0, Route}, {"pods:corners=2,missing-links=3%", 1, Route},
	} {
		t.Run(fmt.Sprintf("%d/%s", i, c.spec), func(t *testing.T) {
			var fabric *net.Net
			var err error
			switch c.spec {
			case "two trees":
				fabric = routingtest.TwoTrees(t)
			case "rails":
				fabric = routingtest.RailSpec{Units: 3, Hosts: 4, Rails: 3, Spines: 3, Cables: 2}.Fabric()
			default:
				fabric, err = net.Generate(c.spec)
			}
			if err != nil {
				t.Fatal(err)
			}
			f := &steady{Living: routingtest.NewLiving(t, fabric, c.lmc)}
			if f.base, err = c.engine(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs}); err != nil {
				t.Fatal(err)
			}
			f.whole, f.tables = f.Topo, f.base
			rng, routed, back := rand.New(rand.NewPCG(uint64(i), 1)), 0, 0
			for range events {
				was := f.Topo
				f.Damage(rng)
				if rng.IntN(8) == 0 {
					for len(f.Lost) > 0 {
						f.Restore(len(f.Lost) - 1)
					}
				}
				f.Walk(t)
				for err := f.follow(t, was); err != nil; err = f.follow(t, was) { // too much of it is gone
					if len(f.Lost) == 0 {
						t.Fatal(err)
					}
					f.Restore(len(f.Lost) - 1)
					f.Walk(t)
				}
				if routed++; len(f.Lost) == 0 {
					back++
					if !slices.EqualFunc(f.tables.LFT, f.base.LFT, slices.Equal) {
						t.Fatal("everything is back, but the tables are not as they were")
					}
				}
			}
			t.Logf("%d of %d changes were routed, everything was back %d times", routed, events, back)
			t.Logf("%d entries changed; %d had to", f.changed, f.must)
			if f.changed*10 > f.must*11 {
				t.Error("too many entries changed")
			}
			if routed < events/2 || back < events/20 {
				t.Error("too few")
			}
		})
	}
}

// TestDrift: tables from which one cable after the other was lost are not much worse than those that are computed
// afresh then.
func TestDrift(t *testing.T) {
	for _, spec := range []string{"fattree:k=8", "fattree:k=16,levels=2", "fattree:k=16"} {
		if spec == "fattree:k=16" && os.Getenv("IBSM_PROOF") == "" {
			continue
		}
		fabric, err := net.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		f := &steady{Living: routingtest.NewLiving(t, fabric, 0)}
		if f.base, err = Route(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs}); err != nil {
			t.Fatal(err)
		}
		f.whole, f.tables = f.Topo, f.base
		rng := rand.New(rand.NewPCG(7, 1))
		for range len(f.Cables(false)) / 20 {
			was, cables := f.Topo, f.Cables(false)
			f.Cut(cables[rng.IntN(len(cables))])
			f.Walk(t)
			in := routing.In{Topo: f.Topo, LIDs: f.LIDs, Base: f.Found(f.whole, f.base), Prev: f.Found(was, f.tables)}
			if f.tables, err = Route(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		in := routing.In{Topo: f.Topo, LIDs: f.LIDs}
		fresh := measure(t, in, Route)
		kept := measure(t, in, func(context.Context, routing.In) (*routing.Tables, error) { return f.tables, nil })
		t.Logf("%s: afresh %+v", spec, fresh)
		t.Logf("%s: kept   %+v", spec, kept)
		if kept.Fullest > 2*fresh.Fullest || kept.Shift > 1.25*fresh.Shift || kept.Bisection < 0.98*fresh.Bisection {
			t.Errorf("%s: they are much worse", spec)
		}
	}
}
