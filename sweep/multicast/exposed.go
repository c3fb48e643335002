package multicast

import (
	"slices"

	"ibsm/mad/smp"
	"ibsm/routing/mcast"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// What another manager may have written is read where packets of hosts can get to: at switches next to hosts, and from
// there where the tables that were read lead. No packet gets into another block before some switch forwards to it, and
// it is written before that switch is.

// exposed are, for each switch, the blocks below a number that packets may get into. What lies behind a block that is
// not read is not in them yet. They are nil where no other manager may have written any.
func exposed(t *topo.Topo, held []*device.MFT, numBlocks int) []device.BlockSet {
	if !slices.ContainsFunc(held, func(m *device.MFT) bool { return m.Found == device.AnotherSM }) {
		return nil
	}
	sets, links := make([]device.BlockSet, len(held)), make([]mcast.PortMask, len(held))
	var first, todo []topo.SwitchIdx
	for s, n := range t.Switches {
		if isEntry(t, n) {
			first = append(first, topo.SwitchIdx(s))
		}
		for num := uint8(1); num <= t.Nodes[n].NumPorts; num++ {
			if peer := t.Ports[t.Port(n, num)].Peer; peer != topo.None && t.IsSwitchPort(peer) {
				links[s].Add(num)
			}
		}
	}
	for block := range uint16(numBlocks) {
		enter := func(s topo.SwitchIdx) {
			if !sets[s].Has(block) {
				sets[s].Add(block)
				todo = append(todo, s)
			}
		}
		for _, s := range first {
			enter(s)
		}
		for len(todo) > 0 {
			s := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			n := t.Switches[s]
			answers := t.Nodes[n].Missed == 0
			if int(block) >= held[s].Blocks || answers && held[s].Unread(block) {
				continue
			}
			for num := range held[s].Leads(block).And(links[s]).Ports() {
				enter(t.SwitchOf(t.Ports[t.Port(n, num)].Peer))
			}
		}
	}
	return sets
}

// isEntry reports whether a switch may get packets from elsewhere than a switch that answers: from a host or a router,
// its own port 0, or whatever is behind a port that was not read or behind which nobody answers.
func isEntry(t *topo.Topo, n topo.NodeIdx) bool {
	node := &t.Nodes[n]
	if node.Missed > 0 || node.SwitchInfo.EnhancedPort0() {
		return true
	}
	for num := uint8(1); num <= node.NumPorts; num++ {
		p := &t.Ports[t.Port(n, num)]
		switch {
		case p.Peer == topo.None:
			if !p.Seen || p.Info.PortState() > smp.PortDown {
				return true
			}
		case !t.IsSwitchPort(p.Peer) || t.Nodes[t.Ports[p.Peer].Node].Missed > 0:
			return true
		}
	}
	return false
}
