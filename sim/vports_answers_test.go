package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// A function that moves there and back is answered by the SA a few milliseconds after it is ACTIVE, each time, though
// the vPort that it has left shows its LID still; and it is in the tree of the group that it joins then.
func TestFunctionAnsweredWhereItCame(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own LIDs %t", own), func(t *testing.T) {
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 2, OwnLIDs: own}, fabric.Config{})
			at, next := fabric.VPort{At: host(b.net, 3), Index: 2}, fabric.VPort{At: host(b.net, 6), Index: 2}
			stays, group := fabric.VPort{At: host(b.net, 1), Index: 1}, clientGroup(0)
			b.Fabric.SetFunctionGUID(next, 0, 0)
			b.start(virtualSAConfig())
			b.joinAs(stays, group)
			for range 4 {
				b.joinAs(at, group)
				if got := b.hears(stays.At, group); !slices.Equal(got, []net.End{at.At}) {
					t.Errorf("at %v a packet for the group reaches %v, want %v", b.Fabric.Now(), got, at.At)
				}
				b.pass(time.Second)
				b.Fabric.MoveFunctionGUID(at, next)
				at, next = next, at
				up := func() bool { return b.state(at) == smp.PortActive }
				if !b.Run(b.Fabric.Now()+5*time.Second, up) {
					t.Fatalf("%v is %v five seconds after the move", at, b.state(at))
				}
				b.pass(5 * time.Millisecond)
			}
		})
	}
}
