package updn

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/topo"
)

func route(t testing.TB, in routing.In, s Settings) *routing.Tables {
	t.Helper()
	tables, err := New(s, routing.Balancing{})(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// TestTree: on a damaged tree with its roots named, the routes between hosts that cables allow to go up
// and down arrive, and have no credit loop.
func TestTree(t *testing.T) {
	for _, spec := range []string{"fattree:k=8,missing-links=3%", "fattree:k=6,missing-switches=1",
		"fattree:k=8,levels=2,missing-links=5%"} {
		in := routingtest.Problem(t, spec)
		var s Settings
		for _, n := range in.Topo.Switches {
			if node := &in.Topo.Nodes[n]; node.Desc.String()[:2] == "sp" {
				s.Roots = append(s.Roots, node.GUID)
			}
		}
		tables := route(t, in, s)
		report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
		if err != nil {
			t.Fatal(err)
		}
		if report.Count[verify.Loop]+report.Count[verify.WrongOwner]+report.Count[verify.Nowhere] > 0 {
			t.Errorf("%s: %v", spec, report.Count)
		}
		r, err := creditloop.Find(t.Context(),
			creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding()})
		if err != nil || r.Loop != nil {
			t.Errorf("%s: %+v, %v", spec, r, err)
		}
	}
}

func TestNoRoots(t *testing.T) {
	if _, err := New(Settings{}, routing.Balancing{})(t.Context(),
		routingtest.Problem(t, "torus:dims=4x4,hosts=1")); !errors.Is(err, ErrNoRoots) ||
		!strings.Contains(err.Error(), "90 %") {
		t.Errorf("a torus: %v", err)
	}
	if _, err := New(Settings{Roots: []mad.GUID{7}}, routing.Balancing{})(t.Context(),
		routingtest.Problem(t, "fattree:k=4")); !errors.Is(err, ErrNoRoots) ||
		!strings.Contains(err.Error(), "none of the 1 GUIDs") {
		t.Errorf("a root that is not there: %v", err)
	}
}

// TestIDs: between switches of one rank, up is to the lower ID, so that the IDs of a ring turn its ways.
func TestIDs(t *testing.T) {
	in := routingtest.Problem(t, "torus:dims=5,hosts=1")
	root := in.Topo.Nodes[in.Topo.Switches[0]].GUID
	ids := map[mad.GUID]uint64{}
	for i, n := range in.Topo.Switches {
		ids[in.Topo.Nodes[n].GUID] = uint64(len(in.Topo.Switches) - i)
	}
	n, err := newNetwork(t.Context(), in, &Settings{Roots: []mad.GUID{root}, IDs: ids}, routing.Balancing{})
	if err != nil {
		t.Fatal(err)
	}
	turned := 0
	for s := range n.rank {
		peers, _ := n.Graph.Edges(topo.SwitchIdx(s))
		for _, r := range peers {
			if n.rank[s] == n.rank[r] && n.rank[s] > 0 {
				turned++
				// IDs fall as GUIDs rise
				if leads := n.leads(topo.SwitchIdx(s), r); (leads == routing.Down) != (s > int(r)) {
					t.Errorf("from %d to %d: leads %v", s, r, leads)
				}
			}
		}
	}
	if turned == 0 {
		t.Error("no two switches of one rank are neighbours")
	}
}

// TestKeep: what leads an allowed shortest way stays, and all else is placed anew.
func TestKeep(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=6")
	first := route(t, in, Settings{})
	in.Prev, in.Keep = first, routing.KeepMinimal
	same := route(t, in, Settings{})
	for s := range same.LFT {
		if &same.LFT[s][0] != &first.LFT[s][0] {
			t.Fatalf("row %d is another", s)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	spoilt := &routing.Tables{LFT: slices.Clone(first.LFT), Top: first.Top}
	for s := range spoilt.LFT {
		spoilt.LFT[s] = slices.Clone(spoilt.LFT[s])
		spoilt.LFT[s][1+rng.IntN(int(first.Top))] = routing.NoPath
	}
	in.Prev = spoilt
	changed := 0
	for s, row := range route(t, in, Settings{}).LFT {
		for lid, port := range row {
			if was := spoilt.LFT[s][lid]; was != routing.NoPath && was != port {
				t.Errorf("switch %d LID %d: port %d was %d", s, lid, port, was)
			} else if was != port {
				changed++
			}
		}
	}
	if changed == 0 {
		t.Error("nothing was placed anew")
	}
}

func BenchmarkUpDn(b *testing.B) {
	for _, spec := range []string{"fattree:k=24", "fattree:k=36"} {
		b.Run(spec, func(b *testing.B) {
			in := routingtest.Problem(b, spec)
			b.ReportAllocs()
			for b.Loop() {
				route(b, in, Settings{})
			}
		})
	}
}
