package minhop

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

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

// without is the Topo less some cables between switches, chosen at random.
func without(t *topo.Topo, cables int, rng *rand.Rand) *topo.Topo {
	less := *t
	less.Ports = slices.Clone(t.Ports)
	for cables > 0 {
		p := topo.PortIdx(rng.IntN(len(less.Ports)))
		peer := less.Ports[p].Peer
		if peer == topo.None || !t.IsSwitchPort(p) || !t.IsSwitchPort(peer) {
			continue
		}
		less.Ports[p].Peer, less.Ports[peer].Peer = topo.None, topo.None
		cables--
	}
	return &less
}

func TestKeepSharesRows(t *testing.T) {
	for _, lmc := range []uint8{0, 2} {
		top, lids := generate(t, "fattree:k=8,missing-links=5%", lmc)
		fresh := mustRoute(t, routing.In{Topo: top, LIDs: lids})
		for _, keep := range []routing.Keep{routing.KeepNone, routing.KeepMinimal} {
			again := mustRoute(t, routing.In{Topo: top, LIDs: lids, Prev: fresh, Keep: keep})
			for s := range fresh.LFT {
				if &again.LFT[s][0] != &fresh.LFT[s][0] {
					t.Errorf("keep %d: row %d is another, though nothing has changed", keep, s)
				}
			}
		}
	}
}

// TestKeepAfterLoss wants nothing to move but what went over the lost cables.
func TestKeepAfterLoss(t *testing.T) {
	for seed, spec := range everyKind {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		top, lids := generate(t, spec, uint8(seed%2))
		prev := mustRoute(t, routing.In{Topo: top, LIDs: lids})
		less := without(top, 1, rng)
		got := mustRoute(t, routing.In{Topo: less, LIDs: lids, Prev: prev, Keep: routing.KeepMinimal})
		mustVerify(t, less, lids, got)
		moved := 0
		for s := range got.LFT {
			for lid, port := range got.LFT[s] {
				if port == prev.LFT[s][lid] {
					continue
				}
				moved++
				if _, worked := walk(less, lids, prev.LFT, topo.SwitchIdx(s), mad.LID(lid)); worked {
					t.Errorf("%s: switch %d LID %d moved from port %d to %d without need", spec, s, lid,
						prev.LFT[s][lid], port)
				}
			}
		}
		if moved == 0 {
			t.Errorf("%s: nothing moved, though a cable is lost", spec)
		}
	}
}

// TestKeepMinimal wants exactly the minimal entries of tables full of detours to stay.
func TestKeepMinimal(t *testing.T) {
	for seed, spec := range everyKind {
		top, lids := generate(t, spec, 1)
		prev := spoiled(top, lids, uint64(seed))
		got := mustRoute(t, routing.In{Topo: top, LIDs: lids, Prev: prev, Keep: routing.KeepMinimal})
		mustVerify(t, top, lids, got)
		kept := 0
		for s := range got.LFT {
			hops := naiveHops(top, topo.SwitchIdx(s))
			for _, d := range routing.Order(top, lids, routing.Balancing{}) {
				if int(d.Base) >= len(prev.LFT[s]) || d.Switch == topo.SwitchIdx(s) {
					continue
				}
				port := prev.LFT[s][d.Base]
				if port == 0 || port > top.Nodes[top.Switches[s]].NumPorts {
					continue
				}
				peer := top.Ports[top.Port(top.Switches[s], port)].Peer
				if peer == topo.None || !top.IsSwitchPort(peer) ||
					naiveHops(top, top.SwitchOf(peer))[d.Switch] >= hops[d.Switch] {
					continue
				}
				kept++
				if got.LFT[s][d.Base] != port {
					t.Fatalf("%s: switch %d LID %d: minimal port %d became %d", spec, s, d.Base, port,
						got.LFT[s][d.Base])
				}
			}
		}
		if kept == 0 {
			t.Errorf("%s: no entry was minimal", spec)
		}
	}
}

// TestKeptCountFirst has a leaf with two cables up. What it keeps comes last in the
// order of destinations, and yet what is placed before takes the other cable.
func TestKeptCountFirst(t *testing.T) {
	top, lids := generate(t, "fattree:k=4,levels=2", 0)
	fresh := mustRoute(t, routing.In{Topo: top, LIDs: lids})
	order := slices.DeleteFunc(routing.Order(top, lids, routing.Balancing{}), func(d routing.Dest) bool {
		return !d.Weighs
	})
	leaf, first, last := order[0].Switch, order[2], order[len(order)-1]
	kept := fresh.LFT[leaf][first.Base] // what first takes on an unused leaf
	prev := &routing.Tables{LFT: make([][]uint8, len(top.Switches)), Top: lids.Top}
	for s := range prev.LFT {
		prev.LFT[s] = slices.Repeat([]uint8{routing.NoPath}, routing.RowLen(lids.Top))
		prev.LFT[s][last.Base] = fresh.LFT[s][last.Base]
	}
	prev.LFT[leaf][last.Base] = kept
	got := mustRoute(t, routing.In{Topo: top, LIDs: lids, Prev: prev, Keep: routing.KeepMinimal})
	if got.LFT[leaf][last.Base] != kept || got.LFT[leaf][first.Base] == kept {
		t.Errorf("kept entry by port %d, want %d; the first placed by port %d, want another", got.LFT[leaf][last.Base],
			kept, got.LFT[leaf][first.Base])
	}
}
