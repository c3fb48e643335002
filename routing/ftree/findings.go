package ftree

import (
	"ibsm/routing"
	"ibsm/topo"
)

// computes are the ports of compute nodes in the order of leaves, with None for those that a leaf lacks.
func (t *tree) computes() (ports []topo.PortIdx) {
	for _, n := range t.leaves {
		missing := t.mostCN
		for _, g := range n.down {
			if g.to == nil && t.hosts[g.host].compute {
				ports = append(ports, t.hosts[g.host].port)
				missing--
			}
		}
		for range missing {
			ports = append(ports, topo.None)
		}
	}
	return ports
}

// shape is what the tree looks like.
func (t *tree) shape() *routing.TreeShape {
	s := &routing.TreeShape{LeafRank: t.leafRank, Leaves: len(t.leaves), Switches: make([]int, t.maxRank+1)}
	for _, n := range t.nodes {
		s.Switches[n.rank]++
	}
	nodes := map[topo.NodeIdx]bool{}
	for i := range t.hosts {
		h := &t.hosts[i]
		if h.extra {
			continue
		}
		s.HostPorts++
		if h.compute {
			s.Computes++
		}
		nodes[t.Topo.Ports[h.port].Node] = true
	}
	s.Hosts = len(nodes)
	return s
}
