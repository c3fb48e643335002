package tree

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// destinations are what packets are sent to at one switch.
type destinations struct {
	at    topo.SwitchIdx
	ports []destination
	cut   bool // there are switches without a way to it
}

// destination is one LID.
type destination struct {
	lid    mad.LID
	egress uint8 // of the switch
	number int   // in the tree, of its kind
	host   bool  // that sends and receives
	others bool  // some switches have no port of its digit
}

// destinations are those of all switches. Hosts on leaves are numbered leaf by leaf in the order of the tree, as if each leaf had
// as many as the fullest; others by themselves.
func (n *network) destinations() (all []destinations) {
	byPort := make([][]topo.PortIdx, len(n.level))
	for _, p := range n.Topo.EndPorts {
		if s := n.Topo.SwitchOf(p); s != topo.None && n.LIDs.Base[p] != 0 {
			byPort[s] = append(byPort[s], p)
		}
	}
	most := 0
	for _, s := range n.inTreeOrder() {
		d := destinations{at: s}
		slices.SortFunc(byPort[s], func(a, b topo.PortIdx) int { return cmp.Compare(n.egress(a), n.egress(b)) })
		hosts, others := 0, 0
		for _, p := range byPort[s] {
			count := &others
			if n.leaf[s] && n.Topo.IsHost(p) {
				count = &hosts
			}
			for i := range n.LIDs.Count(p) {
				d.ports = append(d.ports, destination{lid: n.LIDs.Base[p] + mad.LID(i), egress: n.egress(p), number: *count, host: n.Topo.IsHost(p)})
				*count++
			}
		}
		most = max(most, hosts)
		all = append(all, d)
	}
	first := 0
	for i := range all {
		for k := range all[i].ports {
			all[i].ports[k].number += first
		}
		if n.leaf[all[i].at] {
			first += most
		}
	}
	return all
}

func (n *network) egress(p topo.PortIdx) uint8 {
	_, port := routing.Home(n.Topo, p)
	return port
}

// inTreeOrder are the switches: leaves first, those below one switch of each level next to each other.
func (n *network) inTreeOrder() []topo.SwitchIdx {
	order := make([]topo.SwitchIdx, len(n.level))
	for s := range order {
		order[s] = topo.SwitchIdx(s)
	}
	slices.SortFunc(order, func(a, b topo.SwitchIdx) int {
		if c := cmp.Compare(min(n.level[a], 1), min(n.level[b], 1)); c != 0 {
			return c
		}
		for level := len(n.below) - 2; level > 0; level-- {
			if c := cmp.Compare(n.below[level][a], n.below[level][b]); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	})
	return order
}
