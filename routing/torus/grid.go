package torus

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// maxPort is the highest port that a table can name.
const maxPort = routing.NoPath - 1

// cables are the links between switches that have no place in the torus yet, by switch and port.
type cables struct {
	to    [][]cable
	left  int // links
	links int // between switches, in all
}

// cable is what a port of a switch leads to.
type cable struct {
	peer topo.SwitchIdx // None without a link to a switch that is left
	port uint8          // of the peer
}

func newCables(t *topo.Topo) *cables {
	c := &cables{to: make([][]cable, len(t.Switches))}
	for s, n := range t.Switches {
		c.to[s] = make([]cable, ports(t, n)+1)
		for num := range c.to[s] {
			c.to[s][num].peer = topo.None
			p := t.Port(n, uint8(num))
			peer := t.Ports[p].Peer
			if num == 0 || peer == topo.None || peer == p || t.Ports[p].Unhealthy || t.Ports[peer].Unhealthy ||
				t.Ports[peer].Num > maxPort {
				continue
			}
			if to := t.Nodes[t.Ports[peer].Node].Switch; to != topo.None {
				c.to[s][num] = cable{to, t.Ports[peer].Num}
				c.left++
			}
		}
	}
	c.left /= 2
	c.links = c.left
	return c
}

// ports is the number of ports of a switch that tables can name.
func ports(t *topo.Topo, n topo.NodeIdx) int { return min(int(t.Nodes[n].NumPorts), maxPort) }

// leads reports whether a cable is left from one switch to another.
func (c *cables) leads(from, to topo.SwitchIdx) bool {
	return slices.ContainsFunc(c.to[from], func(l cable) bool { return l.peer == to })
}

// corner is the switch that closes a face with a, b and d: next to a and d, and not b. It is None if there
// is none.
func (c *cables) corner(a, b, d topo.SwitchIdx) topo.SwitchIdx {
	if a == topo.None || b == topo.None || d == topo.None {
		return topo.None
	}
	for _, l := range c.to[a] {
		if l.peer != topo.None && l.peer != b && c.leads(l.peer, d) {
			return l.peer
		}
	}
	return topo.None
}

// away is the switch behind base, away from the face, or the row, of a, base and d: the one that makes faces
// with a, and with d unless that is None. straight is behind base in the opposite direction.
func (c *cables) away(a, base, d, straight topo.SwitchIdx, face bool) topo.SwitchIdx {
	if a == topo.None || base == topo.None || straight == topo.None || face && d == topo.None {
		return topo.None
	}
	for _, l := range c.to[base] {
		if l.peer == topo.None || l.peer == straight || c.corner(a, base, l.peer) == topo.None {
			continue
		}
		if !face || c.corner(d, base, l.peer) != topo.None {
			return l.peer
		}
	}
	return topo.None
}

// cell is a switch in its place.
type cell struct {
	sw    topo.SwitchIdx
	at    [3]int
	group [directions][]uint8 // by direction: the ports that lead there, in the order in which they were found
	next  [directions]*cell   // and where they lead; nil without ports
	ends  []uint8             // ports to end ports, ascending; 0 for the switch's own
}

// grid is a torus as far as it has been found.
type grid struct {
	*Settings
	cables *cables
	cells  []*cell // by index; nil for a place without a switch
	order  []*cell // in the order in which they were found
	linked int     // links that have their place
	full   *cell   // a switch with more parallel links than PortGroupMax; nil for none
	from   int     // the seed that is used
}

func newGrid(s *Settings, c *cables) *grid {
	return &grid{Settings: s, cables: c, cells: make([]*cell, s.Radix[0]*s.Radix[1]*s.Radix[2])}
}

// wrap is a coordinate within the radix of its dimension.
func (g *grid) wrap(dim, v int) int {
	n := g.Radix[dim]
	return (v%n + n) % n
}

func (g *grid) index(at [3]int) int {
	return g.wrap(0, at[0]) + g.Radix[0]*(g.wrap(1, at[1])+g.Radix[1]*g.wrap(2, at[2]))
}

// cell is that of a place; nil for none.
func (g *grid) cell(at [3]int) *cell { return g.cells[g.index(at)] }

// sw is the switch of a place; None for none.
func (g *grid) sw(at [3]int) topo.SwitchIdx {
	if c := g.cell(at); c != nil {
		return c.sw
	}
	return topo.None
}

// by is the place so far away in one dimension.
func by(at [3]int, dim, steps int) [3]int {
	at[dim] += steps
	return at
}

// places yields all places, x first.
func (g *grid) places(yield func([3]int) bool) {
	for k := range g.Radix[2] {
		for j := range g.Radix[1] {
			for i := range g.Radix[0] {
				if !yield([3]int{i, j, k}) {
					return
				}
			}
		}
	}
}

// install puts a switch into a place, and reports whether there is one then. A place that is taken stays
// as it is.
func (g *grid) install(at [3]int, sw topo.SwitchIdx) bool {
	i := g.index(at)
	if g.cells[i] == nil {
		if sw == topo.None {
			return false
		}
		c := &cell{sw: sw, at: [3]int{g.wrap(0, at[0]), g.wrap(1, at[1]), g.wrap(2, at[2])}}
		g.cells[i], g.order = c, append(g.order, c)
	}
	return true
}

// link puts all links between the switches of a place and of the next one in a dimension into the
// torus. It reports false if they are more than a group of ports can have.
func (g *grid) link(at [3]int, dim int) bool {
	a, b := g.cell(at), g.cell(by(at, dim, 1))
	if a == nil || b == nil || a == b {
		return true
	}
	up, down := 2*dim+1, 2*dim
	for num, l := range g.cables.to[a.sw] {
		if l.peer != b.sw {
			continue
		}
		if len(a.group[up]) == g.PortGroupMax || len(b.group[down]) == g.PortGroupMax {
			g.full = a
			return false
		}
		a.group[up], b.group[down] = append(a.group[up], uint8(num)), append(b.group[down], l.port)
		a.next[up], b.next[down] = b, a
		g.cables.to[a.sw][num].peer, g.cables.to[b.sw][l.port].peer = topo.None, topo.None
		g.linked++
	}
	return true
}

// guid is the GUID of a cell's switch.
func (c *cell) guid(t *topo.Topo) mad.GUID { return t.Nodes[t.Switches[c.sw]].GUID }
