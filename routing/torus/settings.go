package torus

import (
	"errors"
	"fmt"

	"ibsm/mad"
	"ibsm/routing/shape"
)

// Settings are what torus-2QoS.conf says. They are immutable.
type Settings struct {
	Radix [3]int  // of x, y and z; 1 for a dimension that there is not
	Mesh  [3]bool // dimensions that are open: the last switch has no link to the first
	Seeds []Seed  // in the order in which they are tried
	// PortGroupMax is how many links two switches can have, and how many end ports a switch, its own
	// port 0 among them (portgroup_max_ports).
	PortGroupMax int
	// PortOrder is the ports of a switch whose end ports are routed first, in this order; the others
	// follow in ascending order (port_order).
	PortOrder []uint8
	// MaxChanges is how many differences from the last torus are reported (max_changes).
	MaxChanges int
	// places are, by SwitchIdx of one subnet, where its switches are; nil where they are found from a seed.
	places [][3]int
}

// FromGrid are settings for one subnet, of which it is known where each switch is. The error says why the engine does
// not route such a subnet.
func FromGrid(g *shape.Grid) (*Settings, error) {
	s := &Settings{Radix: [3]int{1, 1, 1}, PortGroupMax: maxPort, MaxChanges: defaultMaxChanges}
	if len(g.Dims) > len(s.Radix) {
		return nil, fmt.Errorf("it has %d dimensions, but torus-2QoS routes at most three", len(g.Dims))
	}
	for dim, n := range g.Dims {
		s.Radix[dim], s.Mesh[dim] = n, !g.Ring[dim]
	}
	for _, at := range g.At {
		if at == nil {
			return nil, errors.New("some switches have no place in it")
		}
		var place [3]int
		for dim, i := range at {
			place[dim] = int(i)
		}
		s.places = append(s.places, place)
	}
	return s, nil
}

// OpenSM's defaults.
const (
	defaultPortGroupMax = 16
	defaultMaxChanges   = 32
)

// Seed is a switch and some next to it, from which the torus is found.
type Seed struct {
	Links [directions]*SeedLink // by direction; nil where none is given
	// Dateline is, by dimension, where coordinate 0 is from the seed's switch.
	Dateline [3]int
}

// SeedLink is a link from the seed's switch.
type SeedLink struct{ From, To mad.GUID }

// directions is how many directions there are: 2d is the negative one of dimension d, 2d+1 the
// positive one.
const directions = 6

// axes are the names of dimensions.
const axes = "xyz"

// needsBoth reports whether a seed needs the links of both directions of a dimension: a ring of four
// switches looks like a face of a cube.
func (s *Settings) needsBoth(dim int) bool { return s.Radix[dim] == 4 && !s.Mesh[dim] }

// Switches are all that a file names, ascending and each once. Nil Settings name none.
func (s *Settings) Switches() (guids []mad.GUID) {
	if s == nil {
		return nil
	}
	for i := range s.Seeds {
		for _, l := range s.Seeds[i].Links {
			if l != nil {
				guids = append(guids, l.From, l.To)
			}
		}
	}
	return sortedOnce(guids)
}
