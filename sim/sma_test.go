package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// slowAgents take one SMP at a time for 20 us, and drop what finds four waiting.
var slowAgents = fabric.SMA{Time: 20 * time.Microsecond, Buffer: 4}

// slowBringUp is how long a subnet of slow agents takes to come up, and how many SMPs they
// dropped, with so many requests on the wire at most and so many at a node.
func slowBringUp(t *testing.T, spec string, window, perNode int) (took time.Duration, dropped uint64) {
	h := newHarness(t, nettest.Generate(t, spec), fabric.Config{Seed: 1, SMA: slowAgents})
	cfg := minhopConfig()
	cfg.Txn.MaxWindow, cfg.Txn.PerNode = window, perNode
	m := h.add(firstHost(h.net), cfg)
	h.pass(5 * time.Second)
	h.mustBeWhole(m)
	return m.ups[0].Took, h.Fabric.Stats().Drops[fabric.DropVL15]
}

// TestSlowAgents: with 32 requests on the wire and two at a node nothing is dropped, and a
// subnet comes up sooner than with OpenSM's window of 4; with 128 and four at a node agents
// drop SMPs.
func TestSlowAgents(t *testing.T) {
	for _, spec := range []string{"fattree:k=8", "fattree:k=20,levels=2", "torus:dims=4x4x4,hosts=2", "dragonfly:a=4,p=2,h=2"} {
		t.Run(fmt.Sprint(spec), func(t *testing.T) {
			opensm, few := slowBringUp(t, spec, 4, 4)
			took, dropped := slowBringUp(t, spec, 32, 2)
			if few+dropped > 0 || took > opensm/2 {
				t.Errorf("window 4: %v, %d dropped; window 32 with two at a node: %v, %d dropped", opensm, few, took, dropped)
			}
			if took, dropped := slowBringUp(t, spec, 128, 4); dropped == 0 {
				t.Errorf("window 128 with four at a node: %v, nothing is dropped", took)
			}
		})
	}
}
