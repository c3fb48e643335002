package routingtest

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Hop is a channel that a packet takes in the naive search; its port may lead to an end port.
type Hop struct {
	Switch     topo.SwitchIdx
	Port, Lane uint8
}

// Packet is one of an SL from a LID to another.
type Packet struct {
	From, To mad.LID
	SL       uint8
}

// StopKind says what stops packets.
type StopKind uint8

// Kinds of stops: VL15, a lane that the link does not have, one that gets no turn.
const (
	Dropped StopKind = iota
	NoLane
	NoTurn
)

// Stop is a finding of the naive search.
type Stop struct {
	Kind   StopKind
	Port   topo.PortIdx
	SL, VL uint8
}

// Naive is what the naive search has found: the dependencies of every packet one by one.
type Naive struct {
	*Subnet
	After map[Hop]map[Hop]bool
	Stops map[Stop]bool
	// Hops, if not nil, is called for each hop of the packet in hand and that after it.
	Hops func(at Hop, next *Hop)
}

// sides are the tables that switches may have.
func (s *Subnet) sides() []*Subnet {
	if s.Before != nil {
		return []*Subnet{s, s.Before}
	}
	return []*Subnet{s}
}

// judge is the lane of packets of an SL at a port, by the tables of some side, and whether they leave.
func (n *Naive) judge(side *Subnet, in uint8, out topo.PortIdx, sl uint8) (lane uint8, leave bool) {
	lane = side.Maps.Table(in, out).VL(sl)
	lanes := uint8(15)
	if n.Lanes != nil {
		if lanes = n.Lanes[out]; lanes == 0 && n.Topo.Ports[out].Peer != topo.None {
			lanes = n.Lanes[n.Topo.Ports[out].Peer]
		}
		if lanes == 0 {
			lanes = 15
		}
	}
	switch {
	case lane == 15:
		n.Stops[Stop{Dropped, out, sl, lane}] = true
	case lane >= lanes:
		n.Stops[Stop{NoLane, out, sl, lane}] = true
	case n.Turns != nil && n.Turns[out]>>lane&1 == 0:
		n.Stops[Stop{NoTurn, out, sl, lane}] = true
		return lane, true
	default:
		return lane, true
	}
	return lane, false
}

// send lets a packet go on from a switch, to which it came by the last hop, if any, into a port. seen
// are the hops that it has taken.
func (n *Naive) send(p Packet, sw topo.SwitchIdx, in uint8, last *Hop, seen map[Hop]bool) {
	for _, port := range n.ports(p, sw, in) {
		out := n.Topo.Port(n.Topo.Switches[sw], port)
		peer := n.Topo.Ports[out].Peer
		if port == 0 || peer == topo.None {
			continue
		}
		for _, side := range n.sides() {
			lane, leave := n.judge(side, in, out, p.SL)
			if !leave {
				continue
			}
			at := Hop{sw, port, lane}
			next := n.Topo.Nodes[n.Topo.Ports[peer].Node].Switch
			if next == topo.None {
				continue
			}
			if last != nil {
				if n.After[*last] == nil {
					n.After[*last] = map[Hop]bool{}
				}
				n.After[*last][at] = true
			}
			if !seen[at] {
				seen[at] = true
				n.send(p, next, n.Topo.Ports[peer].Num, &at, seen)
			}
		}
	}
}

// ports are those by which a packet leaves a switch.
func (n *Naive) ports(p Packet, sw topo.SwitchIdx, in uint8) (ports []uint8) {
	if p.To >= mad.MinMulticastLID {
		for _, g := range n.Groups {
			if g.Tree.MLID == p.To {
				for port := range g.Tree.Ports(sw).Ports() {
					if port != in {
						ports = append(ports, port)
					}
				}
			}
		}
		return ports
	}
	for _, side := range n.sides() {
		if port := side.Tables.LFT[sw][p.To]; port <= n.Topo.Nodes[n.Topo.Switches[sw]].NumPorts &&
			!slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// packets calls do for every packet, with where it starts.
func (s *Subnet) packets(hosts bool, do func(p Packet, sw topo.SwitchIdx, in uint8)) {
	counts := func(p topo.PortIdx) bool {
		return p != topo.None && (!hosts || s.Topo.Nodes[s.Topo.Ports[p].Node].Type != mad.Switch) &&
			s.Topo.SwitchOf(p) != topo.None
	}
	for from, p := range s.LIDs.Owner {
		if !counts(p) || hosts && s.Topo.Nodes[s.Topo.Ports[p].Node].Aggregation {
			continue
		}
		sw, in := routing.Home(s.Topo, p)
		for to, q := range s.LIDs.Owner {
			if counts(q) {
				for _, side := range s.sides() {
					do(Packet{mad.LID(from), mad.LID(to), side.Tables.SLs.Of(mad.LID(from), mad.LID(to))}, sw, in)
				}
			}
		}
		for _, g := range s.Groups {
			if !g.Tree.Ports(sw).Empty() {
				do(Packet{mad.LID(from), g.Tree.MLID, g.SL}, sw, in)
			}
		}
	}
}

// Search follows every packet by itself: those between hosts, or also those from and to port 0 of
// switches.
func (s *Subnet) Search(hosts bool) *Naive {
	return s.SearchSome(hosts, func(Packet, topo.SwitchIdx) bool { return true })
}

// SearchSome follows some of the packets, which start at a switch.
func (s *Subnet) SearchSome(hosts bool, some func(Packet, topo.SwitchIdx) bool) *Naive {
	n := &Naive{Subnet: s, After: map[Hop]map[Hop]bool{}, Stops: map[Stop]bool{}}
	s.packets(hosts, func(p Packet, sw topo.SwitchIdx, in uint8) {
		if !some(p, sw) {
			return
		}
		if own := s.LIDs.Owner[p.From]; in != 0 &&
			(p.To < mad.MinMulticastLID || slices.Contains(n.ports(p, sw, 0), in)) {
			for _, side := range s.sides() {
				n.judge(side, 0, own, p.SL)
			}
		}
		n.send(p, sw, in, nil, map[Hop]bool{})
	})
	return n
}

// HasLoop reports whether some hop comes after itself.
func (n *Naive) HasLoop() bool {
	for start := range n.After {
		seen, stack := map[Hop]bool{}, []Hop{start}
		for len(stack) > 0 {
			last := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for next := range n.After[last] {
				if next == start {
					return true
				}
				if !seen[next] {
					seen[next] = true
					stack = append(stack, next)
				}
			}
		}
	}
	return false
}
