package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// A host begins to lie without end. Another one that reboots while the walk of that is under way, of a sweep for the
// link of the liar or of one that an operator asks for, is served within twice the time that its reboot usually takes.
// A walk asks 4,096 ports of the liar, which takes 45 ms where an SMP takes 100 us.
func TestLiarEndlessMeanwhile(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	liar, other := host(n, 5), host(n, 9)
	for _, asked := range []bool{false, true} {
		t.Run(fmt.Sprintf("asked for %t", asked), func(t *testing.T) {
			var took [2]time.Duration
			for i := range took {
				b := newHarness(t, n, fabric.Config{Seed: 1, Latency: 50 * time.Microsecond,
					TrainTime: 100 * time.Millisecond})
				m := b.comeUp(minhopConfig())
				if lies := i == 1; lies {
					b.lieWithoutEnd(liar)
				}
				if asked {
					b.pass(time.Minute)
					b.Ask(m.Manager, manager.Heavy)
				}
				took[i] = b.rebootTime(other)
				b.pass(time.Minute)
				t.Logf("%v; %d nodes known", took[i], len(m.View.Topo.Nodes))
			}
			if took[1] > 2*took[0] {
				t.Errorf("a reboot takes %v, without the liar %v", took[1], took[0])
			}
		})
	}
}

// lieWithoutEnd has a host bounce its link, and say since that it is a switch with others behind it without end.
func (b *harness) lieWithoutEnd(liar net.End) {
	b.Fabric.SetLie(liar.Node, &fabric.Lie{Self: fabric.SwitchClaim(liarGUID, 254), Endless: true})
	b.bounce(liar)
}

// rebootTime is how long it takes until a host that reboots is ACTIVE again.
func (b *harness) rebootTime(at net.End) time.Duration {
	b.Helper()
	b.Fabric.Reboot(at.Node)
	began := b.Fabric.Now()
	if !b.Run(began+settling, func() bool {
		info := b.Fabric.PortInfo(at)
		return info.PortState() == smp.PortActive
	}) {
		b.Fatalf("a host is not ACTIVE within %v of its reboot", settling)
	}
	return b.Fabric.Now() - began
}

// Six hosts say that they are switches behind each of whose 254 ports a node answers nonsense. A walk keeps 1,024
// findings of that kind and counts the rest. Of those that begin together 64 are logged, and none again as long as they
// last.
func TestLiarFindings(t *testing.T) {
	const liars, each = 6, 253
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	sweeps := len(m.ups)
	for i := range liars {
		lie := &fabric.Lie{Self: fabric.SwitchClaim(liarGUID+mad.GUID(i), 254), Behind: map[uint8]fabric.Claim{}}
		for port := uint8(2); port <= 1+each; port++ {
			var nonsense fabric.Claim
			nonsense.Info.SetLocalPortNum(1)
			lie.Behind[port] = nonsense
		}
		liar := host(n, 2+i)
		b.Fabric.SetLie(liar.Node, lie)
		b.bounce(liar)
	}
	b.pass(2 * time.Minute)
	kept, more := 0, m.View.FindingsMore
	for _, f := range m.View.Findings {
		if f.Kind == finding.BadNodeInfo {
			kept++
		}
	}
	if kept != 1024 || more != liars*each-1024 {
		t.Errorf("%d findings and %d more, want 1024 and %d", kept, more, liars*each-1024)
	}
	text := finding.BadNodeInfo.Text()
	lines, swept := m.says(text), len(m.ups)-sweeps
	if lines == 0 || lines > 65*3 {
		t.Errorf("%d lines of the log in %d sweeps", lines, swept)
	}
	b.pass(2 * time.Minute)
	if again := m.says(text) - lines; again > 0 || len(m.ups)-sweeps == swept {
		t.Errorf("%d lines are logged again in %d sweeps", again, len(m.ups)-sweeps-swept)
	}
}

// bounce has the link of a port go down, and come up again.
func (b *harness) bounce(at net.End) {
	peer := b.Fabric.Peer(at)
	b.Fabric.LinkDown(peer)
	b.Fabric.LinkUp(peer)
}
