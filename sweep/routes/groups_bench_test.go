package routes

import (
	"os"
	"testing"

	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net"
)

// BenchmarkLook looks at groups of adaptive routing, one switch of which forwards by its table again: the first time,
// and when no route has changed since. It has 3,456 hosts, and with IBSM_PROOF=1 39,366.
func BenchmarkLook(b *testing.B) {
	spec := "fattree:k=24"
	if os.Getenv("IBSM_PROOF") == "1" {
		spec = "fattree:k=54"
	}
	fabric, err := net.Generate(spec)
	if err != nil {
		b.Fatal(err)
	}
	f := routingtest.NewLiving(b, fabric, 0)
	tables, err := minhop.Route(b.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs})
	if err != nil {
		b.Fatal(err)
	}
	report, err := verify.Check(b.Context(), 0, f.Topo, f.LIDs, tables, nil)
	if err != nil {
		b.Fatal(err)
	}
	in := &In{Topo: f.Topo, LIDs: f.LIDs}
	g := &groups{graph: routing.NewGraphOf(f.Topo, func(topo.PortIdx) bool { return true }), seen: report.Forwarding()}
	var kept []topo.SwitchIdx
	for i := range f.Topo.Switches[1:] {
		kept = append(kept, topo.SwitchIdx(i+1))
	}
	now := &looked{report.Forwarding(), true}
	for name, last := range map[string]*looked{"first": nil, "again": now} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if stale := g.stale(b.Context(), in, kept, last, now); len(stale) > 0 {
					b.Fatalf("%d are stale", len(stale))
				}
			}
		})
	}
}
