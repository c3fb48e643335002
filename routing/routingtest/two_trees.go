package routingtest

import (
	"strings"
	"testing"

	"ibsm/topo/net"
)

// TwoTrees is two trees, and a cable between two of their roots.
func TwoTrees(t testing.TB) *net.Net {
	t.Helper()
	n, err := net.Generate("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Generate("fattree:k=8")
	if err != nil {
		t.Fatal(err)
	}
	first := int32(len(n.Nodes))
	for i := range other.Nodes {
		node := &other.Nodes[i]
		node.ID, node.GUID = "other-"+node.ID, node.GUID^1<<62
		for p := range node.Ports {
			if port := &node.Ports[p]; port.GUID != 0 {
				port.GUID ^= 1 << 62
			}
			if node.Ports[p].Peer.Node >= 0 {
				node.Ports[p].Peer.Node += first
			}
		}
		n.Nodes = append(n.Nodes, *node)
	}
	var ends []net.End
	for i := range n.Nodes {
		if node := &n.Nodes[i]; strings.HasPrefix(node.Desc, "spine") &&
			(len(ends) == 0 || int32(i) >= first && len(ends) == 1) {
			ends = append(ends, net.End{Node: int32(i), Port: uint8(len(node.Ports))})
			node.Ports = append(node.Ports, net.Port{})
		}
	}
	for i, end := range ends {
		n.Nodes[end.Node].Ports[end.Port].Peer = ends[1-i]
	}
	return n
}
