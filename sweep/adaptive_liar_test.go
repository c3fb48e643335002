package sweep

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestNoSwitchAnyMore: a neighbour of switches that route adaptively says that it is an adapter, which it was not
// before, and then any link is lost.
func TestNoSwitchAnyMore(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=4x4,hosts=1")
	lost := 0
	for node := range n.Nodes {
		if n.Nodes[node].Type != mad.Switch {
			continue
		}
		b := newHarnessWith(t, n, Config{}, adaptiveSwitches)
		liar := b.fabric.Peer(net.End{Node: b.node(mad.CA, 6), Port: 1}).Node
		links := 0
		// it has one cable, to a switch: a walk does not pass an adapter
		for num := uint8(1); num <= b.fabric.NumPorts(liar); num++ {
			at := net.End{Node: liar, Port: num}
			peer := b.fabric.Peer(at)
			if peer == net.NoEnd {
				continue
			}
			if b.fabric.NodeType(peer.Node) == mad.Switch && links == 0 {
				links++
				continue
			}
			b.fabric.Unplug(at)
		}
		b.heavy()
		for i := range n.Nodes {
			if n.Nodes[i].Type == mad.Switch {
				b.fabric.AdaptiveOn(int32(i), false)
			}
		}
		b.Abdicate()
		b.heavy()
		b.heavy()
		guid := n.Nodes[liar].GUID
		b.meddle = func(req *txn.Request, o *txn.Outcome) {
			if info := (*smp.NodeInfo)(&o.Data); req.Attr == smp.AttrNodeInfo && o.Result == txn.Replied &&
				info.NodeGUID() == guid {
				o.Data[2] = uint8(mad.CA)
			}
		}
		b.heavy()
		for num := uint8(1); num <= b.fabric.NumPorts(int32(node)); num++ {
			at := net.End{Node: int32(node), Port: num}
			if peer := b.fabric.Peer(at); peer != net.NoEnd && b.fabric.NodeType(peer.Node) == mad.Switch &&
				peer.Node != liar && int32(node) != liar {
				b.fabric.LinkDown(at)
				lost++
				b.heavy()
				break
			}
		}
	}
	if lost == 0 {
		t.Error("no test: no link was lost")
	}
}
