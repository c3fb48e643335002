package minhop

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

var _ routing.Engine = Route

// proof says that tests run in their full sizes.
func proof() bool { return os.Getenv("IBSM_PROOF") == "1" }

func generate(tb testing.TB, spec string, lmc uint8) (*topo.Topo, *topo.LIDs) {
	tb.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		tb.Fatal(err)
	}
	t, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		tb.Fatal(err)
	}
	return t, topo.SequentialLIDs(t, lmc)
}

func mustRoute(tb testing.TB, in routing.In) *routing.Tables {
	tb.Helper()
	tables, err := Route(tb.Context(), in)
	if err != nil {
		tb.Fatal(err)
	}
	return tables
}

// mustVerify wants every route to arrive that can.
func mustVerify(tb testing.TB, t *topo.Topo, l *topo.LIDs, tables *routing.Tables) *verify.Report {
	tb.Helper()
	r, err := verify.Check(tb.Context(), 0, t, l, tables, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if r.Bad() != 0 {
		tb.Errorf("%d of %d routes or entries are bad: %v, such as %v", r.Bad(), r.Routes, r.Count, r.Examples)
	}
	return r
}

// walk follows one route: the switches passed, up to the owner's, and whether it
// arrives there.
func walk(t *topo.Topo, l *topo.LIDs, rows [][]uint8, s topo.SwitchIdx, lid mad.LID) (path []topo.PortIdx,
	arrives bool) {
	owner := l.PortOf(lid)
	for len(path) <= len(t.Switches) {
		node := t.Switches[s]
		if int(lid) >= len(rows[s]) || rows[s][lid] > t.Nodes[node].NumPorts {
			return path, false
		}
		out := t.Port(node, rows[s][lid])
		if out == owner {
			return path, true
		}
		path = append(path, out)
		peer := t.Ports[out].Peer
		if peer == owner {
			return path, true
		}
		if peer == topo.None || t.Nodes[t.Ports[peer].Node].Type != mad.Switch {
			return path, false
		}
		s = t.SwitchOf(peer)
	}
	return path, false
}

var everyKind = []string{
	"fattree:k=4", "fattree:k=8,missing-links=10%", "fattree:k=6,levels=2", "fattree:k=8,missing-switches=2",
	"torus:dims=3x4", "torus:dims=3x3x3,missing-links=5%", "mesh:dims=4x4", "hypercube", "dragonfly", "hyperx",
	"random:seed=4", "random:seed=5,missing-links=20%", "tree",
}

func TestVerified(t *testing.T) {
	for _, spec := range everyKind {
		for _, lmc := range []uint8{0, 2} {
			top, lids := generate(t, spec, lmc)
			if r := mustVerify(t, top, lids,
				mustRoute(t, routing.In{Topo: top, LIDs: lids})); r.Count[verify.Cut] != 0 {
				t.Errorf("%s: %d pairs are cut", spec, r.Count[verify.Cut])
			}
		}
	}
}

// naiveHops is breadth-first search from a switch over the cables.
func naiveHops(t *topo.Topo, from topo.SwitchIdx) map[topo.SwitchIdx]int {
	hops := map[topo.SwitchIdx]int{from: 0}
	for queue := []topo.SwitchIdx{from}; len(queue) > 0; queue = queue[1:] {
		node := t.Switches[queue[0]]
		for num := range t.Nodes[node].NumPorts {
			peer := t.Ports[t.Port(node, num+1)].Peer
			if peer == topo.None {
				continue
			}
			r := t.Nodes[t.Ports[peer].Node].Switch
			if _, seen := hops[r]; r != topo.None && !seen {
				hops[r] = hops[queue[0]] + 1
				queue = append(queue, r)
			}
		}
	}
	return hops
}

func TestMinimal(t *testing.T) {
	for _, spec := range everyKind {
		top, lids := generate(t, spec, 1)
		tables := mustRoute(t, routing.In{Topo: top, LIDs: lids})
		for s := range top.Switches {
			hops := naiveHops(top, topo.SwitchIdx(s))
			for lid, owner := range lids.Owner {
				if owner == topo.None {
					continue
				}
				want := hops[top.SwitchOf(owner)]
				if top.Nodes[top.Ports[owner].Node].Type != mad.Switch {
					want++
				}
				path, arrives := walk(top, lids, tables.LFT, topo.SwitchIdx(s), mad.LID(lid))
				if !arrives || len(path) != want {
					t.Fatalf("%s: switch %d LID %d: %d links, arrives %v; want %d", spec, s, lid, len(path), arrives,
						want)
				}
			}
		}
	}
}

// TestSpread wants a leaf of a complete tree to spread what is elsewhere evenly over
// its cables up.
func TestSpread(t *testing.T) {
	top, lids := generate(t, "fattree:k=8", 0)
	tables := mustRoute(t, routing.In{Topo: top, LIDs: lids})
	order := routing.Order(top, lids, routing.Balancing{})
	leaf, count := order[0].Switch, map[uint8]int{}
	for _, d := range order {
		if d.Weighs && d.Switch != leaf {
			count[tables.LFT[leaf][d.Base]]++
		}
	}
	if len(count) != 4 {
		t.Fatalf("ports %v in use, want 4", count)
	}
	for port, n := range count {
		if n != (128-4)/4 {
			t.Errorf("%d paths by port %d, want %d", n, port, (128-4)/4)
		}
	}
}

// TestAggregation wants aggregation nodes to be reached, and all else to be routed
// as without them.
func TestAggregation(t *testing.T) {
	top, lids := generate(t, "fattree:k=8", 0)
	var aggregation []topo.PortIdx
	for i, p := range top.EndPorts {
		if node := &top.Nodes[top.Ports[p].Node]; node.Type == mad.CA && i%4 == 0 {
			node.Aggregation = true
			aggregation = append(aggregation, p)
		}
	}
	with := mustRoute(t, routing.In{Topo: top, LIDs: lids})
	mustVerify(t, top, lids, with)

	base := slices.Clone(lids.Base)
	for _, p := range aggregation {
		base[p] = 0
	}
	fewer := topo.NewLIDs(base, lids.LMC)
	without := mustRoute(t, routing.In{Topo: top, LIDs: fewer})
	for s, row := range without.LFT {
		for lid, port := range row {
			if fewer.PortOf(mad.LID(lid)) != topo.None && with.LFT[s][lid] != port {
				t.Fatalf("switch %d LID %d: port %d with aggregation nodes, %d without", s, lid, with.LFT[s][lid], port)
			}
		}
	}
}

func TestWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, spec := range []string{"fattree:k=8,missing-links=10%", "random:seed=4"} {
		for _, keep := range []routing.Keep{routing.KeepNone, routing.KeepMinimal} {
			top, lids := generate(t, spec, 1)
			in := routing.In{Topo: top, LIDs: lids, Keep: keep, Prev: spoiled(top, lids, 7)}
			var got [2]*routing.Tables
			for i := range got {
				runtime.GOMAXPROCS(i + 1)
				got[i] = mustRoute(t, in)
			}
			for s := range got[0].LFT {
				if !slices.Equal(got[0].LFT[s], got[1].LFT[s]) {
					t.Errorf("%s keep %d: row %d depends on the number of workers", spec, keep, s)
				}
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	top, lids := generate(t, "fattree:k=8", 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, keep := range []routing.Keep{routing.KeepNone, routing.KeepMinimal} {
		in := routing.In{Topo: top, LIDs: lids, Keep: keep, Prev: spoiled(top, lids, 7)}
		if tables, err := Route(ctx, in); !errors.Is(err, context.Canceled) || tables != nil {
			t.Errorf("keep %d: tables %v, error %v", keep, tables, err)
		}
	}
}

func TestNoSwitches(t *testing.T) {
	fabric := &net.Net{Nodes: []net.Node{
		{Type: mad.CA, GUID: 1, Ports: []net.Port{{Peer: net.NoEnd}, {GUID: 2, Peer: net.End{Node: 1, Port: 1}}}},
		{Type: mad.CA, GUID: 3, Ports: []net.Port{{Peer: net.NoEnd}, {GUID: 4, Peer: net.End{Node: 0, Port: 1}}}},
	}}
	top, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	lids := topo.SequentialLIDs(top, 0)
	if tables := mustRoute(t, routing.In{Topo: top, LIDs: lids}); len(tables.LFT) != 0 || tables.Top != 2 {
		t.Errorf("tables %+v of two hosts without a switch", tables)
	}
}
