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
	kind     nodeType
	host     bool  // that sends and receives
	end      bool  // hosts send there: it is no switch
	others   bool  // some switches have no port of its digit
	numbered bool  // by the rail
	nth      uint8 // of the LIDs of its port
	class    int32 // of In.Tenants
	owner    int32 // the host among those with several LIDs, None for others
	number   int   // in the tree, of its kind
	rail     *rail // nil for none
	place    int   // in the rail
}

// destinations are the destinations of all switches. The ports of rails are numbered rail by rail. Other hosts on
// leaves are numbered by type, leaf by leaf in tree order, as if each leaf with hosts of a type had as many as the
// fullest leaf; hosts elsewhere are numbered separately. The second and later LIDs of a port get the numbers of the
// ports after it, so that they add as few flow conflicts as possible to shifts among the first LIDs.
func (n *network) destinations() (all []destinations) {
	byPort, lids := n.portsBySwitch()
	flat := make([]destination, 0, lids) // of all switches
	inRails, inRail := n.numberRails()
	var most, leaves [nodeTypes]int // of a type on a leaf; that have some
	for _, s := range n.inTreeOrder() {
		d := destinations{at: s, ports: flat[len(flat):]}
		n.sort(byPort[s])
		for _, p := range byPort[s] {
			kind := noHost
			if n.leaf[s] && n.Topo.IsHost(p) {
				kind = n.typeOf(n.Topo, p)
			}
			in := inRails[n.LIDs.Base[p]]
			for i := range n.LIDs.Count(p) {
				to := destination{lid: n.LIDs.Base[p] + mad.LID(i), egress: n.egress(p), host: n.Topo.IsHost(p),
					end: n.Topo.Nodes[n.Topo.Ports[p].Node].Type != mad.Switch, kind: kind,
					owner: n.ownerOf(n.LIDs.Base[p]), class: int32(n.Tenants.Class(p))}
				to.number, to.nth = d.count[kind], uint8(i)
				if in.rail != nil {
					to.number, to.numbered = in.number+i, true
				}
				if i == 0 {
					to.rail, to.place = in.rail, in.at
				}
				d.ports = append(d.ports, to)
			}
			if in.rail == nil {
				d.count[kind]++
			}
		}
		flat = flat[:len(flat)+len(d.ports)]
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
		n.add(&all[i], &first, &most)
	}
	if n.Tenants != nil {
		n.spread(all)
	}
	return all
}

// portsBySwitch are the end ports that have LIDs on each switch, and the number of these LIDs.
func (n *network) portsBySwitch() (byPort [][]topo.PortIdx, lids int) {
	counts := make([]int, len(n.level))
	for _, p := range n.Topo.EndPorts {
		if s := n.Topo.SwitchOf(p); s != topo.None {
			counts[s]++
		}
	}
	byPort = make([][]topo.PortIdx, len(n.level))
	flat := make([]topo.PortIdx, len(n.Topo.EndPorts))
	for s, count := range counts {
		byPort[s], flat = flat[:0:count], flat[count:]
	}
	for _, p := range n.Topo.EndPorts {
		if s := n.Topo.SwitchOf(p); s != topo.None && n.LIDs.Base[p] != 0 {
			byPort[s] = append(byPort[s], p)
			lids += n.LIDs.Count(p)
		}
	}
	return byPort, lids
}

// sort orders the ports on one switch by port number, with the ports of one host side by side.
func (n *network) sort(ports []topo.PortIdx) {
	slices.SortFunc(ports, func(a, b topo.PortIdx) int { return cmp.Compare(n.egress(a), n.egress(b)) })
	if len(n.owners.lids) == 0 {
		return
	}
	firsts := map[int32]int{} // by host: where it begins
	at := func(i int, p topo.PortIdx) int {
		owner := n.ownerOf(n.LIDs.Base[p])
		if owner == topo.None {
			return i
		}
		if _, is := firsts[owner]; !is {
			firsts[owner] = i
		}
		return firsts[owner]
	}
	places := map[topo.PortIdx]int{}
	for i, p := range ports {
		places[p] = at(i, p)
	}
	slices.SortStableFunc(ports, func(a, b topo.PortIdx) int { return cmp.Compare(places[a], places[b]) })
}

// add adds the first number of each type on a leaf, and goes on to the next leaf. The numbers of a type on a leaf are
// rotated, so that the ports of hosts that have others elsewhere are reached by other switches than these.
func (n *network) add(d *destinations, first, most *[nodeTypes]int) {
	var rotations [nodeTypes]int
	number := func(p *destination, by int) int { return first[p.kind] + (p.number+by)%most[p.kind] + int(p.nth) }
	for kind := compute; kind < noHost && len(n.owners.lids) > 0; kind++ {
		if d.count[kind] == 0 {
			continue
		}
		rotations[kind] = leastClashes(min(most[kind], n.tiers[0].parents*n.tiers[0].cables), func(by int) (count int) {
			for i := range d.ports {
				if p := &d.ports[i]; p.kind == kind && !p.numbered && p.nth == 0 {
					count += n.clashes(p.owner, number(p, by))
				}
			}
			return count
		})
	}
	for i := range d.ports {
		if p := &d.ports[i]; p.kind == noHost {
			p.number += first[compute] + int(p.nth)
		} else if !p.numbered {
			if p.number = number(p, rotations[p.kind]); p.nth == 0 {
				n.numbered(p.owner, p.number)
			}
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

// numberRails numbers the first destinations of the ports in rails, by base LID. Between rails some numbers are left
// out, so that the ports of a host are reached by different switches. It returns the next number, too.
func (n *network) numberRails() (places map[mad.LID]inRail, next int) {
	places = map[mad.LID]inRail{}
	alone, numbers := n.numberAlone()
	for _, r := range n.rails {
		if _, is := alone[r.lids[0]]; !is {
			next = max(next, numbers)
			next += leastClashes(n.tiers[0].parents*n.tiers[0].cables, func(by int) (count int) {
				for at, lid := range r.lids {
					count += n.clashes(n.ownerOf(lid), next+by+at)
				}
				return count
			})
		}
		for at, lid := range r.lids {
			number, is := alone[lid]
			if !is {
				number = next
				next++
			}
			places[lid] = inRail{r, at, number}
			n.numbered(n.ownerOf(lid), number)
		}
	}
	return places, max(next, numbers)
}

func (n *network) egress(p topo.PortIdx) uint8 {
	_, port := routing.Home(n.Topo, p)
	return port
}

// inTreeOrder lists the switches: leaves first, and side by side those that are below the same switch of a level.
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
