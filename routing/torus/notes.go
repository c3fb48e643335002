package torus

import (
	"fmt"

	"ibsm/routing"
	"ibsm/topo"
)

// maxNotes bounds the notes about what is missing in a torus, or has no place in it.
const maxNotes = 64

// discover finds the torus in a subnet.
func discover(s *Settings, t *topo.Topo) (*grid, error) {
	for _, sw := range routing.SwitchesByGUID(t) {
		node := &t.Nodes[t.Switches[sw]]
		for _, p := range s.PortOrder[:min(len(s.PortOrder), int(node.NumPorts)+1)] {
			if p > node.NumPorts {
				const words = "port_order configured using port %d, but only %d ports in switch"
				return nil, &routing.Refused{
					Reason: fmt.Sprintf(words+" %v %q", p, node.NumPorts, node.GUID, node.Desc.String()),
					OpenSM: fmt.Sprintf("verify_setup: ERR 4E21: "+words+" w/ GUID %#04x", p, node.NumPorts,
						uint64(node.GUID)),
				}
			}
		}
	}
	g := newGrid(s, newCables(t))
	var err error
	if g.from, err = g.seed(t); err != nil {
		return nil, err
	}
	g.grow()
	return g, g.settle(t)
}

// placed are the switches with their places, x first.
func (g *grid) placed() (places []routing.Place) {
	for at := range g.places {
		if c := g.cell(at); c != nil {
			places = append(places, routing.Place{Switch: c.sw, At: at})
		}
	}
	return places
}

// notes is what OpenSM logs of the torus.
func (g *grid) notes(t *topo.Topo, list []hung, switches, ends uint8) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	hosts, placed := hostPorts(t), 0
	for _, c := range g.order {
		placed += len(c.ends) - 1
	}
	note("Found fabric w/ %d links, %d switches, %d CA ports, minimum data VLs: endport %d, switchport %d",
		g.cables.links+hosts, len(t.Switches), hosts, ends, switches)
	const few = "Warning: Too few data VLs to support torus routing with "
	if switches < 4 {
		note(few+"a failed switch without credit loops (have switchport %d need 4)", switches)
	}
	if switches < 8 {
		note(few+"two QoS levels (have switchport %d need 8)", switches)
	}
	if ends < 2 {
		note(few+"two QoS levels (have endport %d need 2)", ends)
	}
	seed := g.order[0]
	by := "default"
	if g.from > 0 {
		by = fmt.Sprintf("backup #%d", g.from)
	}
	note("Using torus seed configured as %s (seed sw %d,%d,%d GUID %v)", by, seed.at[0], seed.at[1], seed.at[2],
		seed.guid(t))
	kind := "torus"
	if g.Mesh == [3]bool{true, true, true} {
		kind = "mesh"
	}
	note("Built %d x %d x %d %s w/ %d links, %d switches, %d CA ports", g.Radix[0], g.Radix[1], g.Radix[2], kind,
		g.linked+placed, len(g.order), placed)
	if g.full != nil {
		note("exceeded port group max port count (%d): switch GUID %v", g.PortGroupMax, g.full.guid(t))
	}
	if g.linked+placed != g.cables.links+hosts || len(g.order) != len(t.Switches) {
		note("Warning: Could not construct torus using all known fabric switches and/or links.")
	}
	if rest := append(g.unplaced(t, list), g.gaps(t)...); len(rest) > maxNotes {
		notes = append(append(notes, rest[:maxNotes]...), fmt.Sprintf("and %d more", len(rest)-maxNotes))
	} else {
		notes = append(notes, rest...)
	}
	return notes
}

// hostPorts is the number of end ports at switches, without those of switches.
func hostPorts(t *topo.Topo) (n int) {
	for _, p := range t.EndPorts {
		if peer := t.Ports[p].Peer; peer != topo.None && !t.IsSwitchPort(p) && t.IsSwitchPort(peer) {
			n++
		}
	}
	return n
}

// unplaced are links and switches that do not fit into the torus.
func (g *grid) unplaced(t *topo.Topo, list []hung) (notes []string) {
	for s, n := range t.Switches {
		for num, l := range g.cables.to[s] {
			if l.peer > topo.SwitchIdx(s) || l.peer == topo.SwitchIdx(s) && int(l.port) > num {
				notes = append(notes,
					fmt.Sprintf("Found non-torus fabric link: sw GUID %v port %d <-> sw GUID %v port %d",
						t.Nodes[n].GUID, num, t.Nodes[t.Switches[l.peer]].GUID, l.port))
			}
		}
	}
	for _, h := range list {
		notes = append(notes,
			fmt.Sprintf("Found non-torus fabric switch: sw GUID %v has no place, all its packets take its port %d",
				t.Nodes[t.Switches[h.sw]].GUID, h.up))
	}
	return notes
}

// gaps are the switches and links that the torus lacks.
func (g *grid) gaps(t *topo.Topo) (notes []string) {
	for at := range g.places {
		c := g.cell(at)
		if c == nil {
			notes = append(notes, fmt.Sprintf("Missing torus switch at %d,%d,%d", at[0], at[1], at[2]))
			continue
		}
		for d, next := range c.next {
			dim, radix := d/2, g.Radix[d/2]
			end := g.Mesh[dim] && at[dim] == d%2*(radix-1)
			if next == nil && radix > 1 && !end {
				notes = append(notes, fmt.Sprintf("Missing torus %c%c link on switch %d,%d,%d GUID %v", "-+"[d%2],
					axes[dim], at[0], at[1], at[2], c.guid(t)))
			}
		}
	}
	return notes
}
