package device

import (
	"slices"

	"ibsm/mad"
)

// BlockSize is the number of bytes of a block: the data of an SMP.
const BlockSize = mad.DataSize

// table is the states of blocks, and the values of those that no row has.
type table struct {
	states []uint64              // stateBits for each block; blocks beyond its end are Known
	values []*[mad.DataSize]byte // nil holds zeroes
	shared bool                  // a snapshot reads both, too: they are copied before they are written
}

const (
	stateBits = 2
	stateMask = 1<<stateBits - 1
	perWord   = 64 / stateBits
)

// state is the state of a block of so many.
func (t *table) state(block, blocks int) State {
	switch {
	case block >= blocks:
		return Unknown
	case block/perWord >= len(t.states):
		return Known
	}
	return State(t.states[block/perWord] >> (block % perWord * stateBits) & stateMask)
}

// known reports whether every block is Known.
func (t *table) known() bool {
	return !slices.ContainsFunc(t.states, func(w uint64) bool { return w != 0 })
}

// own makes the table writable.
func (t *table) own() {
	if t.shared {
		t.states, t.values, t.shared = slices.Clone(t.states), slices.Clone(t.values), false
	}
}

// set must be called after own.
func (t *table) set(block int, s State) {
	for len(t.states) <= block/perWord {
		t.states = append(t.states, 0)
	}
	shift := block % perWord * stateBits
	t.states[block/perWord] = t.states[block/perWord]&^(stateMask<<shift) | uint64(s)<<shift
}

// Blocks is what a port holds of an attribute, or a switch of its linear forwarding table.
// A zero one and nil know nothing. It is written by one goroutine.
type Blocks struct {
	table
	row []byte // whole blocks; shared with routes and views, never written
}

// Read is a table as it was read from a switch, but for the blocks that did not come. It
// keeps row, which must not be written any more.
func Read(row []byte, missing []int) *Blocks {
	t := &Blocks{row: row}
	for _, b := range missing {
		t.Take(b, Unread)
	}
	return t
}

// Row is the value of all blocks. For a block that is not Known it is the value that was read or sent last. It must not
// be written.
func (t *Blocks) Row() []byte {
	if t == nil {
		return nil
	}
	return t.row
}

// Block is the value of a block, which must lie within the Row.
func (t *Blocks) Block(block int) []byte { return t.row[block*BlockSize : (block+1)*BlockSize] }

// Known is the value of a block that is Known, zeroes of any other.
func (t *Blocks) Known(block int) (data Data) {
	if t.State(block) == Known {
		copy(data[:], t.Block(block))
	}
	return data
}

// State is the state of a block.
func (t *Blocks) State(block int) State {
	if t == nil {
		return Unknown
	}
	return t.state(block, len(t.row)/BlockSize)
}

// Complete reports whether every block is Known, and there is one.
func (t *Blocks) Complete() bool {
	return t != nil && t.row != nil && t.known()
}

// Take has an event change the state of a block, and reports whether it did.
func (t *Blocks) Take(block int, e Event) bool {
	was := t.State(block)
	is := was.After(e)
	if is == was || block >= len(t.row)/BlockSize {
		return false
	}
	t.own()
	t.set(block, is)
	return true
}

// Snapshot is the table as it is now, for a reader in another goroutine.
func (t *Blocks) Snapshot() Blocks {
	t.shared = true
	return *t
}

// Target is the target table of row: every block that is not Known to hold its part of row is
// InFlight. If nothing has to be written, it is Complete.
func (t *Blocks) Target(row []byte) *Blocks {
	target := &Blocks{row: row}
	complete := t.Complete() && len(t.row) == len(row)
	if complete && (len(row) == 0 || &t.row[0] == &row[0]) {
		return target
	}
	const step = 16 // most tables differ in few places
	for first, blocks := 0, len(row)/BlockSize; first < blocks; first += step {
		end := min(first+step, blocks)
		if complete && string(t.row[first*BlockSize:end*BlockSize]) == string(row[first*BlockSize:end*BlockSize]) {
			continue
		}
		for b := first; b < end; b++ {
			if t.State(b) != Known || string(t.Block(b)) != string(target.Block(b)) {
				target.Take(b, Sent)
			}
		}
	}
	return target
}

// Follow has a target replace the table from which it was computed. Blocks of that table may have
// become unknown since. From now on only the owner of t may write the target.
func (t *Blocks) Follow(was *Blocks) *Blocks {
	if was == nil || len(was.states) == 0 {
		return t
	}
	for b := range min(len(t.row), len(was.Row())) / BlockSize {
		if was.State(b) != Known {
			t.Take(b, Contradicted)
		}
	}
	return t
}
