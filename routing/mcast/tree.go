// Package mcast grows the trees along which switches forward multicast packets: one
// short tree for each multicast LID, joining the ports that receive on it and those
// that only send. Grow changes as little of a tree as it can, Check proves that a tree
// is one, and MFTs are all trees of a subnet as its switches' tables show them.
//
// Everything here is pure: no tree depends on anything but what it is grown from. What
// switches hold and how they come to hold it is the business of package sweep.
package mcast

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Tree is what switches forward on one multicast LID. It is immutable once grown.
type Tree struct {
	MLID     mad.LID
	Branches []Branch // ascending Switch, none without ports
}

// Branch is one switch of a tree: a packet that comes in by one of its ports, or from a
// host that only sends, leaves by all others.
type Branch struct {
	Switch topo.SwitchIdx
	Ports  PortMask
}

// Ports is what a switch forwards by; nothing for a switch that is not in the tree. A
// nil Tree has no switches.
func (t *Tree) Ports(s topo.SwitchIdx) PortMask {
	if t == nil {
		return PortMask{}
	}
	i, found := slices.BinarySearchFunc(t.Branches, s, func(b Branch, s topo.SwitchIdx) int {
		return cmp.Compare(b.Switch, s)
	})
	if !found {
		return PortMask{}
	}
	return t.Branches[i].Ports
}

// Equal reports whether two trees forward alike.
func (t *Tree) Equal(o *Tree) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.MLID == o.MLID && slices.Equal(t.Branches, o.Branches)
}

// remap is the tree by the switches of another Topo, without those that to has none
// for.
func (t *Tree) remap(to []topo.SwitchIdx) *Tree {
	r := &Tree{MLID: t.MLID, Branches: make([]Branch, 0, len(t.Branches))}
	for _, b := range t.Branches {
		if s := to[b.Switch]; s != topo.None {
			r.Branches = append(r.Branches, Branch{s, b.Ports})
		}
	}
	return r
}

// Group is the packets to a multicast LID.
type Group struct {
	Tree *Tree
	SL   uint8
}
