package routing_test

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/topo/net"
)

// cable joins two ports of a Net by number of the node.
func cable(n *net.Net, a int32, aPort uint8, b int32, bPort uint8) {
	n.Nodes[a].Ports[aPort].Peer = net.End{Node: b, Port: bPort}
	n.Nodes[b].Ports[bPort].Peer = net.End{Node: a, Port: aPort}
}

// addNode adds a node without cables.
func addNode(n *net.Net, kind mad.NodeType, guid mad.GUID, ports int) int32 {
	node := net.Node{Type: kind, GUID: guid, SystemImageGUID: guid, Ports: make([]net.Port, ports+1)}
	for i := range node.Ports {
		node.Ports[i] = net.Port{Peer: net.NoEnd}
		if kind != mad.Switch {
			node.Ports[i].GUID = guid + mad.GUID(i)
		}
	}
	if kind == mad.Switch {
		node.Ports[0].GUID = guid
	}
	n.Nodes = append(n.Nodes, node)
	return int32(len(n.Nodes) - 1)
}

// oddNet has two switches with one host each, one with two, parallel cables and a
// cable from a switch to itself.
func oddNet() *net.Net {
	n := &net.Net{}
	a, b, c := addNode(n, mad.Switch, 0x0201, 8), addNode(n, mad.Switch, 0x0102, 8), addNode(n, mad.Switch, 0x0303, 8)
	for i, at := range []net.End{{Node: a, Port: 3}, {Node: b, Port: 3}, {Node: c, Port: 7}, {Node: c, Port: 2}} {
		host := addNode(n, mad.CA, mad.GUID(0x1000*(i+1)), 1)
		cable(n, host, 1, at.Node, at.Port)
	}
	cable(n, a, 1, b, 1)
	cable(n, a, 2, b, 2)
	cable(n, a, 5, a, 6)
	cable(n, b, 8, c, 8)
	return n
}

func TestGraph(t *testing.T) {
	fabric := fromNet(t, oddNet())
	graph := routing.NewGraph(fabric)
	// in GUID order 0x0102, 0x0201, 0x0303
	want := []struct {
		peers []topo.SwitchIdx
		ports []uint8
	}{
		{[]topo.SwitchIdx{1, 1, 2}, []uint8{1, 2, 8}},
		{[]topo.SwitchIdx{0, 0}, []uint8{1, 2}},
		{[]topo.SwitchIdx{0}, []uint8{8}},
	}
	if graph.Len() != len(want) {
		t.Fatalf("%d switches", graph.Len())
	}
	for s, w := range want {
		peers, ports := graph.Edges(topo.SwitchIdx(s))
		if !slices.Equal(peers, w.peers) || !slices.Equal(ports, w.ports) {
			t.Errorf("switch %d: %v by %v, want %v by %v", s, peers, ports, w.peers, w.ports)
		}
	}
}

func TestOrder(t *testing.T) {
	fabric := fromNet(t, oddNet())
	for i := range fabric.Nodes {
		fabric.Nodes[i].Aggregation = fabric.Nodes[i].GUID == 0x2000
	}
	lids := topo.SequentialLIDs(fabric, 0)
	lids.Base[fabric.FindPort(0x3001)] = 0 // one without LID
	type dest struct {
		guid   mad.GUID
		egress uint8
		weighs bool
	}
	// most end ports first; then 0x0201 before 0x0102, as their last bytes say
	want := []dest{{0x4001, 2, true}, {0x1001, 3, true}, {0x2001, 3, false},
		{0x0201, 0, false}, {0x0102, 0, false}, {0x0303, 0, false}}
	var got []dest
	for _, d := range routing.Order(fabric, lids, routing.Balancing{}) {
		got = append(got, dest{fabric.Ports[d.Port].GUID, d.Egress, d.Weighs})
		if d.Base != lids.Base[d.Port] || d.Switch != fabric.SwitchOf(d.Port) {
			t.Errorf("%v: LID %d at switch %d", fabric.Ports[d.Port].GUID, d.Base, d.Switch)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("order\n%v, want\n%v", got, want)
	}
}
