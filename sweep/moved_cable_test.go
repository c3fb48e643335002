package sweep

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestMovedCable: a cable of a switch without adaptive routing is moved to another switch. No entry changes, but those
// for its port lead elsewhere, and together with the groups of others in a circle. The ring is H A N S B X1 X2 X3, of
// which S and B route adaptively, and another manager's tables lead from B to H and A by way of X1. The cable from N to
// A comes to B: S leads to N by its group, N to B by its table, and B to S by its group.
func TestMovedCable(t *testing.T) {
	const h, a, n, s, b, x1 = 0, 1, 2, 3, 4, 5
	nt := nettest.Generate(t, "torus:dims=8,hosts=2")
	ring := []int32{}
	for i := range nt.Nodes {
		if nt.Nodes[i].Type == mad.Switch {
			ring = append(ring, int32(i))
			break
		}
	}
	for len(ring) < 8 {
		ring = append(ring, nt.Nodes[ring[len(ring)-1]].Ports[3].Peer.Node)
	}
	hs := newHarnessWith(t, nt, Config{}, func(i int32, _ *net.Node, c *fabric.Caps) {
		if i == ring[s] || i == ring[b] {
			c.NVIDIA, c.AR = true, fabric.AROff
		}
	})
	spare, moved := net.End{Node: ring[b], Port: 2}, net.End{Node: ring[n], Port: 4}
	hs.fabric.Unplug(spare)
	hs.heavy()
	out := hs.heavy()
	for _, by := range []int{b, x1} {
		at := out.Topo.FindNode(nt.Nodes[ring[by]].GUID)
		row := append([]byte{}, out.Tables.LFT[out.Topo.Nodes[at].Switch]...)
		for l, p := range out.LIDs.Owner {
			if p == topo.None {
				continue
			}
			for _, to := range []int{h, a} {
				if out.Topo.Nodes[out.Topo.Switches[out.Topo.SwitchOf(p)]].GUID == nt.Nodes[ring[to]].GUID {
					row[l] = 3
				}
			}
		}
		for block := range len(row) / routing.BlockSize {
			req := txn.Request{Route: out.Topo.Nodes[at].Route, Method: mad.MethodSet,
				Attr: smp.AttrLinearForwardingTable, Mod: uint32(block)}
			copy(req.Data[:], row[block*routing.BlockSize:])
			if o := hs.ask(&req); o.Result != txn.Replied || o.Status != mad.StatusOK {
				t.Fatal(o)
			}
		}
	}
	hs.fabric.AdaptiveOn(ring[s], false)
	hs.fabric.AdaptiveOn(ring[b], false)
	hs.Abdicate()
	hs.heavy()
	if hs.heavy(); hs.adaptive(ring[s], ring[b]) != 2 {
		t.Fatal("adaptive routing is off before")
	}
	hs.fabric.Unplug(moved)
	hs.fabric.Plug(moved, spare, nt.Nodes[moved.Node].Ports[moved.Port].Width,
		nt.Nodes[moved.Node].Ports[moved.Port].Speed)
	hs.fabric.Advance(hs.fabric.Now() + 5*time.Second)
	if hs.heavy(); hs.adaptive(ring[s], ring[b]) == 2 {
		t.Error("groups are kept that lead in a circle")
	}
}
