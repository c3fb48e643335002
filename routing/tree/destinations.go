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
	count [nodeTypes]int
}

// destination is one LID.
type destination struct {
	lid      mad.LID
	egress   uint8 // of the switch
	number   int   // in the tree, of its kind
	host     bool  // that sends and receives
	kind     nodeType
	others   bool  // some switches have no port of its digit
	rail     *rail // nil for none
	place    int   // in the rail
	numbered bool  // by the rail
}

// destinations are those of all switches. The ports of rails are numbered rail by rail. Other hosts on leaves are numbered by type, and
// leaf by leaf in the order of the tree, as if each leaf that has some had as many as the fullest; others by themselves.
func (n *network) destinations() (all []destinations) {
	byPort := make([][]topo.PortIdx, len(n.level))
	for _, p := range n.Topo.EndPorts {
		if s := n.Topo.SwitchOf(p); s != topo.None && n.LIDs.Base[p] != 0 {
			byPort[s] = append(byPort[s], p)
		}
	}
	inRails, inRail := n.numberRails()
	var most, leaves [nodeTypes]int // of a type on a leaf; that have some
	for _, s := range n.inTreeOrder() {
		d := destinations{at: s}
		slices.SortFunc(byPort[s], func(a, b topo.PortIdx) int { return cmp.Compare(n.egress(a), n.egress(b)) })
		for _, p := range byPort[s] {
			kind := noHost
			if n.leaf[s] && n.Topo.IsHost(p) {
				kind = n.typeOf(n.Topo, p)
			}
			in := inRails[n.LIDs.Base[p]]
			for i := range n.LIDs.Count(p) {
				to := destination{lid: n.LIDs.Base[p] + mad.LID(i), egress: n.egress(p), host: n.Topo.IsHost(p), kind: kind}
				if in.rail != nil {
					to.number, to.numbered = in.number+i, true
				} else {
					to.number = d.count[kind]
					d.count[kind]++
				}
				if i == 0 {
					to.rail, to.place = in.rail, in.at
				}
				d.ports = append(d.ports, to)
			}
		}
		for kind, count := range d.count {
			if most[kind] = max(most[kind], count); count > 0 {
				leaves[kind]++
			}
		}
		all = append(all, d)
	}
	first := [nodeTypes]int{compute: inRail}
	for kind := storage; kind < noHost; kind++ {
		first[kind] = first[kind-1] + leaves[kind-1]*most[kind-1]
	}
	for i := range all {
		all[i].add(&first, &most)
	}
	return all
}

// add adds the first number of each type on a leaf, and goes on to the next leaf.
func (d *destinations) add(first, most *[nodeTypes]int) {
	for i := range d.ports {
		if p := &d.ports[i]; p.kind == noHost {
			p.number += first[compute]
		} else if !p.numbered {
			p.number += first[p.kind]
		}
	}
	for kind := compute; kind < noHost; kind++ {
		if d.count[kind] > 0 {
			first[kind] += most[kind]
		}
	}
}

// inRail is where a port is in its rail, and the number of its first LID.
type inRail struct {
	rail       *rail
	at, number int
}

// numberRails numbers the first destinations of the ports in rails, by base LID. Those after it at a port have the numbers of the ports after
// it: so shifts among the first ones meet as little as without them. It returns the next number, too.
func (n *network) numberRails() (places map[mad.LID]inRail, next int) {
	places = map[mad.LID]inRail{}
	for _, r := range n.rails {
		for at, lid := range r.lids {
			places[lid] = inRail{r, at, next}
			next++
		}
	}
	return places, next
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
