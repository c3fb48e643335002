package main

import (
	"testing"

	"ibsm/ctl"
)

// TestRoutingText: the status says which routing engines are chosen, which one is used, and why not
// another.
func TestRoutingText(t *testing.T) {
	routed := func(st ctl.Status) ctl.Status {
		st.Subnet = &ctl.SubnetStatus{}
		return st
	}
	for _, c := range []struct {
		st   ctl.Status
		want string
	}{
		{ctl.Status{}, "no engine is chosen: auto routes a subnet that nothing uses yet; routes in use are kept"},
		{ctl.Status{Engines: []string{"lash", "updn"}}, "chosen: lash,updn"},
		{routed(ctl.Status{Engine: "minhop"}), "minhop"},
		{routed(ctl.Status{Engine: "lash", Engines: []string{"lash"}}), "lash"},
		{routed(ctl.Status{Engine: "updn", Engines: []string{"lash", "updn"}, Refused: []ctl.EngineRefusal{{Engine: "lash", Reason: "more than 2 lanes are needed"}}}),
			"updn; lash refused: more than 2 lanes are needed; chosen: lash,updn"},
		{routed(ctl.Status{Engine: "minhop", Engines: []string{"lash"}, RoutesKept: true, NotOf: "lash"}),
			"kept from another manager, and repaired by minhop; lash would compute others; chosen: lash"},
		{routed(ctl.Status{Engines: []string{"updn", "no_fallback"}, Refused: []ctl.EngineRefusal{{Engine: "updn", Reason: "no root switch was found"}}}),
			"none: no routes are written; updn refused: no root switch was found; chosen: updn,no_fallback"},
	} {
		if got := routingText(&c.st); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
