package ftree

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/topo"
)

// TestRefused: what is no fat tree is refused with the reason.
func TestRefused(t *testing.T) {
	lmc := func(in *routing.In) { in.LIDs = topo.SequentialLIDs(in.Topo, 1) }
	for _, c := range []struct {
		spec     string
		settings Settings
		change   func(*routing.In)
		want     string
	}{
		{"fattree:k=4", Settings{}, lmc, "several LIDs"},
		{"fattree:k=4", Settings{Compute: map[mad.GUID]bool{5: true}}, nil, "no compute node"},
		{"torus:dims=3x3,hosts=1", Settings{}, nil, "all are roots"},
		{"fattree:k=8,missing-links=3%", Settings{}, nil, "name the roots in root_guid_file"},
		{"mesh:dims=1x5,hosts=1", Settings{}, nil, "all are roots"},
	} {
		in := routingtest.Problem(t, c.spec)
		if c.change != nil {
			c.change(&in)
		}
		if _, err := New(c.settings)(t.Context(), in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.spec, err, c.want)
		}
	}
}

// TestAggregation: a tree with aggregation nodes is routed as the tree, and all hosts reach them.
func TestAggregation(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=8,sharp=on")
	tables, err := New(Settings{})(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	extra := 0
	for _, p := range in.Topo.EndPorts {
		if !in.Topo.Nodes[in.Topo.Ports[p].Node].Aggregation {
			continue
		}
		extra++
		for _, q := range in.Topo.EndPorts { // roots do not reach those of other roots
			n := &in.Topo.Nodes[in.Topo.Ports[q].Node]
			if s, _ := routing.Home(in.Topo, q); n.Switch == topo.None && !n.Aggregation &&
				tables.LFT[s][in.LIDs.Base[p]] == routing.NoPath {
				t.Errorf("the host at %d has no route to the aggregation node at %d", q, p)
			}
		}
	}
	if extra == 0 {
		t.Error("the fabric has no aggregation nodes")
	}
}

// TestProofs: on complete and damaged trees every route between hosts arrives, and there is no credit
// loop.
func TestProofs(t *testing.T) {
	for _, spec := range []string{"fattree:k=8", "fattree:k=8,missing-links=5%,seed=2",
		"fattree:k=8,missing-links=10%,seed=4", "fattree:k=8,levels=2,missing-links=10%"} {
		in := routingtest.Problem(t, spec)
		s := Settings{}
		for _, n := range in.Topo.Switches {
			if strings.HasPrefix(in.Topo.Nodes[n].Desc.String(), "spine") {
				s.Roots = append(s.Roots, in.Topo.Nodes[n].GUID)
			}
		}
		tables, err := New(s)(t.Context(), in)
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
		if err != nil {
			t.Fatal(err)
		}
		if report.Count[verify.Loop] > 0 {
			t.Errorf("%s: %d loops", spec, report.Count[verify.Loop])
		}
		r, err := creditloop.Find(t.Context(),
			creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding(),
				Traffic: creditloop.BetweenHosts})
		if err != nil || r.Loop != nil {
			t.Errorf("%s: %v, %+v", spec, err, r.Loop)
		}
		for _, p := range in.Topo.EndPorts {
			if in.Topo.Nodes[in.Topo.Ports[p].Node].Switch != topo.None {
				continue
			}
			for _, q := range in.Topo.EndPorts {
				if s, _ := routing.Home(in.Topo, q); in.Topo.Nodes[in.Topo.Ports[q].Node].Switch == topo.None &&
					tables.LFT[s][in.LIDs.Base[p]] == routing.NoPath {
					t.Fatalf("%s: no route from %d to %d", spec, q, p)
				}
			}
		}
	}
}

// TestSame: the tables do not depend on what came before, and a context that is done ends the engine.
func TestSame(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=6")
	first, err := New(Settings{})(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := New(Settings{})(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for s := range first.LFT {
		if !bytes.Equal(first.LFT[s], again.LFT[s]) {
			t.Errorf("switch %d has another table", s)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(Settings{})(done, in); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
