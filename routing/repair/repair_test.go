package repair

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/lash"
	"ibsm/routing/minhop"
	"ibsm/topo"
)

var everyKind = []string{
	"fattree:k=4", "fattree:k=8,missing-links=10%", "fattree:k=6,levels=2", "fattree:k=8,missing-switches=2",
	"torus:dims=3x4", "torus:dims=3x3x3,missing-links=5%", "mesh:dims=4x4", "hypercube", "dragonfly", "hyperx",
	"random:seed=4", "random:seed=5,missing-links=20%", "tree",
}

// wander is tables that lead everywhere, but hardly ever the shortest way: for each
// LID a tree that grew at random from its owner's switch.
func wander(t *topo.Topo, l *topo.LIDs, rng *rand.Rand) *routing.Tables {
	tables := &routing.Tables{LFT: make([][]uint8, len(t.Switches)), Top: l.Top}
	for s := range tables.LFT {
		tables.LFT[s] = slices.Repeat([]uint8{routing.NoPath}, routing.RowLen(l.Top))
	}
	graph := routing.NewGraph(t)
	for _, d := range routing.Order(t, l, routing.Balancing{}) {
		for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
			tables.LFT[d.Switch][lid] = d.Egress
			tree := []topo.SwitchIdx{d.Switch}
			for range 40 * len(t.Switches) {
				r := tree[rng.IntN(len(tree))]
				peers, _ := graph.Edges(r)
				s := peers[rng.IntN(len(peers))]
				if tables.LFT[s][lid] != routing.NoPath {
					continue
				}
				back, ports := graph.Edges(s)
				tables.LFT[s][lid] = ports[slices.Index(back, r)]
				tree = append(tree, s)
			}
		}
	}
	return tables
}

// spoiled is tables with detours, wrong entries, gaps and a row missing.
func spoiled(t *topo.Topo, l *topo.LIDs, seed uint64) *routing.Tables {
	rng := rand.New(rand.NewPCG(seed, 2))
	tables := wander(t, l, rng)
	for range rng.IntN(200) {
		row := tables.LFT[rng.IntN(len(tables.LFT))]
		row[rng.IntN(len(row))] = uint8(rng.IntN(10))
	}
	for range rng.IntN(3) {
		tables.LFT[rng.IntN(len(tables.LFT))] = nil
	}
	if s := rng.IntN(len(tables.LFT)); tables.LFT[s] != nil {
		tables.LFT[s] = tables.LFT[s][:routing.BlockSize]
	}
	return tables
}

// TestSpoiled spoils tables and fabrics in every way and wants whatever still
// works to stay, and everything to arrive that can.
func TestSpoiled(t *testing.T) {
	kept, repaired := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		f := newLiving(t, fmt.Sprintf("random:switches=%d,degree=%d,hosts=1,seed=%d", 4+2*rng.IntN(8), 2+rng.IntN(2),
			seed), uint8(rng.IntN(2)), minhop.Route)
		f.tables = spoiled(f.Topo, f.LIDs, seed)
		f.report = nil
		f.judge(t)
		in := f.change(t, rng)
		in.Proof = nil
		k, r := mustKeep(t, in, mustRepair(t, in))
		if kept, repaired = kept+k, repaired+r; t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if kept < 10_000 || repaired < 10_000 {
		t.Errorf("%d entries worked and %d did not: too few to prove anything", kept, repaired)
	}
}

// lopsided is tables of shortest ways, in which each switch takes its lowest port.
func lopsided(t *testing.T, f *living) *routing.Tables {
	t.Helper()
	graph := routing.NewGraph(f.Topo)
	hops, err := routing.NewHops(t.Context(), 0, graph)
	if err != nil {
		t.Fatal(err)
	}
	tables := &routing.Tables{LFT: make([][]uint8, graph.Len()), Top: f.LIDs.Top}
	for i := range tables.LFT {
		s := topo.SwitchIdx(i)
		tables.LFT[s] = slices.Repeat([]uint8{routing.NoPath}, routing.RowLen(f.LIDs.Top))
		peers, ports := graph.Edges(s)
		for lid, owner := range f.LIDs.Owner {
			home, port := routing.Home(f.Topo, owner)
			if home == s {
				tables.LFT[s][lid] = port
			} else if home != topo.None {
				e := slices.IndexFunc(peers, func(r topo.SwitchIdx) bool {
					return hops.From(r)[home] < hops.From(s)[home]
				})
				tables.LFT[s][lid] = ports[e]
			}
		}
	}
	return tables
}

// TestRow wants a switch that lost its table to get it back without any
// other switch being touched, unless the tables had a credit loop that others can avoid.
func TestRow(t *testing.T) {
	for _, spec := range everyKind {
		f := newLiving(t, spec, 0, minhop.Route)
		f.tables, f.report = lopsided(t, f), nil
		f.judge(t)
		lost := &routing.Tables{LFT: slices.Clone(f.tables.LFT), Top: f.tables.Top}
		lost.LFT[1] = nil
		in := In{Topo: f.Topo, LIDs: f.LIDs, Tables: lost, Was: f.report.Forwarding(), Good: f.report.Good(),
			Proof: f.proof}
		r := mustRepair(t, in)
		mustKeep(t, in, r)
		for s := range r.Tables.LFT {
			if f.proof.Loop == nil && s != 1 && &r.Tables.LFT[s][0] != &lost.LFT[s][0] {
				t.Fatalf("%s: row of switch %d changed, though only switch 1 had none", spec, s)
			}
		}
	}
}

// TestNothing wants rows and SLs of tables that work to be those of before.
func TestNothing(t *testing.T) {
	f := newLiving(t, "torus:dims=4x4,hosts=1", 1, lash.New(lash.Settings{}))
	for _, in := range []In{
		{Topo: f.Topo, LIDs: f.LIDs, Tables: f.tables},
		{Topo: f.Topo, LIDs: f.LIDs, Tables: f.tables, Was: f.report.Forwarding(), Good: f.report.Good(),
			Proof: f.proof},
	} {
		r := mustRepair(t, in)
		for s := range r.Tables.LFT {
			if &r.Tables.LFT[s][0] != &f.tables.LFT[s][0] {
				t.Errorf("row %d is another", s)
			}
		}
		if r.Tables.SLs != f.tables.SLs || r.Unavoidable != nil {
			t.Errorf("SLs %p, were %p; unavoidable %v", r.Tables.SLs, f.tables.SLs, r.Unavoidable)
		}
	}
}

// TestNew wants the LIDs of new hosts to be spread over the cables of each switch, what its ports serve
// already included, and to get the SLs of the other hosts at their switch.
func TestNew(t *testing.T) {
	f := newLiving(t, "fattree:k=8,levels=2", 0, minhop.Route)
	f.tables.SLs = routing.SLsBySwitch(f.Topo, f.LIDs, someSLs(len(f.Topo.Switches)))
	full := *f.LIDs
	var lids []mad.LID // of hosts, one that is old at each switch
	base := slices.Clone(full.Base)
	seen := map[topo.SwitchIdx]bool{}
	for _, p := range f.Topo.EndPorts {
		if at, port := routing.Home(f.Topo, p); port != 0 {
			if seen[at] {
				lids = append(lids, base[p])
				base[p] = 0
			}
			seen[at] = true
		}
	}
	f.LIDs = topo.NewLIDs(base, slices.Clone(full.LMC))
	found := &routing.Tables{LFT: make([][]uint8, len(f.tables.LFT)), Top: f.LIDs.Top,
		SLs: routing.SLsBySwitch(f.Topo, f.LIDs, f.tables.SLs.Rows)}
	for s, row := range f.tables.LFT {
		found.LFT[s] = slices.Clone(row)
		for _, lid := range lids {
			found.LFT[s][lid] = routing.NoPath
		}
	}
	f.tables, f.report = found, nil
	f.judge(t)
	in := In{Topo: f.Topo, LIDs: &full, Tables: found, Was: f.report.Forwarding(), Good: f.report.Good(),
		Proof: f.proof}
	r := mustRepair(t, in)
	mustKeep(t, in, r)
	for s := range r.Tables.LFT {
		count := map[uint8]int{}
		for lid, owner := range full.Owner {
			if at, port := routing.Home(f.Topo, owner); port != 0 && at != topo.SwitchIdx(s) &&
				seen[topo.SwitchIdx(s)] {
				count[r.Tables.LFT[s][lid]]++
			}
		}
		least, most := len(full.Owner), 0
		for _, n := range count {
			least, most = min(least, n), max(most, n)
		}
		if seen[topo.SwitchIdx(s)] && (most-least > 1 || len(count) != 4) {
			t.Errorf("switch %d: ports serve %v hosts", s, count)
		}
	}
	for _, from := range full.Owner {
		for _, to := range full.Owner {
			if from == topo.None || to == topo.None {
				continue
			}
			a, b := f.Topo.SwitchOf(from), f.Topo.SwitchOf(to)
			if got := r.Tables.SLs.Of(full.Base[from], full.Base[to]); got != found.SLs.Rows[a][b] {
				t.Fatalf("from LID %v to LID %v: SL %d", full.Base[from], full.Base[to], got)
			}
		}
	}
}

// someSLs differ from switch to switch.
func someSLs(n int) [][]uint8 {
	rows := make([][]uint8, n)
	for i := range rows {
		for j := range n {
			rows[i] = append(rows[i], uint8(i+j)%4)
		}
	}
	return rows
}

// TestSiblings wants the LIDs of a port that is new to take different neighbours, though the switches use one more than
// the others.
func TestSiblings(t *testing.T) {
	f := newLiving(t, "fattree:k=8,levels=2", 2, minhop.Route)
	f.tables = lopsided(t, f)
	d := routing.Order(f.Topo, f.LIDs, routing.Balancing{})[0]
	found := &routing.Tables{LFT: make([][]uint8, len(f.tables.LFT)), Top: f.LIDs.Top}
	for s, row := range f.tables.LFT {
		found.LFT[s] = slices.Clone(row)
		for lid := d.Base; lid < d.Base+4; lid++ {
			found.LFT[s][lid] = routing.NoPath
		}
	}
	r := mustRepair(t, In{Topo: f.Topo, LIDs: f.LIDs, Tables: found})
	graph := routing.NewGraph(f.Topo)
	for s := range topo.SwitchIdx(graph.Len()) {
		peers, _ := graph.Edges(s)
		if slices.Contains(peers, d.Switch) || s == d.Switch {
			continue // a spine has one way
		}
		next := map[topo.SwitchIdx]bool{}
		tracer := routing.NewTracer(f.Topo, f.LIDs)
		for lid := d.Base; lid < d.Base+4; lid++ {
			next[tracer.Next(s, r.Tables.LFT[s][lid])] = true
		}
		if len(next) != 4 {
			t.Errorf("switch %d: the LIDs take %d neighbours", s, len(next))
		}
	}
}

// TestUnhealthy wants nothing to lead over an unhealthy link any more.
func TestUnhealthy(t *testing.T) {
	f := newLiving(t, "fattree:k=4", 0, minhop.Route)
	sick := *f.Topo
	sick.Ports = slices.Clone(f.Topo.Ports)
	peers := 0
	for p := range sick.Ports {
		peer := sick.Ports[p].Peer
		if peer == topo.None || !sick.IsSwitchPort(topo.PortIdx(p)) || !sick.IsSwitchPort(peer) {
			continue
		}
		sick.Ports[p].Unhealthy, sick.Ports[peer].Unhealthy = true, true
		in := In{Topo: &sick, LIDs: f.LIDs, Tables: f.tables, Was: f.report.Forwarding(), Good: f.report.Good(),
			Proof: f.proof}
		r := mustRepair(t, in)
		for _, port := range []topo.PortIdx{topo.PortIdx(p), peer} {
			if s := sick.Nodes[sick.Ports[port].Node].Switch; slices.Contains(r.Tables.LFT[s], sick.Ports[port].Num) {
				t.Errorf("switch %d still sends by port %d", s, sick.Ports[port].Num)
			}
		}
		mustVerify(t, in, r)
		sick.Ports[p].Unhealthy, sick.Ports[peer].Unhealthy = false, false
		peers++
	}
	if peers == 0 {
		t.Error("no link was unhealthy")
	}
}

// TestRing: a ring of six has a credit loop by its shortest ways, and none without a cable, where there is but one
// way. With the cable back nothing changes.
func TestRing(t *testing.T) {
	f := newLiving(t, "torus:dims=6,hosts=1", 0, minhop.Route)
	if f.proof.Loop == nil {
		t.Fatal("the ring has no credit loop")
	}
	for range 2 {
		if len(f.Lost) == 0 {
			f.Cut(f.Cables(false)[0])
		} else {
			f.Restore(0)
		}
		was := f.Topo
		f.Walk(t)
		in := In{Topo: f.Topo, LIDs: f.LIDs, Tables: f.Found(was, f.tables), Was: f.report.Forwarding(),
			Good: f.report.Good(), Proof: f.proof}
		r := mustRepair(t, in)
		mustKeep(t, in, r)
		f.tables = r.Tables
		if f.judge(t); f.proof.Loop != nil || len(r.Unavoidable) > 0 {
			t.Errorf("loop %v, unavoidable %v", f.proof.Loop, r.Unavoidable)
		}
	}
}

func TestWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, spec := range []string{"fattree:k=8,missing-links=10%", "random:seed=4"} {
		for _, known := range []bool{false, true} {
			f := newLiving(t, spec, 1, minhop.Route)
			if !known {
				f.tables, f.report = spoiled(f.Topo, f.LIDs, 7), nil
				f.judge(t)
			}
			in := f.change(t, rand.New(rand.NewPCG(1, 1)))
			var first *Result
			for _, n := range []int{1, 2, 7} {
				runtime.GOMAXPROCS(n)
				r := mustRepair(t, in)
				if first == nil {
					first = r
				}
				for s := range r.Tables.LFT {
					if !slices.Equal(r.Tables.LFT[s], first.Tables.LFT[s]) {
						t.Errorf("%s: row %d is another with %d workers", spec, s, n)
					}
				}
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	f := newLiving(t, "fattree:k=8", 0, minhop.Route)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Tables(ctx, In{Topo: f.Topo, LIDs: f.LIDs, Tables: spoiled(f.Topo, f.LIDs, 7)}); err == nil ||
		r != nil || !errors.Is(err, ctx.Err()) {
		t.Errorf("result %v, error %v", r, err)
	}
}
