package routingtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// Subnet is a fabric with tables, which a test may spoil.
type Subnet struct {
	Topo   *topo.Topo
	LIDs   *topo.LIDs
	Tables *routing.Tables
	Maps   *routing.Maps
	Groups []mcast.Group
	Lanes  []uint8
	Turns  []uint16
	Before *Subnet // of which each switch may have the tables; nil for none
}

// NewSubnet is a generated fabric with tables and one LID for each port.
func NewSubnet(t testing.TB, spec string, engine routing.Engine) *Subnet {
	t.Helper()
	in := Problem(t, spec)
	tables, err := engine(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return &Subnet{Topo: in.Topo, LIDs: in.LIDs, Tables: tables}
}

// Changed is the subnet with rows and lists of its own.
func (s *Subnet) Changed() *Subnet {
	c := *s
	c.Tables = &routing.Tables{LFT: slices.Clone(s.Tables.LFT), Top: s.Tables.Top, SLs: s.Tables.SLs}
	for i := range c.Tables.LFT {
		c.Tables.LFT[i] = slices.Clone(c.Tables.LFT[i])
	}
	c.Groups = slices.Clone(s.Groups)
	return &c
}

// Spoil changes one thing at random.
func (s *Subnet) Spoil(rng *rand.Rand) {
	sw := rng.IntN(len(s.Tables.LFT))
	node := s.Topo.Switches[sw]
	num := int(s.Topo.Nodes[node].NumPorts)
	switch rng.IntN(8) {
	case 0, 1:
		s.Tables.LFT[sw][1+rng.IntN(int(s.LIDs.Top))] = uint8(1 + rng.IntN(num))
	case 2:
		if s.Maps != nil {
			out := s.Topo.Port(node, uint8(1+rng.IntN(num)))
			s.Maps = &routing.Maps{Of: slices.Clone(s.Maps.Of)}
			s.Maps.Of[out] = slices.Clone(s.Maps.Of[out])
			if len(s.Maps.Of[out]) > 0 {
				table := *someTable(rng, 1+rng.IntN(4))
				s.Maps.Of[out][rng.IntN(len(s.Maps.Of[out]))] = &table
			}
		}
	case 3:
		s.Tables.SLs = s.someSLs(rng)
	case 4:
		s.Groups = append(s.Groups, s.someGroup(rng, mad.MinMulticastLID+mad.LID(len(s.Groups))))
	case 5:
		if s.Turns != nil {
			s.Turns = slices.Clone(s.Turns)
			s.Turns[rng.IntN(len(s.Turns))] = 0xfffe
		}
	}
}

// someGroup is a tree along routes to a switch.
func (s *Subnet) someGroup(rng *rand.Rand, mlid mad.LID) mcast.Group {
	masks := make([]mcast.PortMask, len(s.Topo.Switches))
	to := s.Topo.EndPorts[rng.IntN(len(s.Topo.EndPorts))]
	for _, p := range s.Topo.EndPorts {
		at, port := routing.Home(s.Topo, p)
		if at == topo.None || rng.IntN(2) == 0 {
			continue
		}
		masks[at].Add(port)
		for range s.Topo.Switches {
			out := s.Tables.LFT[at][s.LIDs.Base[to]]
			if out == 0 || out > s.Topo.Nodes[s.Topo.Switches[at]].NumPorts {
				break
			}
			peer := s.Topo.Ports[s.Topo.Port(s.Topo.Switches[at], out)].Peer
			if peer == topo.None || s.Topo.Nodes[s.Topo.Ports[peer].Node].Switch == topo.None {
				break
			}
			masks[at].Add(out)
			at = s.Topo.Nodes[s.Topo.Ports[peer].Node].Switch
			masks[at].Add(s.Topo.Ports[peer].Num)
		}
	}
	tree := &mcast.Tree{MLID: mlid}
	for sw, m := range masks {
		if !m.Empty() {
			tree.Branches = append(tree.Branches, mcast.Branch{Switch: topo.SwitchIdx(sw), Ports: m})
		}
	}
	return mcast.Group{Tree: tree, SL: uint8(rng.IntN(3))}
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
func (s *Subnet) someMaps(rng *rand.Rand) *routing.Maps {
	m := &routing.Maps{Of: make([][]*routing.SLToVL, len(s.Topo.Ports))}
	most := 1 + rng.IntN(3)
	few := []*routing.SLToVL{nil, someTable(rng, most), someTable(rng, most)}
	form := rng.IntN(4)
	for p := range m.Of {
		switch {
		case form > 0 && rng.IntN(form) == 0:
			m.Of[p] = []*routing.SLToVL{few[rng.IntN(len(few))]}
		case form > 1 && s.Topo.IsSwitchPort(topo.PortIdx(p)):
			for range int(s.Topo.Nodes[s.Topo.Ports[p].Node].NumPorts) + 1 {
				m.Of[p] = append(m.Of[p], few[rng.IntN(len(few))])
			}
		}
	}
	return m
}

// Vary gives a subnet random SLs, mapping tables, numbers of lanes and turns, or not.
func (s *Subnet) Vary(rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		s.Tables.SLs = s.someSLs(rng)
	}
	if rng.IntN(2) == 0 {
		s.Maps = s.someMaps(rng)
	}
	if rng.IntN(3) == 0 {
		s.Lanes = make([]uint8, len(s.Topo.Ports))
		for p := range s.Lanes {
			s.Lanes[p] = []uint8{0, 2, 4, 8}[rng.IntN(4)]
		}
	}
	if rng.IntN(3) == 0 {
		s.Turns = make([]uint16, len(s.Topo.Ports))
		for p := range s.Turns {
			s.Turns[p] = 0x7fff &^ (1 << rng.IntN(150))
		}
	}
	for range rng.IntN(3) {
		s.Groups = append(s.Groups, s.someGroup(rng, mad.MinMulticastLID+mad.LID(len(s.Groups))))
	}
}

// someSLs are SLs of a random form: by destination, by switches, or by LIDs.
func (s *Subnet) someSLs(rng *rand.Rand) *routing.SLs {
	from, to := make([]int32, len(s.LIDs.Owner)), make([]int32, len(s.LIDs.Owner))
	form, most := rng.IntN(3), 1+rng.IntN(4)
	for lid, p := range s.LIDs.Owner {
		from[lid], to[lid] = -1, -1
		if p == topo.None {
			continue
		}
		switch form {
		case 0:
			from[lid], to[lid] = 0, int32(lid)
		case 1:
			from[lid], to[lid] = int32(s.Topo.SwitchOf(p)), int32(s.Topo.SwitchOf(p))
		case 2:
			from[lid], to[lid] = int32(lid), int32(lid)
		}
	}
	rows := make([][]uint8, max(len(from), len(s.Topo.Switches)))
	for r := range rows {
		rows[r] = make([]uint8, max(len(to), len(s.Topo.Switches)))
		for c := range rows[r] {
			rows[r][c] = uint8(rng.IntN(most))
		}
	}
	return routing.NewSLs(from, to, rows)
}
