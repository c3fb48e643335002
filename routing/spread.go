package routing

import (
	"math"

	"ibsm/topo"
)

// spread knows, for one switch, through which neighbours the LIDs of each
// destination go so far, so that the next one takes a neighbour of another system,
// or at least another neighbour.
type spread struct {
	*Balance
	peer [256]topo.SwitchIdx // by port of the switch
	used []neighbour         // 2^lmc slots of each destination, free ones last
}

type neighbour struct {
	peer topo.SwitchIdx // None for a free slot
	lids uint8          // that go through it
}

func newSpread(p *Balance) *spread {
	return &spread{Balance: p, used: make([]neighbour, len(p.Order)<<p.LMC)}
}

// begin turns to a switch.
func (m *spread) begin(s topo.SwitchIdx) {
	peers, ports := m.Graph.Edges(s)
	for e, r := range peers {
		m.peer[ports[e]] = r
		if m.OneNeighbour {
			m.peer[ports[e]] = topo.SwitchIdx(ports[e]) // in place of the neighbour: only cables count
		}
	}
	for i := range m.used {
		m.used[i] = neighbour{peer: topo.None}
	}
}

// remember notes that a LID of destination k goes through a port.
func (m *spread) remember(k int, port uint8) {
	slots := m.used[k<<m.LMC : (k+1)<<m.LMC]
	for i := range slots {
		if slots[i].peer == m.peer[port] || slots[i].peer == topo.None {
			slots[i].peer = m.peer[port]
			slots[i].lids++
			return
		}
	}
}

// known says whether a LID of destination k goes through the system that a port
// leads to, and through which slot if it is the very neighbour.
func (m *spread) known(k int, port uint8) (system bool, through *neighbour) {
	peer := m.peer[port]
	for i := range m.used[k<<m.LMC : (k+1)<<m.LMC] {
		u := &m.used[k<<m.LMC+i]
		if u.peer == topo.None {
			break
		}
		if u.peer == peer {
			return true, u
		}
		system = system || m.system[u.peer] == m.system[peer]
	}
	return system, nil
}

// choose is OpenSM's choice for one of several LIDs of destination k. Candidates
// are visited in ascending order from port start on, round the end.
func (m *spread) choose(k int, ports []uint8, start uint8, count *[256]uint32) uint8 {
	from := 0
	for from < len(ports) && ports[from] < start {
		from++
	}
	best := choice{count: math.MaxUint32}
	otherSystem, otherNode := best, best
	leastLIDs := uint8(math.MaxUint8)
	for i := range ports {
		port := ports[(from+i)%len(ports)]
		c := choice{port, count[port]}
		system, through := m.known(k, port)
		switch {
		case !system && c.count < otherSystem.count:
			otherSystem, leastLIDs = c, 0
		case system && through == nil && c.count < otherNode.count:
			otherNode, leastLIDs = c, 0
		}
		if c.count < best.count {
			best = c
			if through != nil {
				leastLIDs = min(leastLIDs, through.lids)
			}
		} else if through != nil && c.count == best.count && through.lids < leastLIDs {
			best, leastLIDs = c, through.lids
		}
	}
	switch {
	case otherSystem.port != 0:
		return otherSystem.port
	case otherNode.port != 0:
		return otherNode.port
	}
	return best.port
}

// chooseCable is OpenSM's choice where all ports lead to one neighbour.
func (m *spread) chooseCable(k int, ports []uint8, count *[256]uint32) uint8 {
	best, leastLIDs := choice{count: math.MaxUint32}, uint8(math.MaxUint8)
	for _, port := range ports {
		lids := uint8(0)
		for _, u := range m.used[k<<m.LMC : (k+1)<<m.LMC] {
			if u.peer == m.peer[port] {
				lids = u.lids
			}
		}
		switch c := (choice{port, count[port]}); {
		case c.count < best.count:
			best, leastLIDs = c, min(leastLIDs, lids)
		case c.count == best.count && lids < leastLIDs:
			best, leastLIDs = c, lids
		}
	}
	return best.port
}

// choice is a port and its count; port 0 is none.
type choice struct {
	port  uint8
	count uint32
}
