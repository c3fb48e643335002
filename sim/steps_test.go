package sim_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestRebootAtEachStep: a switch that reboots at any step of the first two sweeps, or of those after the
// reboot of a switch, comes up all the same, with everybody else.
func TestRebootAtEachStep(t *testing.T) {
	const fewest = 100 // also those after the link of the switch that rebooted is back, a second later
	rebootAtEachStep(t, fewest, func(t *testing.T, n *net.Net, later bool) stepped {
		// each packet is a step
		b := newHarness(t, n,
			fabric.Config{Seed: 1, TrainTime: time.Millisecond, Faults: fabric.Faults{Jitter: 2 * time.Microsecond}})
		m := b.add(firstHost(n), minhopConfig())
		if later {
			b.pass(settling)
			b.Fabric.Reboot(spine(n))
		}
		return stepped{m: m, judge: func() { b.mustBeWhole(m) }, undisturbed: func() {}}
	})
}

// stepped is a run in which a switch reboots at some step.
type stepped struct {
	m           *watched
	judge       func() // what it comes to after the reboot
	undisturbed func() // what it was when it had fewer steps than that
}

// rebootAtEachStep begins a run for each step, of which there have to be a number at least, and reboots a switch at it.
func rebootAtEachStep(t *testing.T, fewest int, begin func(t *testing.T, n *net.Net, later bool) stepped) {
	stride := 3
	if os.Getenv("IBSM_PROOF") != "" {
		stride = 1
	}
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	for name, node := range ordered(map[string]int32{"own leaf": n.Nodes[firstHost(n).Node].Ports[1].Peer.Node,
		"leaf": 1, "spine": spine(n)}) {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s later %v", name, later), func(t *testing.T) {
				steps := 0
				for step := 0; ; step += stride {
					r := begin(t, n, later)
					if !r.m.hasSteps(step, later) {
						steps = step
						r.undisturbed()
						break
					}
					r.m.harness.Fabric.Reboot(node)
					r.m.harness.pass(settling)
					if r.judge(); t.Failed() {
						r.m.dump()
						t.Fatalf("rebooted at step %d", step)
					}
				}
				if steps < fewest {
					t.Errorf("sweeps of %d steps", steps)
				}
			})
		}
	}
}

// hasSteps runs so many steps of the first two sweeps, or of those that find a switch lost and back, and reports
// whether they have as many.
func (w *watched) hasSteps(steps int, later bool) bool {
	begin, sweeps := w.harness.Steps, len(w.ups)+1
	if later {
		sweeps++
	}
	return w.harness.Run(w.harness.Fabric.Now()+3*time.Second, func() bool {
		return w.harness.Steps-begin >= steps
	}) && len(w.ups) <= sweeps
}

// TestSplitPorts: switches all of whose ports are split into two of two lanes each have 128 ports,
// and their links a rate of their own.
func TestSplitPorts(t *testing.T) {
	for _, speed := range []string{"HDR", "NDR", "XDR"} {
		n := nettest.Generate(t, "tree:depth=2,fanout=2,hosts=126,width=2x,speed="+speed)
		b := newHarness(t, n, fabric.Config{Seed: 1})
		m := b.comeUp(minhopConfig())
		b.mustBeWhole(m)
		b.mustConnectHosts()
	}
}
