package device

import (
	"slices"

	"ibsm/mad"
)

// BlockSize is the number of bytes of a block: the data of an SMP.
const BlockSize = mad.DataSize

// Table is what one node holds of a forwarding table. The zero Table and a nil one know
// nothing. A Table is written by one goroutine.
type Table struct {
	row    []byte   // whole blocks; shared with routes and views, never written
	states []uint64 // 2 bits for each block; blocks beyond its end are Known
	shared bool     // a snapshot reads states, too: they are copied before they are written
}

// Read is a table as it was read from a node, but for the blocks that did not come. It
// keeps row, which must not be written any more.
func Read(row []byte, missing []int) *Table {
	t := &Table{row: row}
	for _, b := range missing {
		t.Take(b, Unread)
	}
	return t
}

// Row is the value of all blocks, of those that are not Known too: there it is what was
// read or sent last. It must not be written.
func (t *Table) Row() []byte {
	if t == nil {
		return nil
	}
	return t.row
}

// Block is the value of a block, which must lie within the Row.
func (t *Table) Block(block int) []byte { return t.row[block*BlockSize : (block+1)*BlockSize] }

// State is the state of a block.
func (t *Table) State(block int) State {
	if t == nil || block >= len(t.row)/BlockSize {
		return Unknown
	}
	if block/perWord >= len(t.states) {
		return Known
	}
	return State(t.states[block/perWord] >> (block % perWord * stateBits) & stateMask)
}

// Complete reports whether every block is Known, and there is one.
func (t *Table) Complete() bool {
	return t != nil && t.row != nil && !slices.ContainsFunc(t.states, func(w uint64) bool { return w != 0 })
}

// Take has an event change the state of a block, and reports whether it did.
func (t *Table) Take(block int, e Event) bool {
	was := t.State(block)
	if block >= len(t.row)/BlockSize {
		return false
	}
	is := was.After(e)
	if is == was {
		return false
	}
	if t.shared {
		t.states, t.shared = slices.Clone(t.states), false
	}
	for len(t.states) <= block/perWord {
		t.states = append(t.states, 0)
	}
	shift := block % perWord * stateBits
	t.states[block/perWord] = t.states[block/perWord]&^(stateMask<<shift) | uint64(is)<<shift
	return true
}

// Snapshot is the table as it is now, for a reader in another goroutine.
func (t *Table) Snapshot() Table {
	if t == nil {
		return Table{}
	}
	t.shared = true
	return *t
}

// Target is the table that comes of writing row: every block that is not Known to hold
// its part of row is InFlight. When nothing has to be written it is Complete.
func (t *Table) Target(row []byte) *Table {
	target := &Table{row: row}
	if t.Complete() && len(t.row) == len(row) && (len(row) == 0 || &t.row[0] == &row[0]) {
		return target
	}
	for b := range len(row) / BlockSize {
		if t.State(b) != Known || string(t.Block(b)) != string(target.Block(b)) {
			target.Take(b, Sent)
		}
	}
	return target
}

// Follow has a target take the place of the table that it was made of, of which blocks may
// have ceased to be Known since. The target is to be written by the owner of t alone from
// now on.
func (t *Table) Follow(was *Table) *Table {
	if was == nil || was.row == nil {
		return t
	}
	for b := range len(t.row) / BlockSize {
		if b/perWord < len(was.states) && was.State(b) != Known {
			t.Take(b, Contradicted)
		}
	}
	return t
}

const (
	stateBits = 2
	stateMask = 1<<stateBits - 1
	perWord   = 64 / stateBits
)
