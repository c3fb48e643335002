package ftree

import (
	"context"
	"fmt"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// Limits of the number of ranks.
const (
	minRanks = 2
	maxRanks = len(index{})
)

// rank gives switches their ranks: from the roots that are named, or else from those that are farthest
// from hosts. It refuses a subnet in which some switch has no way to those.
func (t *tree) rank() error {
	g := routing.NewGraph(t.Topo)
	var roots []*node
	for _, guid := range t.Roots {
		if n := t.Topo.FindNode(guid); n != topo.None && t.Topo.Nodes[n].Switch != topo.None {
			root := t.at[t.Topo.Nodes[n].Switch]
			root.rank = 0
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		roots = t.farthest(g)
	}
	t.maxRank = t.spread(g, roots)
	for _, n := range t.nodes {
		if n.rank == unranked {
			return fmt.Errorf("the subnet is split: there is no path from %s to %s", t.name(n), t.name(roots[0]))
		}
	}
	return nil
}

// farthest are the switches that are farthest from those with hosts; all others have no rank.
func (t *tree) farthest(g *routing.Graph) (roots []*node) {
	var leaves []*node
	for i := range t.hosts {
		if h := &t.hosts[i]; !h.extra && h.at.rank != 0 {
			h.at.rank = 0
			leaves = append(leaves, h.at)
		}
	}
	far := t.spread(g, leaves)
	for _, n := range t.nodes {
		if n.rank == far {
			n.rank = 0
			roots = append(roots, n)
		} else {
			n.rank = unranked
		}
	}
	return roots
}

// spread ranks all switches by their distance from some, which have rank 0, and returns the greatest
// rank.
func (t *tree) spread(g *routing.Graph, from []*node) (last int) {
	for i := 0; i < len(from); i++ {
		peers, _ := g.Edges(from[i].at)
		for _, s := range peers {
			if n := t.at[s]; n.rank > from[i].rank+1 {
				n.rank = from[i].rank + 1
				last = n.rank
				from = append(from, n)
			}
		}
	}
	return last
}

// connect makes the groups of links.
func (t *tree) connect(ctx context.Context) error {
	hostAt := map[topo.PortIdx]int{}
	for i := range t.hosts {
		hostAt[t.hosts[i].port] = i
	}
	for _, n := range t.nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		of := t.Topo.Switches[n.at]
		for num := 1; num <= int(t.Topo.Nodes[of].NumPorts); num++ {
			p := t.Topo.Port(of, uint8(num))
			peer := t.Topo.Ports[p].Peer
			if peer == topo.None || t.Topo.Ports[peer].Node == of || t.Topo.Ports[p].Unhealthy {
				continue
			}
			l := link{port: uint8(num), far: t.Topo.Ports[peer].Num}
			if s := t.Topo.Nodes[t.Topo.Ports[peer].Node].Switch; s != topo.None {
				n.add(t.at[s], -1, l)
			} else if i, is := hostAt[peer]; is {
				n.add(nil, i, l)
			}
		}
	}
	return nil
}

// add adds a link to the group of what it leads to.
func (n *node) add(to *node, host int, l link) {
	list := &n.down
	switch {
	case to == nil:
	case n.rank > to.rank:
		list = &n.up
	case n.rank == to.rank:
		list = &n.same
	}
	i := slices.IndexFunc(*list, func(g *group) bool { return g.to == to && g.host == host })
	if i < 0 {
		i = len(*list)
		g := &group{to: to, at: none, host: host}
		if to != nil {
			g.at = to.at
		}
		*list = append(*list, g)
	}
	(*list)[i].ports = append((*list)[i].ports, l)
}

// findLeaves finds the rank of leaves and marks those with compute nodes.
func (t *tree) findLeaves() error {
	if t.maxRank == 0 && len(t.nodes) > 1 {
		return &routing.Refused{Reason: "there are several switches, and all are roots",
			OpenSM: "construct_fabric: ERR AB2B: Found more than one root on fabric with maximum rank 0"}
	}
	first := slices.IndexFunc(t.hosts, func(h host) bool { return h.compute })
	if first < 0 {
		return t.noComputes()
	}
	if t.leafRank = t.maxRank; t.Roots != nil {
		t.leafRank = t.hosts[first].at.rank
	}
	if ranks := t.leafRank + 1; ranks < minRanks || ranks > maxRanks {
		return &routing.Refused{
			Reason: fmt.Sprintf("the tree has %d ranks of switches; ftree supports %d to %d", ranks, minRanks,
				maxRanks),
			OpenSM: fmt.Sprintf("Fabric rank is %d (should be between %d and %d)", ranks, minRanks, maxRanks),
		}
	}
	for i := range t.hosts {
		h := &t.hosts[i]
		if !h.compute || h.at.leaf {
			continue
		}
		h.at.leaf = true
		if h.at.rank != t.leafRank {
			port := &t.Topo.Ports[h.port]
			return &routing.Refused{
				Reason: fmt.Sprintf("compute node %q is connected to %s of rank %d, and leaves have rank %d",
					t.Topo.Nodes[port.Node].Desc.String(), t.name(h.at), h.at.rank, t.leafRank),
				OpenSM: fmt.Sprintf(
					"fabric_mark_leaf_switches: ERR AB26: CN port %#x is connected to switch %#x with rank %d, while FatTree leaf rank is %d",
					uint64(port.GUID), uint64(t.Topo.Nodes[t.Topo.Switches[h.at.at]].GUID), h.at.rank, t.leafRank),
			}
		}
	}
	return nil
}

// noComputes refuses a subnet without a compute node.
func (t *tree) noComputes() error {
	r := &routing.Refused{Reason: "there is no compute node", OpenSM: "Fabric has no valid compute nodes"}
	switch {
	case t.Compute == nil:
	case len(t.Compute) == 0:
		r.Reason += ": cn_guid_file has no GUID"
		r.OpenSM = "fabric_read_guid_files: ERR AB27: Compute node guids file has no valid guids"
	default:
		r.Reason += fmt.Sprintf(": none of the %d GUIDs in cn_guid_file is that of a host's port in this subnet",
			len(t.Compute))
	}
	return r
}

// validate refuses a tree that is not pure.
func (t *tree) validate() error {
	first := make([]*node, t.leafRank+1)
	for _, n := range t.nodes {
		r := first[n.rank]
		if r == nil {
			first[n.rank] = n
			continue
		}
		differ := func(number, of, what string, a, b int) error {
			return &routing.Refused{
				Reason: fmt.Sprintf(
					"%s and %s of rank %d have %d and %d %s; name the roots in root_guid_file to use a tree that is not complete", t.name(r), t.name(n), n.rank, a, b, what),
				OpenSM: "fabric_validate_topology: ERR " + number + ": Different number of " + of + " on switches:",
			}
		}
		if len(r.up) != len(n.up) {
			return differ("AB09", "upward port groups", "switches above", len(r.up), len(n.up))
		}
		if a, b := t.neighboursBelow(r), t.neighboursBelow(n); n.rank != t.leafRank && len(a) != len(b) {
			return differ("AB0A", "downward port groups", "neighbours below", len(a), len(b))
		}
		for i := range n.up {
			if a, b := len(r.up[0].ports), len(n.up[i].ports); a != b {
				return differ("AB0B", "ports in an upward port group", "cables to a switch above", a, b)
			}
		}
		if a, b := t.neighboursBelow(r), t.neighboursBelow(n); n.rank != t.leafRank && len(b) > 0 &&
			len(a[0].ports) != len(b[0].ports) {
			// of the first only, as in OpenSM
			return differ("AB0C", "ports in an downward port group", "cables to a neighbour below", len(a[0].ports),
				len(b[0].ports))
		}
	}
	return nil
}

// neighboursBelow are the groups of links down, but for those to aggregation nodes.
func (t *tree) neighboursBelow(n *node) []*group {
	return slices.DeleteFunc(slices.Clone(n.down), func(g *group) bool { return g.to == nil && t.hosts[g.host].extra })
}
