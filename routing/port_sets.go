package routing

import (
	"math/bits"

	"ibsm/topo"
)

// PortSets are, for one switch at a time, the ports by which the routes to each destination switch
// may go. Most destinations share a few sets. It belongs to one goroutine.
type PortSets struct {
	setOf []uint16 // by destination switch, index into sets
	sets  []portSet
	ids   map[PortMask]uint16
	mask  [4][]uint64 // by destination switch, 64 ports each
	arena []uint8     // of portSet.ports
}

// PortMask is a set of port numbers: a bit for each, 64 in a word.
type PortMask [4]uint64

// Add puts a port in.
func (m *PortMask) Add(port uint8) { m[port>>6] |= 1 << (port & 63) }

// Has reports whether a port is in it.
func (m *PortMask) Has(port uint8) bool { return m[port>>6]>>(port&63)&1 != 0 }

// Len is how many ports are in it.
func (m *PortMask) Len() (n int) {
	for _, word := range m {
		n += bits.OnesCount64(word)
	}
	return n
}

// All are the ports in it, ascending.
func (m *PortMask) All(yield func(port uint8) bool) {
	for w, word := range m {
		for ; word != 0; word &= word - 1 {
			if !yield(uint8(w<<6 + bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

// portSet is a set of candidates, and how far it is used up.
type portSet struct {
	mask  PortMask
	ports []uint8 // ascending
	// No port has a count below level, and none before next has a count of level:
	// counts only grow, so the search for the least goes on where it stopped.
	level uint32
	next  int
}

func newPortSets(switches int) *PortSets {
	c := &PortSets{setOf: make([]uint16, switches), ids: map[PortMask]uint16{}}
	for w := range c.mask {
		c.mask[w] = make([]uint64, switches)
	}
	return c
}

// clear makes all sets empty.
func (c *PortSets) clear() {
	for w := range c.mask {
		clear(c.mask[w])
	}
}

// Of gives the words of a port, by destination switch, and its bit in them: for adding the port.
func (c *PortSets) Of(port uint8) (words []uint64, bit uint64) {
	return c.mask[port>>6], 1 << (port & 63)
}

// Set gives the ports to a destination switch.
func (c *PortSets) Set(to topo.SwitchIdx, ports *PortMask) {
	for w := range c.mask {
		c.mask[w][to] = ports[w]
	}
}

// Narrow leaves in each set its first port in an order, nil for the lowest one, and those that are
// like it.
func (c *PortSets) Narrow(order []uint8, like func(first, port uint8) bool) {
	for d := range c.setOf {
		first := -1
		for _, port := range order {
			if c.mask[port>>6][d]>>(port&63)&1 != 0 {
				first = int(port)
				break
			}
		}
		for w := range c.mask {
			for word := c.mask[w][d]; word != 0; word &= word - 1 {
				port := w<<6 + bits.TrailingZeros64(word)
				if first < 0 {
					first = port
				}
				if !like(uint8(first), uint8(port)) {
					c.mask[w][d] &^= 1 << (port & 63)
				}
			}
		}
	}
}

// intern turns the masks into sets.
func (c *PortSets) intern() {
	clear(c.ids)
	c.sets, c.arena = c.sets[:0], c.arena[:0]
	last := PortMask{^uint64(0)} // no set: port 0 is in none
	id := uint16(0)
	for d := range c.setOf {
		if set := (PortMask{c.mask[0][d], c.mask[1][d], c.mask[2][d], c.mask[3][d]}); set != last {
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

func (c *PortSets) add(set PortMask) {
	from := len(c.arena)
	for port := range set.All {
		c.arena = append(c.arena, port)
	}
	list := c.arena[from:]
	c.sets = append(c.sets, portSet{mask: set, ports: list, next: len(list)})
}

// to is the set of ports to a switch.
func (c *PortSets) to(d topo.SwitchIdx) *portSet { return &c.sets[c.setOf[d]] }

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
