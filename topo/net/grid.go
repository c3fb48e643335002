package net

import (
	"fmt"
	"strings"
)

// Grids: switches with coordinates. Each switch has its hosts on ports 1..hosts;
// the ports behind them have the same meaning on every switch.

var torus = kind{
	name:  "torus",
	about: "switches in rings along each dimension; two in a dimension share one cable",
	keys: []key{
		{"dims", dimensions(6, 1), "4x4", "switches along each dimension"},
		{"hosts", number(1, 254), "1", "hosts on each switch"},
	},
	shape: func(s *Spec) (plan, error) { return shapeGrid(s, s.values["dims"].dims, true) },
}

var mesh = kind{
	name:  "mesh",
	about: "switches in rows along each dimension",
	keys:  torus.keys,
	shape: func(s *Spec) (plan, error) { return shapeGrid(s, s.values["dims"].dims, false) },
}

var hypercube = kind{
	name:  "hypercube",
	about: "2^dim switches, each cabled to those whose number differs in one bit",
	keys: []key{
		{"dim", number(1, 15), "4", "dimensions"},
		{"hosts", number(1, 239), "1", "hosts on each switch"},
	},
	shape: shapeHypercube,
}

var hyperX = kind{
	name:  "hyperx",
	about: "switches in a grid, each cabled to all others of its row in each dimension",
	keys:  torus.keys,
	shape: shapeHyperX,
}

// grid numbers the switches of a box: the first dimension counts fastest.
type grid []int

func (g grid) size() int {
	n := 1
	for _, d := range g {
		if n *= d; n > MaxNodes {
			return MaxNodes + 1
		}
	}
	return n
}

// stride is the distance in number of neighbours along a dimension.
func (g grid) stride(dim int) int { return grid(g[:dim]).size() }

// at is the coordinate of a switch along a dimension.
func (g grid) at(sw, dim int) int { return sw / g.stride(dim) % g[dim] }

// name is what the switch at those coordinates is called.
func (g grid) name(sw int) string {
	var b strings.Builder
	b.WriteString("switch")
	for dim := range g {
		fmt.Fprintf(&b, "-%d", g.at(sw, dim))
	}
	return b.String()
}

// addSwitches adds the switches of a grid with their hosts.
func (b *builder) addSwitches(count, ports, hosts int, name func(sw int) string) {
	for sw := range count {
		b.addSwitch(name(sw), ports)
	}
	for sw := range count {
		b.addHosts(sw, hosts)
	}
}

// shapeGrid makes toruses and meshes. Behind its hosts a switch has two ports for
// each dimension: up and down.
func shapeGrid(s *Spec, dims []int, wrap bool) (plan, error) {
	g, hosts := grid(dims), s.int("hosts", 0)
	ports := hosts + 2*len(g)
	if err := s.fits(ports); err != nil {
		return plan{}, err
	}
	build := func(b *builder) {
		b.addSwitches(g.size(), ports, hosts, g.name)
		for sw := range g.size() {
			for dim, size := range g {
				to := sw + g.stride(dim)
				if g.at(sw, dim) == size-1 {
					if !wrap || size <= 2 {
						continue
					}
					to -= size * g.stride(dim)
				}
				up := hosts + 2*dim + 1
				b.cable(sw, up, to, up+1)
			}
		}
	}
	return plan{g.size(), g.size() * hosts, build}, nil
}

// shapeHypercube gives each dimension a port.
func shapeHypercube(s *Spec) (plan, error) {
	dim, hosts := s.int("dim", 0), s.int("hosts", 0)
	size := 1 << dim
	build := func(b *builder) {
		b.addSwitches(size, hosts+dim, hosts, func(sw int) string { return fmt.Sprintf("switch-%0*b", dim, sw) })
		for sw := range size {
			for bit := range dim {
				if to := sw | 1<<bit; to != sw {
					b.cable(sw, hosts+1+bit, to, hosts+1+bit)
				}
			}
		}
	}
	return plan{size, size * hosts, build}, nil
}

// shapeHyperX gives each other coordinate of each dimension a port.
func shapeHyperX(s *Spec) (plan, error) {
	g, hosts := grid(s.values["dims"].dims), s.int("hosts", 0)
	ports := hosts
	for _, size := range g {
		ports += size - 1
	}
	if err := s.fits(ports); err != nil {
		return plan{}, err
	}
	build := func(b *builder) {
		b.addSwitches(g.size(), ports, hosts, g.name)
		for sw := range g.size() {
			base := hosts
			for dim, size := range g {
				here := g.at(sw, dim)
				for there := here + 1; there < size; there++ {
					// A switch numbers the others of its row and leaves itself out.
					b.cable(sw, base+there, sw+(there-here)*g.stride(dim), base+here+1)
				}
				base += size - 1
			}
		}
	}
	return plan{g.size(), g.size() * hosts, build}, nil
}
