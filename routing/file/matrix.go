package file

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Matrix is the hops of a file.
type Matrix struct {
	Switches []HopTable // in the order of the file
	// Owner is the GUID of the port that each LID belonged to, if the file has it.
	Owner    map[mad.LID]mad.GUID
	Warnings diag.List
	end      diag.Position // last line
}

// HopTable is how far destinations are from a switch by each of its ports.
type HopTable struct {
	GUID  mad.GUID      // of the node
	At    diag.Position // of its heading
	Ports int           // of the switch with port 0, which is the length of a row
	LIDs  []mad.LID
	hops  []uint8 // by place in LIDs, then port
}

// By are the links to a LID, given by its place in LIDs, by each port from 0 on, as a
// view that must not be written: routing.Unreachable where a port does not lead there.
func (h *HopTable) By(place int) []uint8 { return h.hops[place*h.Ports:][:h.Ports] }

// ReadHops reads what OpenSM writes as opensm-lid-matrix.dump. A file with an error is
// refused as a whole, with a diag.List.
func ReadHops(name string, from io.Reader) (*Matrix, error) {
	r := newReader(name, from)
	m := &Matrix{}
	known := map[mad.GUID]int{}
	seen := map[mad.LID]int{} // lines of the switch
	for r.next() {
		switch text := strings.TrimSpace(r.line); {
		case strings.HasPrefix(text, "Switch:"):
			m.Switches = heading(r, known, m.Switches, func(g mad.GUID, at diag.Position) HopTable {
				return HopTable{GUID: g, At: at}
			})
			clear(seen)
		case strings.HasPrefix(text, "0x") && m.Switches == nil:
			r.fail(text, "hops before the first line \"Switch: guid ...\"")
		case strings.HasPrefix(text, "0x"):
			r.row(&m.Switches[len(m.Switches)-1], text, seen)
		default:
			r.fail(text, "expected \"Switch: guid ...\" or \"0xLID: hops by port\"")
		}
	}
	if lacks := m.lastLacks(); len(r.errs) == 0 && lacks != "" {
		r.errs.Add(m.Switches[len(m.Switches)-1].At, "the last switch has no hops to %s: %s", lacks, cutOff)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	m.Owner, m.Warnings, m.end = r.owners(), r.warnings(), r.at
	return m, nil
}

// lastLacks is what the last switch has no hops to although another switch has them: itself, or a switch that has hops
// to it. It is "" if there is none.
func (f *Matrix) lastLacks() string {
	if len(f.Switches) < 2 {
		return ""
	}
	last := &f.Switches[len(f.Switches)-1]
	own := last.own()
	for i := range f.Switches[:len(f.Switches)-1] {
		h := &f.Switches[i]
		switch lid := h.own(); {
		case lid == 0:
		case own == 0:
			return "itself, which others have"
		case !slices.Contains(last.LIDs, lid) && slices.Contains(h.LIDs, own):
			return fmt.Sprintf("LID %v, whose switch has hops to it", lid)
		}
	}
	return ""
}

// own is the LID to which the switch has no link; 0 where the table does not say.
func (h *HopTable) own() mad.LID {
	for place, lid := range h.LIDs {
		if h.By(place)[0] == 0 {
			return lid
		}
	}
	return 0
}

// row reads "0x0003: 01 ff 01" and what may follow of its owner.
func (r *reader) row(h *HopTable, text string, seen map[mad.LID]int) {
	text, _, _ = strings.Cut(text, "#")
	head, tail, ok := strings.Cut(text, ":")
	lid, good := r.lid(head)
	if !good {
		return
	}
	words := strings.Fields(tail)
	switch line := seen[lid]; {
	case !ok || len(words) == 0:
		r.fail(text, "no hops: expected \"0xLID: \" and a number of two digits for each port")
		return
	case line != 0:
		r.fail(head, "LID %v is already on line %d", lid, line)
		return
	case len(h.LIDs) == 0:
		h.Ports = len(words)
	}
	if len(words) != h.Ports || h.Ports > 256 {
		r.fail(text, "hops of %d ports, but %d on the line before; a switch has at most 255, and port 0", len(words), h.Ports)
		return
	}
	if !r.room(len(words)) {
		return
	}
	for _, word := range words {
		n, err := strconv.ParseUint(word, 16, 8)
		if err != nil {
			r.fail(word, "hops %q: expected 00 to ff", word)
			h.hops = h.hops[:len(h.LIDs)*h.Ports]
			return
		}
		h.hops = append(h.hops, uint8(n))
	}
	seen[lid] = r.at.Line
	h.LIDs = append(h.LIDs, lid)
	r.portGUID(lid)
}
