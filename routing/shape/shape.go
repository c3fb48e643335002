// Package shape finds what kind of fabric the switches of a subnet are, also when cables and switches are missing: a
// fat tree, a torus or mesh, a HyperX or hypercube, a dragonfly or dragonfly+. What it finds it says in words, and
// gives as levels, coordinates or groups to the engine that routes such fabrics. It looks at cables and at where hosts
// are, never at names, GUIDs or port numbers.
package shape

import (
	"errors"
	"fmt"

	"ibsm/topo"
)

// Kind is a kind of fabric.
type Kind uint8

// Kinds. Some fabrics are of several kinds, and have one name: what has rings of four alone is a hypercube, not a
// torus; what has rings of three, too, is a torus, not a HyperX; and two groups of a dragonfly with cables from each
// switch to its like are a HyperX.
const (
	KindIrregular     Kind = iota // none of the others
	KindSingle                    // one switch, or none
	KindFatTree                   // also a plain tree, and several trees
	KindTorus                     // some rows are rings
	KindMesh                      // no row is a ring
	KindHypercube                 // a HyperX of two switches in each dimension
	KindHyperX                    // also a full mesh
	KindDragonfly                 // groups in which each switch has a cable to each other
	KindDragonflyPlus             // groups of leaves and spines
)

var kindNames = [...]string{"irregular", "single switch", "fat tree", "torus", "mesh", "hypercube", "HyperX",
	"dragonfly", "dragonfly+"}

// String is what the kind is called.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Shape is what kind of fabric a subnet is. What it is not is nil; a hypercube has coordinates of a torus, too. It must
// not be changed.
type Shape struct {
	Kind Kind
	// what was found, in words: sizes and what is missing; of an irregular fabric why it is of no other kind
	Seen      string
	Tree      *Tree
	Grid      *Grid
	HyperX    *HyperX
	Dragonfly *Dragonfly
}

// Tree is a fat tree.
type Tree struct {
	// by SwitchIdx: links to the nearest leaf, so 0 for leaves; None if no leaf can be reached
	Level  []int32
	Levels [][]topo.SwitchIdx // by level
}

// Grid is a torus or mesh.
type Grid struct {
	Dims []int  // switches along each dimension, the smallest first
	Ring []bool // by dimension: the last switch has a cable to the first; false for two
	// by SwitchIdx: its coordinates, one for each dimension; nil for a switch without a place, of which there are few
	At [][]int32
}

// HyperX is a grid in which each switch has a cable to every other of its row in each dimension. A hypercube is one
// whose dimensions have two switches each.
type HyperX struct {
	Dims []int     // the smallest first
	At   [][]int32 // by SwitchIdx; nil for a switch without a place
}

// Dragonfly is groups of switches, and cables between each two groups. In a dragonfly+ the switches of a group are
// leaves, which have hosts, and spines, which have the cables to other groups.
type Dragonfly struct {
	Groups [][]topo.SwitchIdx
	Of     []int32 // by SwitchIdx: its group; None for a switch of no group, of which there are few
	Plus   bool
	Spine  []bool // by SwitchIdx, of a dragonfly+
}

// Find finds what kind of fabric the switches of a subnet are. Cables with an unhealthy port are left out.
func Find(t *topo.Topo) *Shape {
	f := newFabric(t)
	if f.len() < 2 {
		return &Shape{Kind: KindSingle, Seen: [...]string{"no switch", "1 switch"}[f.len()]}
	}
	if len(f.ends) == 0 {
		return &Shape{Seen: "no cable connects two switches"}
	}
	r, noTree := newTree(f)
	if noTree == nil && r.leaves*8 >= f.len() {
		return r.shape()
	}
	p, noProduct := newProduct(f)
	if noProduct == nil {
		if s := p.shape(); s.Kind != KindIrregular {
			return s
		}
		noProduct = errors.New(p.kinds())
	}
	if noTree == nil { // leaves are few: in a torus of which few switches have hosts all ways go up and then down, too
		return r.shape()
	}
	g, noGroups := newGroups(f)
	if noGroups == nil {
		return g.shape()
	}
	g, noPlus := newPlus(f)
	if noPlus == nil {
		return g.shape()
	}
	return &Shape{
		Seen: fmt.Sprintf("not a fat tree: %v; not a torus, mesh or HyperX: %v; not a dragonfly: %v; not a dragonfly+: %v",
			noTree, noProduct, noGroups, noPlus)}
}

func (r *ranks) shape() *Shape {
	t := r.tree()
	return &Shape{Kind: KindFatTree, Seen: r.seen(t), Tree: t}
}

func (p *product) shape() *Shape {
	kind, name := p.name()
	return &Shape{Kind: kind, Seen: name + p.damage(), Grid: p.grid(), HyperX: p.hyperX()}
}
