package verify

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// fixture is a fabric with good tables, which a test may spoil.
type fixture struct {
	topo   *topo.Topo
	lids   *topo.LIDs
	tables *routing.Tables
}

func newFixture(tb testing.TB, spec string, lmc uint8) *fixture {
	tb.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		tb.Fatal(err)
	}
	f := &fixture{}
	middle := int32(slices.IndexFunc(fabric.Nodes, func(n net.Node) bool { return n.Type != mad.Switch }) / 2)
	if f.topo, err = netwalk.Topo(fabric, net.End{Node: middle}); err != nil { // sees the farthest
		tb.Fatal(err)
	}
	f.lids = topo.SequentialLIDs(f.topo, lmc)
	f.route(tb)
	return f
}

func (f *fixture) route(tb testing.TB) {
	tb.Helper()
	f.tables = mustRoute(tb, routing.In{Topo: f.topo, LIDs: f.lids})
}

func mustRoute(tb testing.TB, in routing.In) *routing.Tables {
	tb.Helper()
	tables, err := minhop.Route(tb.Context(), in)
	if err != nil {
		tb.Fatal(err)
	}
	return tables
}

func (f *fixture) check(tb testing.TB) *Report {
	tb.Helper()
	r, err := Check(tb.Context(), 0, f.topo, f.lids, f.tables, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// toward is the port of a switch that leads to another one next to it.
func (f *fixture) toward(s, r topo.SwitchIdx) uint8 {
	peers, ports := routing.NewGraph(f.topo).Edges(s)
	return ports[slices.Index(peers, r)]
}

// host is the first LID of a channel adapter on a switch, and the port it is on.
func (f *fixture) host(s topo.SwitchIdx) (mad.LID, uint8) {
	for _, p := range f.topo.EndPorts {
		if peer := f.topo.Ports[p].Peer; peer != topo.None && f.topo.SwitchOf(p) == s {
			return f.lids.Base[p], f.topo.Ports[peer].Num
		}
	}
	panic("no host")
}

func (f *fixture) own(s topo.SwitchIdx) mad.LID {
	return f.lids.Base[f.topo.Port(f.topo.Switches[s], 0)]
}

func (f *fixture) unlink(p topo.PortIdx) {
	peer := f.topo.Ports[p].Peer
	f.topo.Ports[p].Peer, f.topo.Ports[peer].Peer = topo.None, topo.None
}

// Every case spoils the routes from switches 0 and 1 of a line 0-1-2 to a host on 2,
// or says otherwise.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(f *fixture, lid mad.LID)
		kind  Kind
		count int
	}{
		{"loop of two", func(f *fixture, lid mad.LID) { f.tables.LFT[1][lid] = f.toward(1, 0) }, Loop, 2},
		{"dead end", func(f *fixture, lid mad.LID) { f.tables.LFT[1][lid] = routing.NoPath }, DeadEnd, 2},
		{"no such port", func(f *fixture, lid mad.LID) { f.tables.LFT[1][lid] = 200 }, Nowhere, 2},
		{"port without cable", func(f *fixture, lid mad.LID) {
			_, port := f.host(1)
			f.tables.LFT[1][lid] = port
			f.unlink(f.topo.Port(f.topo.Switches[1], port)) // so that 3 routes to that host lead nowhere, too
		}, Nowhere, 2 + 3},
		{"to another host", func(f *fixture, lid mad.LID) { _, f.tables.LFT[1][lid] = f.host(1) }, WrongOwner, 2},
		{"to the switch itself", func(f *fixture, lid mad.LID) { f.tables.LFT[1][lid] = 0 }, WrongOwner, 2},
		{"own LID of a switch sent away", func(f *fixture, lid mad.LID) {
			f.tables.LFT[2][f.own(2)] = f.toward(2, 1)
		}, Loop, 3},
		{"row missing", func(f *fixture, lid mad.LID) {
			f.tables.LFT[2] = slices.Clone(f.tables.LFT[2])
			for l := range f.tables.LFT[2] {
				if l != int(lid) && f.lids.PortOf(mad.LID(l)) != topo.None {
					f.lids.Owner[l] = topo.None
					for s := range f.tables.LFT {
						f.tables.LFT[s][l] = routing.NoPath
					}
				}
			}
			f.tables.LFT[2] = nil
		}, DeadEnd, 3},
		{"entry of LID 0", func(f *fixture, lid mad.LID) { f.tables.LFT[1][0] = 1 }, Unowned, 1},
		{"entry within Top of a LID nobody owns", func(f *fixture, lid mad.LID) {
			f.lids.Owner[lid] = topo.None
			f.tables.LFT[0][lid], f.tables.LFT[1][lid] = routing.NoPath, routing.NoPath
		}, Unowned, 1},
		{"Top below the last LID", func(f *fixture, lid mad.LID) { f.tables.Top-- }, DeadEnd, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, "mesh:dims=1x3,hosts=2", 0)
			if r := f.check(t); r.Bad() != 0 || r.Count[Cut] != 0 || r.Longest != 3 ||
				r.Routes != 3*len(f.topo.EndPorts) {
				t.Fatalf("before: %+v", r)
			}
			lid, _ := f.host(2)
			c.spoil(f, lid)
			r := f.check(t)
			var want [numKinds]int
			want[c.kind] = c.count
			if r.Count != want {
				t.Errorf("counts %v, want %d of %v", r.Count, c.count, c.kind)
			}
			if len(r.Examples) != c.count {
				t.Errorf("examples %v, want %d", r.Examples, c.count)
			}
			if r.Bad() != c.count || r.Unreached() != c.count && c.kind != Unowned {
				t.Errorf("bad %d, unreached %d, want %d", r.Bad(), r.Unreached(), c.count)
			}
		})
	}
}

func TestCut(t *testing.T) {
	f := newFixture(t, "mesh:dims=1x4,hosts=1", 0)
	f.unlink(f.topo.Port(f.topo.Switches[1], f.toward(1, 2)))
	f.route(t)
	r := f.check(t)
	if r.Bad() != 0 || r.Count[Cut] != 4*4 {
		t.Errorf("%+v, want 16 pairs cut and nothing bad", r.Count)
	}
	if len(r.Examples) != MaxExamples || r.Examples[0].Kind != Cut {
		t.Errorf("examples %v", r.Examples)
	}
}

func TestTooLong(t *testing.T) {
	f := newFixture(t, "mesh:dims=1x66,hosts=1", 0)
	// 65 links lie between the outermost switches, and one more to each host
	if r := f.check(t); r.Count[TooLong] != 2+2*(1+2) || r.Bad() != r.Count[TooLong] || r.Longest != MaxHops {
		t.Errorf("%d too long, longest %d", r.Count[TooLong], r.Longest)
	}
}

func TestCutLoops(t *testing.T) {
	f := newFixture(t, "mesh:dims=1x4,hosts=2", 0)
	lid, _ := f.host(3)
	f.tables.LFT[2][lid] = f.toward(2, 1)
	r := f.check(t)
	if r.Count[Loop] != 3 || !r.Loops(lid) || r.Loops(lid+1) || r.Loops(0) || r.Loops(0xffff) {
		t.Fatalf("%+v", r)
	}
	cut := CutLoops(f.topo, f.lids, f.tables, r)
	for s, row := range cut.LFT {
		for l, port := range row {
			want := f.tables.LFT[s][l]
			if l == int(lid) && (s == 1 || s == 2) { // the circle; 0 only leads into it
				want = routing.NoPath
			}
			if port != want {
				t.Errorf("switch %d LID %d: port %d, want %d", s, l, port, want)
			}
		}
	}
	if &cut.LFT[0][0] != &f.tables.LFT[0][0] || f.tables.LFT[2][lid] == routing.NoPath {
		t.Error("row without change not shared, or row with change written in place")
	}
	f.tables = cut
	if r = f.check(t); r.Count[Loop] != 0 || r.Count[DeadEnd] != 3 || r.Bad() != 3 {
		t.Errorf("after: %+v", r)
	}
	if again := CutLoops(f.topo, f.lids, cut, r); again != cut {
		t.Error("without loops the tables are not the same")
	}
}

// naive judges one route by walking it.
func (f *fixture) naive(s topo.SwitchIdx, lid mad.LID) (kind Kind, good bool) {
	kind, links := f.walk(s, lid)
	return kind, links >= 0
}

// walk is how many links a route has, negative if it is not good.
func (f *fixture) walk(s topo.SwitchIdx, lid mad.LID) (kind Kind, links int) {
	for links <= 2*len(f.topo.Switches)+MaxHops {
		row, port := f.tables.LFT[s], uint8(routing.NoPath)
		if int(lid) < len(row) && lid <= f.tables.Top {
			port = row[lid]
		}
		if port == routing.NoPath {
			if f.reaches(s, f.lids.PortOf(lid)) {
				return DeadEnd, -1
			}
			return Cut, -1
		}
		node := f.topo.Switches[s]
		at := f.topo.Port(node, 0)
		if port != 0 {
			if port > f.topo.Nodes[node].NumPorts || f.topo.Ports[f.topo.Port(node, port)].Peer == topo.None {
				return Nowhere, -1
			}
			at = f.topo.Ports[f.topo.Port(node, port)].Peer
			links++
		}
		if port == 0 || f.topo.Nodes[f.topo.Ports[at].Node].Type != mad.Switch {
			switch {
			case at != f.lids.PortOf(lid):
				return WrongOwner, -1
			case links > MaxHops:
				return TooLong, -1
			}
			return 0, links
		}
		s = f.topo.SwitchOf(at)
	}
	return Loop, -1
}

// reaches walks all cables.
func (f *fixture) reaches(s topo.SwitchIdx, p topo.PortIdx) bool {
	seen := map[topo.SwitchIdx]bool{s: true}
	graph := routing.NewGraph(f.topo)
	for queue := []topo.SwitchIdx{s}; len(queue) > 0; queue = queue[1:] {
		peers, _ := graph.Edges(queue[0])
		for _, r := range peers {
			if !seen[r] {
				seen[r] = true
				queue = append(queue, r)
			}
		}
	}
	home := f.topo.SwitchOf(p)
	return home != topo.None && seen[home]
}

// spoil cuts cables, and writes random entries and drops rows.
func (f *fixture) spoil(rng *rand.Rand) {
	for range rng.IntN(4) {
		if p := topo.PortIdx(rng.IntN(len(f.topo.Ports))); f.topo.Ports[p].Peer != topo.None {
			f.unlink(p)
		}
	}
	for range rng.IntN(40) {
		s, lid := rng.IntN(len(f.tables.LFT)), rng.IntN(len(f.tables.LFT[0]))
		if row := f.tables.LFT[s]; row != nil {
			row[lid] = uint8(rng.IntN(12))
			if row[lid] == 11 {
				row[lid] = routing.NoPath
			}
		}
	}
	if rng.IntN(5) == 0 {
		f.tables.LFT[len(f.tables.LFT)-1] = nil
	}
}

func TestAgainstNaive(t *testing.T) {
	specs := []string{"random:switches=12,degree=4,hosts=3", "mesh:dims=1x5,hosts=1", "fattree:k=4",
		"torus:dims=3x3,hosts=2"}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		f := newFixture(t, specs[seed%4], uint8(rng.IntN(3)))
		f.spoil(rng)
		f.mustBeAsNaive(t, seed)
	}
}

// TestManyHomes: so it is where more switches have hosts than are looked at together, also where entries are spoilt of
// those on both sides of that limit.
func TestManyHomes(t *testing.T) {
	seeds := 4
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 100
	}
	good := 0 // LIDs of several at a switch, with spoilt entries
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 2))
		f := newFixture(t, []string{"torus:dims=9x9,hosts=1", "fattree:k=12,hosts=1"}[seed%2], uint8(rng.IntN(2)))
		h := newChecker(f.topo, f.lids, f.tables)
		homes := h.newHomes(h.changed(t.Context(), nil))
		if len(homes.at) < homeChunk+8 {
			t.Fatalf("only %d switches have several LIDs", len(homes.at))
		}
		spoilt := map[mad.LID]bool{}
		for _, i := range []int{0, homeChunk - 1, homeChunk, len(homes.at) - 1, rng.IntN(len(homes.at)),
			rng.IntN(len(homes.at))} {
			lid, s := homes.lids[i][rng.IntN(len(homes.lids[i]))], rng.IntN(len(f.tables.LFT))
			f.set(s, int(lid), uint8(rng.IntN(int(f.topo.Nodes[f.topo.Switches[s]].NumPorts)+1)))
			spoilt[lid] = true
		}
		r := f.mustBeAsNaive(t, seed)
		for lid := range spoilt {
			if r.Good().Has(int(lid)) {
				good++
			}
		}
	}
	if good == 0 || good > 5*seeds {
		t.Errorf("packets to %d LIDs arrive by other entries", good)
	}
}

// mustBeAsNaive fails the test unless a report says what one route after the other comes to.
func (f *fixture) mustBeAsNaive(t *testing.T, seed uint64) *Report {
	t.Helper()
	r := f.check(t)
	var want [numKinds]int
	longest := 0
	for lid := range f.tables.Top + 1 {
		loops, good := false, true
		for s := range f.tables.LFT {
			if f.lids.PortOf(lid) == topo.None {
				if row := f.tables.LFT[s]; row != nil && row[lid] != routing.NoPath {
					want[Unowned]++
					good = false
				}
			} else if kind, links := f.walk(topo.SwitchIdx(s), lid); links < 0 {
				want[kind]++
				loops, good = loops || kind == Loop, false
			} else {
				longest = max(longest, links)
			}
		}
		if r.Loops(lid) != loops || r.Good().Has(int(lid)) != good {
			t.Errorf("seed %d LID %d: loops %v, want %v; good %v, want %v", seed, lid, !loops, loops, !good, good)
		}
	}
	if r.Count != want || r.Longest != longest {
		t.Errorf("seed %d: counts %v, want %v; the longest route %d, want %d", seed, r.Count, want, r.Longest, longest)
	}
	for _, x := range r.Examples {
		if x.Kind == Unowned {
			continue
		}
		if kind, good := f.naive(x.Switch, x.LID); good || kind != x.Kind {
			t.Errorf("seed %d: example %+v is %v", seed, x, kind)
		}
	}
	cut := *f
	cut.tables = CutLoops(f.topo, f.lids, f.tables, r)
	if after := cut.check(t); after.Count[Loop] != 0 || after.Bad()+after.Count[Cut] != r.Bad()+r.Count[Cut] {
		t.Errorf("seed %d: after CutLoops %v, before %v", seed, after.Count, r.Count)
	}
	return r
}

func TestCancelled(t *testing.T) {
	f := newFixture(t, "tree", 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Check(ctx, 0, f.topo, f.lids, f.tables, nil); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("report %v, error %v", r, err)
	}
}
