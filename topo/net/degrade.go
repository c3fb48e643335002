package net

import (
	"math/rand/v2"
	"slices"

	"ibsm/disjoint"
	"ibsm/mad"
)

// degrade takes away the switches and cables that a spec wants missing, chosen at
// random but never so that the fabric falls apart.
func (s *Spec) degrade(n *Net, rng *rand.Rand) error {
	if v := s.values["missing-switches"]; v.n > 0 || v.share > 0 {
		if err := s.dropSwitches(n, v, rng); err != nil {
			return err
		}
	}
	if v := s.values["missing-links"]; v.n > 0 || v.share > 0 {
		return s.dropCables(n, v, rng)
	}
	return nil
}

// dropSwitches removes switches: those without hosts where the topology has such,
// otherwise any, together with their hosts.
func (s *Spec) dropSwitches(n *Net, amount value, rng *rand.Rand) error {
	var bare, all []int32
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.Switch {
			continue
		}
		all = append(all, int32(i))
		if len(hostsOf(n, int32(i))) == 0 {
			bare = append(bare, int32(i))
		}
	}
	candidates := bare
	if len(bare) == 0 {
		candidates = all
	}
	want := amount.of(len(candidates))
	rng.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	gone, dropped := prune(n, candidates, want, len(all)-1)
	if dropped < want {
		return s.errorf("missing-switches: %d of %d can be left out without splitting the fabric", dropped,
			want)
	}
	for _, sw := range all {
		if gone[sw] {
			for _, host := range hostsOf(n, sw) {
				gone[host] = true
			}
		}
	}
	remove(n, gone)
	return nil
}

// prune picks switches to drop, in the order of the candidates, so that those that
// stay reach each other. It builds the spanning tree that puts early candidates at
// its tips, as far as they are not needed to hold the rest together, and takes off
// tips.
func prune(n *Net, candidates []int32, want, most int) (gone []bool, dropped int) {
	rank := make([]int, len(n.Nodes))
	for i := range rank {
		rank[i] = len(candidates)
	}
	for i, sw := range candidates {
		rank[sw] = i
	}
	cables := switchCables(n)
	first := func(at End) int { return min(rank[at.Node], rank[n.Nodes[at.Node].Ports[at.Port].Peer.Node]) }
	slices.SortStableFunc(cables, func(a, b End) int { return first(b) - first(a) })

	degree := make([]int, len(n.Nodes))
	others := make([]int32, len(n.Nodes)) // neighbours in the tree, exclusive or: at a tip, the only one
	parts := disjoint.New(len(n.Nodes))
	for _, at := range cables {
		a, z := at.Node, n.Nodes[at.Node].Ports[at.Port].Peer.Node
		if parts.Join(a, z) {
			degree[a]++
			degree[z]++
			others[a] ^= z
			others[z] ^= a
		}
	}
	gone = make([]bool, len(n.Nodes))
	for i, sw := range candidates {
		// What held sw up may itself have been passed over before, as no tip.
		for dropped < min(want, most) && rank[sw] <= i && degree[sw] == 1 {
			gone[sw] = true
			dropped++
			up := others[sw]
			degree[sw] = 0
			degree[up]--
			others[up] ^= sw
			sw = up
		}
	}
	return gone, dropped
}

// switchCables lists the cables between switches by one end of each.
func switchCables(n *Net) (cables []End) {
	for i := range n.Nodes {
		for num, p := range n.Nodes[i].Ports {
			if p.Peer.Node > int32(i) && n.Nodes[i].Type == mad.Switch && n.Nodes[p.Peer.Node].Type == mad.Switch {
				cables = append(cables, End{int32(i), uint8(num)})
			}
		}
	}
	return cables
}

// hostsOf lists the nodes on a switch that are no switches.
func hostsOf(n *Net, sw int32) (hosts []int32) {
	for _, p := range n.Nodes[sw].Ports {
		if p.Peer.Node >= 0 && n.Nodes[p.Peer.Node].Type != mad.Switch {
			hosts = append(hosts, p.Peer.Node)
		}
	}
	return hosts
}

// remove takes nodes out of a Net and gives the others their new indexes.
func remove(n *Net, gone []bool) {
	index := make([]int32, len(n.Nodes))
	var kept []Node
	for i := range n.Nodes {
		index[i] = NoEnd.Node
		if !gone[i] {
			index[i] = int32(len(kept))
			kept = append(kept, n.Nodes[i])
		}
	}
	for i := range kept {
		for j := range kept[i].Ports {
			p := &kept[i].Ports[j]
			if p.Peer.Node < 0 {
				continue
			}
			if p.Peer.Node = index[p.Peer.Node]; p.Peer.Node < 0 {
				p.unplug()
			}
		}
	}
	n.Nodes = kept
}

func (p *Port) unplug() { p.Peer, p.Width, p.Speed = NoEnd, 0, 0 }

// dropCables removes cables between switches. A spanning tree, chosen at random,
// stays.
func (s *Spec) dropCables(n *Net, amount value, rng *rand.Rand) error {
	cables := switchCables(n)
	rng.Shuffle(len(cables), func(i, j int) { cables[i], cables[j] = cables[j], cables[i] })
	want := amount.of(len(cables))
	parts := disjoint.New(len(n.Nodes))
	dropped := 0
	for _, at := range cables {
		port := &n.Nodes[at.Node].Ports[at.Port]
		if parts.Join(at.Node, port.Peer.Node) || dropped == want {
			continue
		}
		n.Nodes[port.Peer.Node].Ports[port.Peer.Port].unplug()
		port.unplug()
		dropped++
	}
	if dropped < want {
		return s.errorf("missing-links: %d of %d can be left out without splitting the fabric", dropped, want)
	}
	return nil
}
