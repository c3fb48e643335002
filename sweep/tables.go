package sweep

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
)

// previous are the target tables of the last sweep; for switches that this manager never
// routed those that it read; nil when there are none.
func previous(out *SweepPlan) *routing.Tables {
	size, any := routing.RowLen(out.LIDs.Top), false
	prev := &routing.Tables{LFT: make([][]uint8, len(out.delta.switches)), Top: out.LIDs.Top}
	var empty []uint8
	for i := range out.delta.switches {
		switch sw := &out.delta.switches[i]; {
		case sw.Row != nil:
			prev.LFT[i], any = resized(sw.Row, size), true
		case sw.LFT != nil:
			prev.LFT[i], any = resized(sw.LFT.Row(), size), true
		default:
			if empty == nil {
				empty = resized(nil, size)
			}
			prev.LFT[i] = empty
		}
	}
	if !any {
		return nil
	}
	return prev
}

// resized is row with length size, row itself if it has that length.
func resized(row []uint8, size int) []uint8 {
	if len(row) == size {
		return row
	}
	r := make([]uint8, size)
	for i := copy(r, row); i < size; i++ {
		r[i] = routing.NoPath
	}
	return r
}

// fix puts entries into the tables that cannot change: switches that do not answer, or forward
// by private tables, keep their tables, and reserved LIDs keep their entries everywhere.
func fix(out *SweepPlan, tables *routing.Tables, reserved []mad.LID) *routing.Tables {
	top := out.LIDs.Top
	for _, l := range reserved {
		top = max(top, l)
	}
	size := routing.RowLen(top)
	fixed := *tables
	fixed.LFT, fixed.Top = make([][]uint8, len(tables.LFT)), top
	for s, row := range tables.LFT {
		held := out.delta.switches[s].LFT
		switch {
		case held != nil && out.Topo.Nodes[out.Topo.Switches[s]].Missed > 0,
			out.Topo.Nodes[out.Topo.Switches[s]].UsesPrivateLFT():
			row = held.Row()
		case held != nil && len(reserved) > 0:
			row = withReserved(row, held.Row(), size, reserved)
		}
		fixed.LFT[s] = resized(row, size)
	}
	return &fixed
}

// withReserved copies the entries of reserved LIDs from the held row.
func withReserved(row, held []uint8, size int, reserved []mad.LID) []uint8 {
	r := slices.Clone(resized(row, size))
	for _, l := range reserved {
		if int(l) < len(held) {
			r[l] = held[l]
		}
	}
	if string(r) == string(held) {
		return held
	}
	return r
}

// InForce are the tables that the subnet uses: those computed, or, where routes are left
// alone, those that the switches hold.
func (c *SweepPlan) InForce() *routing.Tables {
	if c.Tables != nil {
		return c.Tables
	}
	switches := c.delta.switches
	t := &routing.Tables{LFT: make([][]uint8, len(switches)), Top: c.LIDs.Top, SLs: c.delta.sls}
	for i, n := range c.Topo.Switches {
		if switches[i].LFT != nil {
			t.Top = max(t.Top, min(c.Topo.Nodes[n].SwitchInfo.LinearFDBTop(), mad.MaxUnicastLID))
		}
	}
	size := routing.RowLen(t.Top)
	for i := range switches {
		t.LFT[i] = resized(switches[i].LFT.Row(), size)
	}
	return t
}
