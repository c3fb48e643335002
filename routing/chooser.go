package routing

import (
	"math"

	"ibsm/topo"
)

// chooser chooses, for one switch at a time, among the ports to a destination as OpenSM does where the
// settings are not the defaults, or where destinations have several LIDs: then it knows through which neighbours
// those of each destination go so far, so that the next one takes a neighbour of another system, or at
// least another neighbour. It belongs to one goroutine.
type chooser struct {
	*Balance
	s     topo.SwitchIdx
	peer  [256]topo.SwitchIdx // by port of the switch
	used  []neighbour         // 2^lmc slots of each destination, free ones last
	rand  CRand
	ports []candidate // scratch
	least []uint8     // scratch
}

type neighbour struct {
	peer topo.SwitchIdx // None for a free slot
	lids uint8          // that go through it
}

// candidate is a port as it is compared with others.
type candidate struct {
	port  uint8
	count uint32
	// Where destinations have several LIDs: whether some go through the system, or the very neighbour, that
	// the port leads to, and how many through the neighbour, none if that is not known.
	system, node bool
	lids         uint8
}

const none = math.MaxUint8

func newChooser(b *Balance) *chooser {
	return &chooser{Balance: b, used: make([]neighbour, len(b.Order)<<b.LMC)}
}

// begin turns to a switch.
func (c *chooser) begin(s topo.SwitchIdx) {
	c.s = s
	peers, ports := c.Graph.Edges(s)
	for e, r := range peers {
		c.peer[ports[e]] = r
		if c.OneNeighbour {
			c.peer[ports[e]] = topo.SwitchIdx(ports[e]) // in place of the neighbour: only cables count
		}
	}
	for i := range c.used {
		c.used[i] = neighbour{peer: topo.None}
	}
	if c.draws != nil {
		c.rand = c.draws[s]
	}
}

// remember notes that a LID of destination k goes through a port.
func (c *chooser) remember(k int, port uint8) {
	slots := c.used[k<<c.LMC : (k+1)<<c.LMC]
	for i := range slots {
		if slots[i].peer == c.peer[port] || slots[i].peer == topo.None {
			slots[i].peer = c.peer[port]
			slots[i].lids++
			return
		}
	}
}

// each calls do for the ports of a set in the order in which they are compared, from place start of the
// order on, round the end. In ascending order the place of a port is its number.
func (c *chooser) each(set *portSet, start uint8, do func(port uint8)) {
	order := c.search[c.s]
	if order == nil {
		from := 0
		for from < len(set.ports) && set.ports[from] < start {
			from++
		}
		for i := range set.ports {
			do(set.ports[(from+i)%len(set.ports)])
		}
		return
	}
	from := max(1, int(start)) - 1
	for i := range order {
		if port := order[(from+i)%len(order)]; set.mask.Has(port) {
			do(port)
		}
	}
}

// scatter is one of the least used ports, at random.
func (c *chooser) scatter(set *portSet, count *[256]uint32) uint8 {
	least := uint32(math.MaxUint32)
	c.least = c.least[:0]
	c.each(set, 0, func(port uint8) {
		if count[port] < least {
			least, c.least = count[port], c.least[:0]
		}
		if count[port] == least {
			c.least = append(c.least, port)
		}
	})
	return c.least[c.rand.Next()%len(c.least)]
}

// choose is OpenSM's choice for a LID of destination k.
func (c *chooser) choose(k int, set *portSet, start uint8, count *[256]uint32) uint8 {
	c.ports = c.ports[:0]
	node := false // of a system that no LID goes through it is that of the candidate before
	c.each(set, start, func(port uint8) {
		p := candidate{port: port, count: count[port], lids: none}
		switch {
		case c.LMC == 0:
		case c.OneNeighbour:
			p.lids = c.through(k, port)
		default:
			var through *neighbour
			if p.system, through = c.known(k, port); p.system {
				if node = through != nil; node {
					p.lids = through.lids
				}
			}
			p.node = node
		}
		c.ports = append(c.ports, p)
	})
	if c.settings.Shift {
		return c.shifted()
	}
	return c.first()
}

// through is how many LIDs of a destination go through the cable at a port.
func (c *chooser) through(k int, port uint8) uint8 {
	for _, u := range c.used[k<<c.LMC : (k+1)<<c.LMC] {
		if u.peer == c.peer[port] {
			return u.lids
		}
	}
	return 0
}

// known says whether a LID of destination k goes through the system that a port
// leads to, and through which slot if it is the very neighbour.
func (c *chooser) known(k int, port uint8) (system bool, through *neighbour) {
	peer := c.peer[port]
	for i := range c.used[k<<c.LMC : (k+1)<<c.LMC] {
		u := &c.used[k<<c.LMC+i]
		if u.peer == topo.None {
			break
		}
		if u.peer == peer {
			return true, u
		}
		system = system || c.system[u.peer] == c.system[peer]
	}
	return system, nil
}

// first chooses the least used of the candidates, the first of several.
func (c *chooser) first() uint8 {
	best := candidate{count: math.MaxUint32}
	otherSystem, otherNode := best, best
	leastLIDs := uint8(none)
	for _, p := range c.ports {
		switch {
		case c.LMC == 0 || c.OneNeighbour:
		case !p.system && p.count < otherSystem.count:
			otherSystem, leastLIDs = p, 0
		case p.system && !p.node && p.count < otherNode.count:
			otherNode, leastLIDs = p, 0
		}
		if p.count < best.count {
			best = p
			leastLIDs = min(leastLIDs, p.lids)
		} else if p.count == best.count && p.lids < leastLIDs {
			best, leastLIDs = p, p.lids
		}
	}
	return preferred(otherSystem, otherNode, best)
}

// shifted does the same with port_shifting, which begins with another candidate the more the candidates are
// used.
func (c *chooser) shifted() uint8 {
	sum := uint32(0)
	for _, p := range c.ports {
		sum += p.count
	}
	from := int(sum / uint32(len(c.ports)))
	best := candidate{count: math.MaxUint32}
	otherSystem, otherNode := best, best
	leastLIDs := uint8(none)
	for i := range c.ports {
		p := c.ports[(from+i)%len(c.ports)]
		switch {
		case c.LMC == 0:
		case !p.system && p.count < otherSystem.count:
			otherSystem, leastLIDs = p, 0
		case !p.node && p.count < otherNode.count:
			otherNode, leastLIDs = p, 0
		}
		seen, lids := p.system || p.node, p.lids
		if lids == none {
			lids = 0
		}
		if p.count < best.count {
			if best = p; seen {
				leastLIDs = min(leastLIDs, lids)
			}
		} else if seen && p.count == best.count && lids < leastLIDs {
			best, leastLIDs = p, lids
		}
	}
	return preferred(otherSystem, otherNode, best)
}

// preferred is the port that OpenSM takes of those that are best in some way; port 0 is none.
func preferred(ways ...candidate) uint8 {
	for _, p := range ways {
		if p.port != 0 {
			return p.port
		}
	}
	return 0
}
