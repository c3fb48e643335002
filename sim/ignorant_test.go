package sim_test

import (
	"testing"
	"time"

	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// Two managers that know nothing of a subnet whose ports have M_Keys of their own, and which nobody manages any more,
// find each other while they wait: one becomes master, the other never.
func TestPortMKeysTwoIgnorant(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for i, apart := range []time.Duration{0, 10 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second,
		40 * time.Second, 3 * time.Minute} {
		b := newHarness(t, n, fabric.Config{Seed: uint64(i)})
		b.comeUp(portMKeys(1)).retire()
		var all []*watched
		for k, at := range []int{5, 9} {
			cfg := portMKeys(1)
			cfg.Elect.Priority = uint8(5 * k)
			cfg.Sweep.Restored.Port = b.Fabric.PortGUID(host(n, at))
			all = append(all, b.add(host(n, at), cfg))
			b.pass(apart)
		}
		both := false
		b.Run(b.Fabric.Now()+30*time.Minute, func() bool {
			both = both || all[0].last() == smp.Master && all[1].last() == smp.Master
			return false
		})
		if both || all[0].last() == all[1].last() || all[0].last() != smp.Master && all[1].last() != smp.Master {
			t.Errorf("%v apart: both at once %v; they were %v and %v", apart, both, all[0].states, all[1].states)
		}
		b.mustHoldPortMKeys(1)
	}
}
