package sim_test

import (
	"testing"
	"time"

	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// A manager that is busy with a step for longer than a poll interval does not take that for a pause, however often it
// happens: it goes on with the sweep. One that did not run while it waited asks the other managers before it writes.
func TestBusy(t *testing.T) {
	const long = 10 * time.Second
	n := nettest.Generate(t, "fattree:k=4")
	for _, paused := range []bool{false, true} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		m := b.comeUp(minhopConfig())
		b.add(host(n, 7), minhopConfig())
		b.pass(settling)
		ups, walked := len(m.ups), false
		b.StepTakes = func(of *sim.Manager, actions []manager.Action) time.Duration {
			switch {
			case of != m.Manager:
			case of.Core.Progress().Phase == manager.Computing && !walked:
				walked = true
				if paused {
					of.Asleep = b.Fabric.Now() + long
					return 0
				}
				return long
			}
			return 0
		}
		spine := uplink(n, b.Fabric.Peer(host(n, 9)).Node)
		b.Fabric.LinkDown(spine)
		b.pass(5 * time.Second)
		b.Fabric.LinkUp(spine)
		b.pass(settling)
		if !walked || len(m.ups) == ups {
			t.Errorf("paused %t: it has walked %t, and swept %d times", paused, walked, len(m.ups)-ups)
		}
		if said := m.says("this manager was paused") > 0; said != paused {
			t.Errorf("paused %t: it says so: %t", paused, said)
		}
	}
}
