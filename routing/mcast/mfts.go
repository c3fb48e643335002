package mcast

import (
	"encoding/binary"
	"iter"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// BlockSize is the number of multicast LIDs in one block of a multicast forwarding
// table; PositionSize is the number of ports in one of its positions.
const (
	BlockSize    = 32
	PositionSize = 16
)

// BlockOf is the block that holds a multicast LID.
func BlockOf(mlid mad.LID) uint16 { return uint16(mlid-mad.MinMulticastLID) / BlockSize }

// Positions is the number of positions in the tables of a switch with so many external
// ports.
func Positions(numPorts uint8) uint8 { return numPorts/PositionSize + 1 }

// MFTs are the multicast forwarding tables of a subnet: a tree for each multicast LID
// that has one, by the switches of one Topo. They are immutable and share what they have
// in common with those they were made from. A nil MFTs has no trees.
type MFTs struct {
	blocks []*block
}

type block [BlockSize]*Tree

// Tree is the tree of a multicast LID, nil if it has none.
func (m *MFTs) Tree(mlid mad.LID) *Tree {
	if m == nil || mlid < mad.MinMulticastLID {
		return nil
	}
	b := int(BlockOf(mlid))
	if b >= len(m.blocks) || m.blocks[b] == nil {
		return nil
	}
	return m.blocks[b][mlid%BlockSize]
}

// Trees iterates over all trees in order of multicast LID.
func (m *MFTs) Trees() iter.Seq[*Tree] {
	return func(yield func(*Tree) bool) {
		if m == nil {
			return
		}
		for _, b := range m.blocks {
			if b == nil {
				continue
			}
			for _, t := range b {
				if t != nil && !yield(t) {
					return
				}
			}
		}
	}
}

// Top is the highest multicast LID that has a tree; one below the first, 0xBFFF, when
// none has.
func (m *MFTs) Top() mad.LID {
	if m != nil {
		for b := len(m.blocks) - 1; b >= 0; b-- {
			for i := BlockSize - 1; i >= 0 && m.blocks[b] != nil; i-- {
				if m.blocks[b][i] != nil {
					return m.blocks[b][i].MLID
				}
			}
		}
	}
	return mad.MinMulticastLID - 1
}

// Ports is what a switch forwards by on a multicast LID.
func (m *MFTs) Ports(s topo.SwitchIdx, mlid mad.LID) PortMask { return m.Tree(mlid).Ports(s) }

// Block is a block of the table of a switch at one position, as attribute
// MulticastForwardingTable and record MulticastForwardingTableRecord carry it (IBA
// 14.2.5.12): 32 big-endian masks of 16 ports.
func (m *MFTs) Block(s topo.SwitchIdx, position uint8, blockNum uint16) (data [mad.DataSize]byte) {
	if m == nil || int(blockNum) >= len(m.blocks) || m.blocks[blockNum] == nil {
		return data
	}
	for i, t := range m.blocks[blockNum] {
		if t != nil {
			binary.BigEndian.PutUint16(data[2*i:], t.Ports(s).Position(position))
		}
	}
	return data
}

// With is these tables with other trees: each replaces that of its multicast LID, and
// one without branches ends it. It costs no more than the blocks that are touched.
func (m *MFTs) With(trees ...*Tree) *MFTs {
	n := &MFTs{}
	if m != nil {
		n.blocks = slices.Clone(m.blocks)
	}
	own := map[uint16]bool{} // blocks that are not shared any more
	for _, t := range trees {
		b := BlockOf(t.MLID)
		for int(b) >= len(n.blocks) {
			n.blocks = append(n.blocks, nil)
		}
		if !own[b] {
			own[b] = true
			copied := block{}
			if n.blocks[b] != nil {
				copied = *n.blocks[b]
			}
			n.blocks[b] = &copied
		}
		if n.blocks[b][t.MLID%BlockSize] = t; len(t.Branches) == 0 {
			n.blocks[b][t.MLID%BlockSize] = nil
		}
	}
	return n
}

// Remap is the tables by the switches of another Topo. Switches that it lacks are left
// out, so that what is left of a tree need not be one.
func (m *MFTs) Remap(from, to *topo.Topo) *MFTs {
	if m == nil || from == to {
		return m
	}
	switches := make([]topo.SwitchIdx, len(from.Switches))
	nodes, same := to.Remap(from), len(from.Switches) == len(to.Switches)
	for s, n := range from.Switches {
		switches[s] = topo.None
		if nodes[n] != topo.None {
			switches[s] = to.Nodes[nodes[n]].Switch
		}
		same = same && switches[s] == topo.SwitchIdx(s)
	}
	if same {
		return m
	}
	r := &MFTs{blocks: make([]*block, len(m.blocks))}
	for b, trees := range m.blocks {
		if trees == nil {
			continue
		}
		r.blocks[b] = &block{}
		for i, t := range trees {
			if t != nil {
				r.blocks[b][i] = t.remap(switches)
			}
		}
	}
	return r
}
