package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestLanesAgain: two leaves lose links so that packets between them need a lane of their own, have them again, and
// lose them once more. Tables of lanes are written the first time. The second time they are known, but for those of the
// ports whose links were lost.
func TestLanesAgain(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(chainConfig(t, engines.Settings{}, "tree"))
	first, second := b.Fabric.Peer(host(n, 0)).Node, b.Fabric.Peer(host(n, 5)).Node
	ups, others := b.uplinks(first), b.uplinks(second)
	var cut []net.End // no switch above both is left
	for i := range ups {
		at := ups[i]
		if i%2 == 1 {
			at = others[i]
		}
		cut = append(cut, at)
	}
	var sets [2]uint64
	for i := range sets {
		for _, at := range cut {
			b.Fabric.LinkDown(at)
		}
		before := b.laneSMPs(mad.MethodSet)
		b.pass(settling)
		sets[i] = b.laneSMPs(mad.MethodSet) - before
		b.mustBeWhole(m)
		for _, at := range cut {
			b.Fabric.LinkUp(at)
		}
		b.pass(settling)
		b.mustBeWhole(m)
	}
	if sets[0] < 500 || sets[1] > sets[0]/10 {
		t.Errorf("%d Sets of tables of lanes the first time, %d the second", sets[0], sets[1])
	}
}
