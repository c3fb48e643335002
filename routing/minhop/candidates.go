package minhop

import (
	"math/bits"

	"ibsm/routing"
	"ibsm/topo"
)

// candidates are the ports of one switch that lie on a shortest way, for each
// destination switch. Most destinations share a few sets.
type candidates struct {
	setOf []uint16 // by destination switch, index into sets
	sets  []portSet
	ids   map[portMask]uint16
	mask  [4][]uint64 // by destination switch, 64 ports each: scratch
	arena []uint8     // of portSet.ports
}

// portMask is a set of port numbers.
type portMask [4]uint64

// portSet is a set of candidates, and how far it is used up.
type portSet struct {
	mask  portMask
	ports []uint8 // ascending
	// No port has a count below level, and none before next has a count of level:
	// counts only grow, so the search for the least goes on where it stopped.
	level uint32
	next  int
}

func newCandidates(switches int) *candidates {
	c := &candidates{setOf: make([]uint16, switches), ids: map[portMask]uint16{}}
	for w := range c.mask {
		c.mask[w] = make([]uint64, switches)
	}
	return c
}

// of finds the candidates of a switch. They are good until the next call.
func (c *candidates) of(g *routing.Graph, hops *routing.Hops, s topo.SwitchIdx) {
	for w := range c.mask {
		clear(c.mask[w])
	}
	peers, egress := g.Edges(s)
	own := hops.From(s)
	for e, r := range peers {
		mask, bit := c.mask[egress[e]>>6], uint64(1)<<(egress[e]&63)
		for d, hop := range hops.From(r) {
			if hop == own[d]-1 { // for s itself this wraps to Unreachable, and no neighbour is that far
				mask[d] |= bit
			}
		}
	}
	c.intern()
}

// intern turns the masks into sets.
func (c *candidates) intern() {
	clear(c.ids)
	c.sets, c.arena = c.sets[:0], c.arena[:0]
	last := portMask{^uint64(0)} // no set: port 0 is in none
	id := uint16(0)
	for d := range c.setOf {
		if set := (portMask{c.mask[0][d], c.mask[1][d], c.mask[2][d], c.mask[3][d]}); set != last {
			last = set
			known := false
			if id, known = c.ids[set]; !known {
				id = uint16(len(c.sets))
				c.ids[set] = id
				c.add(set)
			}
		}
		c.setOf[d] = id
	}
}

func (c *candidates) add(set portMask) {
	from := len(c.arena)
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			c.arena = append(c.arena, uint8(w<<6+bits.TrailingZeros64(word)))
		}
	}
	list := c.arena[from:]
	c.sets = append(c.sets, portSet{mask: set, ports: list, next: len(list)})
}

// to is the set of candidates towards a switch.
func (c *candidates) to(d topo.SwitchIdx) *portSet { return &c.sets[c.setOf[d]] }

func (s *portSet) has(port uint8) bool { return s.mask[port>>6]>>(port&63)&1 != 0 }

// least is the port with the least count, the lowest of several. The set must not
// be empty.
func (s *portSet) least(count *[256]uint32) uint8 {
	if len(s.ports) == 1 {
		return s.ports[0]
	}
	for {
		for ; s.next < len(s.ports); s.next++ {
			if port := s.ports[s.next]; count[port] == s.level {
				return port
			}
		}
		s.level, s.next = count[s.ports[0]], 0
		for _, port := range s.ports[1:] {
			s.level = min(s.level, count[port])
		}
	}
}
