package server

import (
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/updn"
	"ibsm/routing/verify"
	"ibsm/sweep"
	"ibsm/sweep/lids"
	"ibsm/sweep/routes"
	"ibsm/topo"
)

// TestUnrouted: a plan counts the pairs that the rules of its engine forbid apart from those that are lost. In a fat
// tree of two levels up/down rules forbid the routes between the spines; a leaf without the entry of a host has lost
// it.
func TestUnrouted(t *testing.T) {
	v := newView(t, "fattree:k=4,levels=2")
	route := func() *routing.Tables {
		tables, err := updn.New(updn.Settings{}, routing.Balancing{})(t.Context(),
			routing.In{Topo: v.Topo, LIDs: v.LIDs})
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	tables := route()
	plan := func() *sweep.SweepPlan {
		report, err := verify.Check(t.Context(), 0, v.Topo, v.LIDs, tables, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &sweep.SweepPlan{
			Topo: v.Topo, Assigned: lids.Assigned{LIDs: v.LIDs},
			Result: routes.Result{Tables: tables, Choice: routes.Choice{Engine: "updn"},
				Proved: routes.Proved{Report: report}},
		}
	}
	u := unrouted(plan())
	if u == nil || u.Lost.Count != 0 || u.Cut.Count != 0 || u.Forbidden.Count != 2 || len(u.Forbidden.Listed) != 2 ||
		!strings.HasPrefix(u.ByRules, "2 pairs of switches") {
		t.Fatalf("%+v", u)
	}
	var hosts []topo.PortIdx
	for _, p := range v.Topo.EndPorts {
		if v.Topo.IsHost(p) {
			hosts = append(hosts, p)
		}
	}
	leaf, last := v.Topo.SwitchOf(hosts[0]), hosts[len(hosts)-1] // nobody's packets pass this leaf
	tables.LFT[leaf][v.LIDs.Base[last]] = routing.NoPath
	u = unrouted(plan())
	if u == nil || u.Lost.Count != 1 || len(u.Lost.Listed) != 1 || u.Forbidden.Count != 2 {
		t.Fatalf("with a lost route: %+v", u)
	}
	if p := u.Lost.Listed[0]; p.LID != v.LIDs.Base[last] || p.To.LID != p.LID ||
		p.From.LID != v.LIDs.Base[v.Topo.Port(v.Topo.Switches[leaf], 0)] || p.Reason != "dead end" {
		t.Errorf("the lost one is %+v", p)
	}
	tables = route()
	tables.Rules = nil
	if u := unrouted(plan()); u == nil || u.Lost.Count != 2 || u.Forbidden.Count != 0 || u.ByRules != "" {
		t.Errorf("of an engine that permits all ways: %+v", u)
	}
	if u := unrouted(&sweep.SweepPlan{Topo: v.Topo, Assigned: lids.Assigned{LIDs: v.LIDs}}); u != nil {
		t.Errorf("a plan without routes: %+v", u)
	}
}
