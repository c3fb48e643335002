package tree

import (
	"cmp"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// hostPlace is the place of a port in its host and rail.
type hostPlace struct {
	host int32   // of network.owners
	nth  int     // of the ports of the host in the rail
	lid  mad.LID // of a port whose host has no other
}

// mostSpines is how many switches the ports of a host are reached over at most where each rail has one leaf. More of
// them, and flows of shifts among all hosts meet more where adapters are missing.
const mostSpines = 4

// numberAlone numbers the ports of rails that are each alone on one leaf, as in a fabric of one unit, by base LID, and
// counts these numbers. Within such rails nothing leaves the leaf: shifts among all hosts count. In these a leaf sends
// to one other, or, where ports are missing, to a few that are next to each other. So a host has nearly the same digit
// on all leaves, also if it lacks a port, and those of neighbors change places, so that the ports of a host are reached
// over different switches.
func (n *network) numberAlone() (numbers map[mad.LID]int, count int) {
	var alone []*rail
	first, placeOf := map[hostPlace]uint8{}, map[mad.LID]hostPlace{} // first: the lowest port of a leaf
	longest := 0
	for _, r := range n.rails {
		if len(r.leaves) > 1 {
			continue
		}
		alone, longest = append(alone, r), max(longest, len(r.lids))
		ports := map[int32]int{}
		for _, lid := range r.lids {
			at := hostPlace{host: n.ownerOf(lid)}
			if at.host == topo.None {
				at.lid = lid
			} else {
				at.nth = ports[at.host]
				ports[at.host]++
			}
			port := n.egress(n.LIDs.PortOf(lid))
			if before, is := first[at]; !is || port < before {
				first[at] = port
			}
			placeOf[lid] = at
		}
	}
	digits := n.tiers[0].parents * n.tiers[0].cables
	neighbors := min(len(alone), n.tiers[0].parents, mostSpines)
	for neighbors > 1 && digits%neighbors > 0 {
		neighbors--
	}
	rounds := (longest + digits - 1) / digits
	if neighbors < 2 || len(first) > rounds*digits {
		return nil, 0
	}
	order := slices.SortedFunc(maps.Keys(first), func(a, b hostPlace) int {
		return cmp.Or(cmp.Compare(first[a], first[b]), cmp.Compare(a.host, b.host), cmp.Compare(a.nth, b.nth),
			cmp.Compare(a.lid, b.lid))
	})
	place := map[hostPlace]int{}
	for at, s := range order {
		place[s] = at
	}
	numbers = map[mad.LID]int{}
	for i, r := range alone {
		by := neighbors - i*neighbors/len(alone)
		for _, lid := range r.lids {
			at := place[placeOf[lid]]
			numbers[lid] = i*rounds*digits + at - at%neighbors + (at+by)%neighbors
		}
	}
	return numbers, len(alone) * rounds * digits
}
