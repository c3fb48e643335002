package torus

import (
	"fmt"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// seed puts the switches whose places are known into the torus, or else those of the first seed of which all are in the
// subnet into the torus, and returns which one that is.
func (g *grid) seed(t *topo.Topo) (int, error) {
	for sw, at := range g.Settings.places {
		g.install(at, topo.SwitchIdx(sw))
	}
	if g.Settings.places != nil {
		return 0, nil
	}
	for n := range g.Seeds {
		s := &g.Seeds[n]
		if !g.present(t, s) {
			continue
		}
		var origin [3]int
		for dim, d := range s.Dateline {
			origin[dim] = g.wrap(dim, -d)
		}
		for _, direction := range [directions]int{1, 0, 3, 2, 5, 4} { // OpenSM's order
			if l := s.Links[direction]; l != nil {
				g.install(origin, find(t, l.From))
				g.install(by(origin, direction/2, direction%2*2-1), find(t, l.To))
			}
		}
		return n, nil
	}
	return 0, refuse("verify_setup: ERR 4E30", "Every configured torus seed has at least one switch missing in fabric"+
		see)
}

// present reports whether all switches of a seed are in the subnet.
func (g *grid) present(t *topo.Topo, s *Seed) bool {
	for direction, l := range s.Links {
		if l != nil && g.Radix[direction/2] > 1 && (find(t, l.From) == topo.None || find(t, l.To) == topo.None) {
			return false
		}
	}
	return true
}

// find is the switch of a GUID; None for none.
func find(t *topo.Topo, guid mad.GUID) topo.SwitchIdx {
	if n := t.FindNode(guid); n != topo.None {
		return t.Nodes[n].Switch
	}
	return topo.None
}

// grow finds switches and links from those known, until nothing is found any more.
func (g *grid) grow() {
	for before := -1; before != g.linked; {
		before = g.linked
		for at := range g.places {
			g.locate(at)
		}
	}
}

// locate finds what it can around the cube that begins at a place. An open row has no cube behind its
// last switch.
func (g *grid) locate(at [3]int) {
	for dim, open := range g.Mesh {
		if open && g.Radix[dim] > 1 && at[dim] == g.Radix[dim]-1 {
			return
		}
	}
	for {
		g.linkCube(at)
		if !g.complete(at) {
			break
		}
	}
	g.linkCube(at)
}

// corner is a corner of the cube that begins at a place.
func (g *grid) corner(at [3]int, corner int) [3]int {
	for dim, radix := range g.Radix {
		if radix > 1 {
			at[dim] += corner >> dim & 1
		}
	}
	return at
}

// linkCube links the switches of a cube.
func (g *grid) linkCube(at [3]int) {
	for dim := range g.Radix {
		for corner := range 8 {
			if corner>>dim&1 == 0 {
				g.link(g.corner(at, corner), dim)
			}
		}
	}
}

// complete finds one more switch of a cube or square, and reports whether it has.
func (g *grid) complete(at [3]int) bool {
	var dims []int
	for dim, radix := range g.Radix {
		if radix > 1 {
			dims = append(dims, dim)
		}
	}
	var table steps
	switch len(dims) {
	case 2:
		table = squareSteps
	case 3:
		table = cubeSteps
	default:
		return false // a row has no faces
	}
	missing := uint8(0)
	for c := range 1 << len(dims) {
		corner := c
		if len(dims) == 2 {
			corner = step{to: c}.in(dims[0], dims[1]).to
		}
		if g.cell(g.corner(at, corner)) == nil {
			missing |= 1 << c
		}
	}
	for _, s := range table[missing] {
		if len(dims) == 2 {
			s = s.in(dims[0], dims[1])
		}
		if g.take(at, s, len(dims) == 3) {
			return true
		}
	}
	return false
}

// take tries one step.
func (g *grid) take(at [3]int, s step, face bool) bool {
	to := g.corner(at, s.to)
	base := g.corner(at, s.known[1])
	a, b, d := g.sw(g.corner(at, s.known[0])), g.sw(base), g.sw(g.corner(at, s.known[2]))
	if !s.away {
		return g.install(to, g.cables.corner(a, b, d))
	}
	straight := base
	for dim := range base {
		straight[dim] += base[dim] - to[dim]
		if base[dim] != to[dim] && !g.safe(base, dim) {
			return false
		}
	}
	return g.install(to, g.cables.away(a, b, d, g.sw(straight), face))
}

// safe reports whether a link of a dimension cannot be taken for one of another dimension: a ring of four switches
// looks like a face, unless two of its links are known.
func (g *grid) safe(at [3]int, dim int) bool {
	for other := range g.Radix {
		if other != dim && g.needsBoth(other) && !g.linkRing(at, other) {
			return false
		}
	}
	return true
}

// linkRing links the switches of a ring of four. It reports false if two of them are missing.
func (g *grid) linkRing(at [3]int, dim int) bool {
	known := 0
	for steps := 1; steps < 4; steps++ {
		if g.cell(by(at, dim, steps)) != nil {
			known++
		}
	}
	if known < 2 {
		return false
	}
	ok := true
	for steps := 2; steps < 6; steps++ {
		ok = g.link(by(at, dim, steps), dim) && ok
	}
	return ok
}

// settle gives each switch its end ports. The error says why that cannot be.
func (g *grid) settle(t *topo.Topo) error {
	placed := make([]bool, len(t.Switches))
	for at := range g.places {
		c := g.cell(at)
		if c == nil {
			continue
		}
		if placed[c.sw] {
			return &routing.Refused{
				Reason: fmt.Sprintf(
					"Invalid topology discovery. Verify torus-2QoS.conf contents: switch %s has two places, %v is one",
					g.name(t, c), at),
				OpenSM: "link_srcsink: ERR 4E1C: Invalid topology discovery. Verify torus-2QoS.conf contents.",
			}
		}
		placed[c.sw] = true
		n := t.Switches[c.sw]
		for num := range ports(t, n) + 1 {
			if num > 0 {
				peer := t.Ports[t.Port(n, uint8(num))].Peer
				if peer == topo.None || t.Nodes[t.Ports[peer].Node].Switch != topo.None {
					continue
				}
			}
			if len(c.ends) == g.PortGroupMax {
				number := 0x4e1d
				if num > 0 {
					number++
				}
				return &routing.Refused{
					Reason: fmt.Sprintf(
						"exceeded port group max port count (%d): switch %s has more end ports, with its own port 0; see portgroup_max_ports in torus-2QoS.conf(5)", g.PortGroupMax, g.name(t, c)),
					OpenSM: fmt.Sprintf(
						"link_srcsink: ERR %X: exceeded port group max port count (%d): switch GUID %#04x", number,
						g.PortGroupMax, uint64(c.guid(t))),
				}
			}
			c.ends = append(c.ends, uint8(num))
		}
	}
	return nil
}
