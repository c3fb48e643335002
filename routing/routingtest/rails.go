package routingtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"ibsm/mad"
	"ibsm/topo/net"
)

// RailSpec is the size of a fabric with rails.
type RailSpec struct {
	Units, Hosts, Rails int // hosts of a unit; adapters of a host, each on a leaf of its own
	Spines, Cables      int // of each leaf to each spine
}

// RailFabric is units of 32 hosts with 8 adapters each, with a leaf for each rail, that is the adapters of one number
// in a unit. 16 spines have two cables to each leaf.
func RailFabric(units int) *net.Net { return RailSpec{units, 32, 8, 16, 2}.Fabric() }

// Fabric is such a fabric: hosts are called "host-1-01 mlx5_0", leaves "leaf-1-1", by unit and rail.
func (r RailSpec) Fabric() *net.Net {
	n := &net.Net{}
	add := func(kind mad.NodeType, desc string, ports int) int32 {
		guid := mad.GUID(0xb83fd20300000000 + uint64(len(n.Nodes)*0x100))
		node := net.Node{ID: fmt.Sprintf("%c-%016x", " HSR"[kind], uint64(guid)), Desc: desc, Type: kind, GUID: guid,
			SystemImageGUID: guid, Ports: make([]net.Port, ports+1)}
		for i := range node.Ports {
			if node.Ports[i].Peer = net.NoEnd; kind != mad.Switch && i > 0 || kind == mad.Switch && i == 0 {
				node.Ports[i].GUID = guid + mad.GUID(i)
			}
		}
		n.Nodes = append(n.Nodes, node)
		return int32(len(n.Nodes) - 1)
	}
	spines := make([]int32, r.Spines)
	for s := range spines {
		spines[s] = add(mad.Switch, fmt.Sprintf("spine-%02d", s+1), r.Units*r.Rails*r.Cables)
	}
	for unit := range r.Units {
		for rail := range r.Rails {
			number := unit*r.Rails + rail
			leaf := add(mad.Switch, fmt.Sprintf("leaf-%d-%d", unit+1, rail+1), r.Hosts+r.Spines*r.Cables)
			for s, spine := range spines {
				for cable := range r.Cables {
					connect(n, net.End{Node: leaf, Port: uint8(1 + r.Hosts + r.Cables*s + cable)},
						net.End{Node: spine, Port: uint8(1 + r.Cables*number + cable)})
				}
			}
			for host := range r.Hosts {
				connect(n, net.End{Node: leaf, Port: uint8(1 + host)},
					net.End{Node: add(mad.CA, fmt.Sprintf("host-%d-%02d mlx5_%d", unit+1, host+1, rail), 1), Port: 1})
			}
		}
	}
	return n
}

// LoseCables takes away a share, in percent, of the cables between switches, drawn by a seed.
func LoseCables(n *net.Net, percent int, seed uint64) {
	var cables []net.End
	for i := range n.Nodes {
		for num, p := range n.Nodes[i].Ports {
			if n.Nodes[i].Type == mad.Switch && p.Peer.Node > int32(i) && n.Nodes[p.Peer.Node].Type == mad.Switch {
				cables = append(cables, net.End{Node: int32(i), Port: uint8(num)})
			}
		}
	}
	for _, i := range rand.New(rand.NewPCG(seed, 18)).Perm(len(cables))[:len(cables)*percent/100] {
		end := &n.Nodes[cables[i].Node].Ports[cables[i].Port]
		n.Nodes[end.Peer.Node].Ports[end.Peer.Port].Peer, end.Peer = net.NoEnd, net.NoEnd
	}
}

// Cluster582 is a cluster in use, of 582 channel adapters in rails. The test is skipped where its description is not
// there.
func Cluster582(t testing.TB) *net.Net {
	t.Helper()
	const file = "../../../shared/data/ndr-582.topo"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	n, err := net.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
