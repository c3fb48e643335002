package sweep

import (
	"context"
	"slices"
	"strings"
	"testing"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
)

// inPlaceOfUpdn is the chain of a list with nothing but updn, in a version without it.
var inPlaceOfUpdn = engines.Chain{{Name: "minhop", Route: minhop.Route, InPlaceOf: "updn"}}

// TestStandIn: an engine in place of another one routes nothing where its routes have a credit
// loop: a ring of more than four switches has one (Dally and Seitz), a tree and a row have none.
func TestStandIn(t *testing.T) {
	for spec, loop := range map[string]bool{"torus:dims=6": true, "torus:dims=4x4": true, "mesh:dims=6": false, "fattree:k=4": false} {
		b := newHarness(t, spec, Config{Engines: inPlaceOfUpdn})
		c := b.walk().Task(1).Run(context.Background())
		switch {
		case !loop && c.Err != nil:
			t.Errorf("%s: %v", spec, c.Err)
		case loop && (c.Err == nil || c.Tables != nil || !strings.Contains(c.Err.Error(), "no routing engine updn") || !strings.Contains(c.Err.Error(), ` port `)):
			t.Errorf("%s: %v, routes %v", spec, c.Err, c.Tables != nil)
		}
	}
}

// TestStandInKeeps: a link that would close a credit loop stays unused as long as the routes work
// without it. A manager that has routed the subnet goes on and reports the loop.
func TestStandInKeeps(t *testing.T) {
	b := newHarness(t, "torus:dims=6", Config{Engines: inPlaceOfUpdn})
	link := b.inner()
	b.fabric.LinkDown(link)
	if out := b.heavy(); out.CreditLoop != nil || out.Idle != [2]int{0, 5} {
		t.Errorf("a row: loop %v, unused %v", out.CreditLoop, out.Idle)
	}
	b.fabric.LinkUp(link)
	for range 3 {
		out := b.heavy()
		wrote := slices.ContainsFunc(b.sets, func(s fabric.Set) bool { return s.Attr == smp.AttrLinearForwardingTable })
		if out.CreditLoop != nil || out.Keep != routing.KeepWorking || out.Idle != [2]int{1, 6} || wrote {
			t.Errorf("a ring: loop %v, keep %v, unused %v, tables were written: %v", out.CreditLoop, out.Keep, out.Idle, wrote)
		}
	}

	b = newHarness(t, "torus:dims=6", Config{})
	b.heavy()
	cfg := b.cfg
	cfg.Engines = inPlaceOfUpdn
	b.Configure(cfg)
	if out := b.heavy(); out.CreditLoop == nil {
		t.Error("a ring that is routed: no loop is reported")
	}
}
