package routing

import (
	"slices"

	"ibsm/topo"
)

// DropVL in an SL to VL mapping table drops the packets of an SL: VL15 is for management packets of
// the subnet only (IBA 7.6.6).
const DropVL = 15

// SLToVL is one SL to VL mapping table: the VL of each SL, 0 to 15.
type SLToVL [16]uint8

// VL is that of an SL below 16. A nil table maps each SL to the VL of the same number.
func (m *SLToVL) VL(sl uint8) uint8 {
	if m == nil {
		return sl
	}
	return m[sl]
}

// Equal reports whether two tables map each SL to the same VL.
func (m *SLToVL) Equal(o *SLToVL) bool {
	for sl := range uint8(16) {
		if m.VL(sl) != o.VL(sl) {
			return false
		}
	}
	return true
}

// Maps are the SL to VL mapping tables of a subnet. They are immutable, and ports share tables and
// lists of tables.
type Maps struct {
	// Of is, by PortIdx of the port that packets leave by: nothing where each SL has the VL of the
	// same number; one table for all packets; or for a port of a switch a table for each number of
	// the port that packets come in by, 0 for the switch itself. Nil tables are as those of nil Maps.
	Of [][]*SLToVL
	// Turns are, by PortIdx, the lanes that the turns of the configured VL arbitration are for; nil
	// Turns, and nil in them, are the configured ones.
	Turns []*LaneOfTurn
}

// LaneOfTurn is the lane that a turn of VL arbitration is for, by the lane that is configured; DropVL
// leaves the turn out.
type LaneOfTurn [16]uint8

// Equal reports whether both have the same tables for every port.
func (m *Maps) Equal(o *Maps) bool {
	if m == nil || o == nil || m == o {
		return m == o
	}
	sameTurns := func(a, b *LaneOfTurn) bool { return a == b || a != nil && b != nil && *a == *b }
	same := func(a, b []*SLToVL) bool {
		return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, func(a, b *SLToVL) bool {
			return a == b || a.Equal(b)
		}))
	}
	return slices.EqualFunc(m.Of, o.Of, same) && slices.EqualFunc(m.Turns, o.Turns, sameTurns)
}

// Table is the one for packets that come in by a port and leave by another; in means nothing for
// end ports. It is nil where each SL has the VL of the same number, and so are all of nil Maps.
func (m *Maps) Table(in uint8, out topo.PortIdx) *SLToVL {
	if m == nil {
		return nil
	}
	switch tables := m.Of[out]; {
	case len(tables) == 1:
		return tables[0]
	case int(in) < len(tables):
		return tables[in]
	}
	return nil
}
