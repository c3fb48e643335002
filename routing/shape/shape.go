// Package shape finds what kind of fabric the switches of a subnet are, also when cables and switches are missing: a fat tree,
// a torus or mesh, a HyperX or hypercube, a dragonfly. What it finds it says in words, and gives as coordinates or groups to the
// engine that routes such fabrics.
package shape

import "ibsm/topo"

// Grid is a torus or mesh.
type Grid struct {
	Dims []int     // switches along each dimension
	Ring []bool    // by dimension: the last switch has a cable to the first
	At   [][]int32 // by SwitchIdx: its coordinates, one for each dimension
}

// HyperX is a grid in which each switch has a cable to every other of its row in each dimension. A hypercube is one whose
// dimensions have two switches each.
type HyperX struct {
	Dims []int
	At   [][]int32 // by SwitchIdx
}

// Dragonfly is groups of switches, and cables between each two groups. In a dragonfly+ the switches of a group are leaves,
// which have hosts, and spines, which have the cables to other groups.
type Dragonfly struct {
	Groups [][]topo.SwitchIdx
	Of     []int32 // by SwitchIdx: its group
	Plus   bool
	Spine  []bool // by SwitchIdx, of a dragonfly+
}
