package creditloop

import (
	"math/rand/v2"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// spoil changes one thing at random.
func (s *subnet) spoil(rng *rand.Rand) {
	sw := rng.IntN(len(s.tables.LFT))
	node := s.topo.Switches[sw]
	num := int(s.topo.Nodes[node].NumPorts)
	switch rng.IntN(8) {
	case 0, 1:
		s.tables.LFT[sw][1+rng.IntN(int(s.lids.Top))] = uint8(1 + rng.IntN(num))
	case 2:
		if s.maps != nil {
			out := s.topo.Port(node, uint8(1+rng.IntN(num)))
			s.maps = &routing.Maps{Of: slices.Clone(s.maps.Of)}
			s.maps.Of[out] = slices.Clone(s.maps.Of[out])
			if len(s.maps.Of[out]) > 0 {
				table := *someTable(rng, 1+rng.IntN(4))
				s.maps.Of[out][rng.IntN(len(s.maps.Of[out]))] = &table
			}
		}
	case 3:
		s.tables.SLs = s.someSLs(rng)
	case 4:
		s.groups = append(s.groups, s.someGroup(rng, mad.MinMulticastLID+mad.LID(len(s.groups))))
	case 5:
		if s.turns != nil {
			s.turns = slices.Clone(s.turns)
			s.turns[rng.IntN(len(s.turns))] = 0xfffe
		}
	}
}

// someGroup is a tree along routes to a switch.
func (s *subnet) someGroup(rng *rand.Rand, mlid mad.LID) Group {
	masks := make([]mcast.PortMask, len(s.topo.Switches))
	to := s.topo.EndPorts[rng.IntN(len(s.topo.EndPorts))]
	for _, p := range s.topo.EndPorts {
		at, port := routing.Home(s.topo, p)
		if at == topo.None || rng.IntN(2) == 0 {
			continue
		}
		masks[at].Add(port)
		for range s.topo.Switches {
			out := s.tables.LFT[at][s.lids.Base[to]]
			if out == 0 || out > s.topo.Nodes[s.topo.Switches[at]].NumPorts {
				break
			}
			peer := s.topo.Ports[s.topo.Port(s.topo.Switches[at], out)].Peer
			if peer == topo.None || s.topo.Nodes[s.topo.Ports[peer].Node].Switch == topo.None {
				break
			}
			masks[at].Add(out)
			at = s.topo.Nodes[s.topo.Ports[peer].Node].Switch
			masks[at].Add(s.topo.Ports[peer].Num)
		}
	}
	tree := &mcast.Tree{MLID: mlid}
	for sw, m := range masks {
		if !m.Empty() {
			tree.Branches = append(tree.Branches, mcast.Branch{Switch: topo.SwitchIdx(sw), Ports: m})
		}
	}
	return Group{tree, uint8(rng.IntN(3))}
}

func someTable(rng *rand.Rand, most int) *routing.SLToVL {
	m := &routing.SLToVL{}
	for sl := range m {
		if m[sl] = uint8(rng.IntN(most)); rng.IntN(40) == 0 {
			m[sl] = routing.DropVL
		}
	}
	return m
}

// someMaps are tables of random forms: none, one for a port, or one for each pair of ports.
func (s *subnet) someMaps(rng *rand.Rand) *routing.Maps {
	m := &routing.Maps{Of: make([][]*routing.SLToVL, len(s.topo.Ports))}
	most := 1 + rng.IntN(3)
	few := []*routing.SLToVL{nil, someTable(rng, most), someTable(rng, most)}
	form := rng.IntN(4)
	for p := range m.Of {
		switch {
		case form > 0 && rng.IntN(form) == 0:
			m.Of[p] = []*routing.SLToVL{few[rng.IntN(len(few))]}
		case form > 1 && s.topo.IsSwitchPort(topo.PortIdx(p)):
			for range int(s.topo.Nodes[s.topo.Ports[p].Node].NumPorts) + 1 {
				m.Of[p] = append(m.Of[p], few[rng.IntN(len(few))])
			}
		}
	}
	return m
}

// vary gives a subnet random SLs, mapping tables, numbers of lanes and turns, or not.
func (s *subnet) vary(rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		s.tables.SLs = s.someSLs(rng)
	}
	if rng.IntN(2) == 0 {
		s.maps = s.someMaps(rng)
	}
	if rng.IntN(3) == 0 {
		s.lanes = make([]uint8, len(s.topo.Ports))
		for p := range s.lanes {
			s.lanes[p] = []uint8{0, 2, 4, 8}[rng.IntN(4)]
		}
	}
	if rng.IntN(3) == 0 {
		s.turns = make([]uint16, len(s.topo.Ports))
		for p := range s.turns {
			s.turns[p] = 0x7fff &^ (1 << rng.IntN(150))
		}
	}
	for range rng.IntN(3) {
		s.groups = append(s.groups, s.someGroup(rng, mad.MinMulticastLID+mad.LID(len(s.groups))))
	}
}

// someSLs are SLs of a random form: by destination, by switches, or by LIDs.
func (s *subnet) someSLs(rng *rand.Rand) *routing.SLs {
	from, to := make([]int32, len(s.lids.Owner)), make([]int32, len(s.lids.Owner))
	form, most := rng.IntN(3), 1+rng.IntN(4)
	for lid, p := range s.lids.Owner {
		from[lid], to[lid] = -1, -1
		if p == topo.None {
			continue
		}
		switch form {
		case 0:
			from[lid], to[lid] = 0, int32(lid)
		case 1:
			from[lid], to[lid] = int32(s.topo.SwitchOf(p)), int32(s.topo.SwitchOf(p))
		case 2:
			from[lid], to[lid] = int32(lid), int32(lid)
		}
	}
	rows := make([][]uint8, max(len(from), len(s.topo.Switches)))
	for r := range rows {
		rows[r] = make([]uint8, max(len(to), len(s.topo.Switches)))
		for c := range rows[r] {
			rows[r][c] = uint8(rng.IntN(most))
		}
	}
	return routing.NewSLs(from, to, rows)
}
