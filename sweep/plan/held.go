package plan

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/routing"
)

// Held is what is known of the linear forwarding table that a switch holds. A nil
// Held knows nothing. It is written only while a plan is carried out.
type Held struct {
	Top mad.LID
	Row []uint8 // whole blocks, shared with the tables it was written from
	// unknown has a bit for each block whose content is not certain.
	unknown []uint64
}

// NewHeld is a table as it was read, but for the blocks that could not be.
func NewHeld(top mad.LID, row []uint8, missing []int) *Held {
	h := &Held{Top: top, Row: row}
	for _, b := range missing {
		h.Doubt(b)
	}
	return h
}

// Clone is a copy that does not follow what is written from now on.
func (h *Held) Clone() *Held {
	if h == nil {
		return nil
	}
	c := *h
	c.unknown = slices.Clone(h.unknown)
	return &c
}

// Doubt notes that the content of a block is not certain any more.
func (h *Held) Doubt(block int) {
	for len(h.unknown) <= block/64 {
		h.unknown = append(h.unknown, 0)
	}
	h.unknown[block/64] |= 1 << (block % 64)
}

// Acknowledge notes that a block was written.
func (h *Held) Acknowledge(block int) {
	if block/64 < len(h.unknown) {
		h.unknown[block/64] &^= 1 << (block % 64)
	}
}

// Known reports whether the content of a block is certain.
func (h *Held) Known(block int) bool {
	if h == nil || (block+1)*routing.BlockSize > len(h.Row) {
		return false
	}
	return block/64 >= len(h.unknown) || h.unknown[block/64]&(1<<(block%64)) == 0
}

// Certain reports whether the whole table is.
func (h *Held) Certain() bool {
	if h == nil {
		return false
	}
	for _, w := range h.unknown {
		if w != 0 {
			return false
		}
	}
	return true
}

// becoming is what the switch will hold when row has been written: row, with a doubt
// on each block that is still to be. When nothing is, it is h itself, and certain.
func (h *Held) becoming(row []uint8) *Held {
	if h.Certain() && len(h.Row) == len(row) && (len(row) == 0 || &h.Row[0] == &row[0]) {
		return h
	}
	to := &Held{Row: row}
	for b := range len(row) / routing.BlockSize {
		if h.blockDiffers(row, b) {
			to.Doubt(b)
		}
	}
	if to.Certain() {
		h.Row, h.unknown = row, nil // shared from now on; what was in doubt lies behind its end
		return h
	}
	return to
}

func (h *Held) blockDiffers(row []uint8, block int) bool {
	if !h.Known(block) {
		return true
	}
	from := block * routing.BlockSize
	return string(h.Row[from:from+routing.BlockSize]) != string(row[from:from+routing.BlockSize])
}

// tell is the difference of a block in words.
func (h *Held) tell(row []uint8, block int) string {
	from := block * routing.BlockSize
	if !h.Known(block) {
		return fmt.Sprintf("forwarding table block %d (LIDs %d to %d), whatever it holds", block, from, from+routing.BlockSize-1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "forwarding table block %d:", block)
	for i := from; i < from+routing.BlockSize; i++ {
		if h.Row[i] != row[i] {
			fmt.Fprintf(&b, " LID %d %s -> %s", i, portText(h.Row[i]), portText(row[i]))
		}
	}
	return b.String()
}

func portText(p uint8) string {
	if p == routing.NoPath {
		return "none"
	}
	return fmt.Sprint(p)
}
