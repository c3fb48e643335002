package sim_test

import (
	"testing"

	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// Every kind of fabric comes up, every link of it, and data passes between all its
// ports by the tables that its switches hold.
func TestBringUp(t *testing.T) {
	for _, spec := range []string{
		"fattree:k=4", "fattree:k=8,levels=2,missing-links=2", "torus:dims=3x3", "mesh:dims=2x2x2", "hypercube:dim=3",
		"dragonfly:a=2,p=1,h=1", "hyperx:dims=3x3", "random:switches=8,degree=3,hosts=2", "tree:depth=3,fanout=2",
		"fattree:k=8,levels=1",
	} {
		t.Run(spec, func(t *testing.T) {
			b := newHarness(t, nettest.Generate(t, spec), fabric.Config{Seed: 1})
			m := b.comeUp(minhopConfig())
			b.mustBeWhole(m)
			if up := m.ups[0]; !up.First || up.Errors || up.Failures > 0 || up.Nodes != len(b.net.Nodes) {
				t.Errorf("%+v", up)
			}
			if before := b.sets(); m.sweep(manager.Heavy).Failures > 0 || b.sets() != before {
				t.Errorf("%d Sets in a sweep over an unchanged fabric", b.sets()-before)
			}
		})
	}
}
