package routes

import (
	"bytes"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// previous are the target tables of the last sweep; for switches that this manager never routed, the tables that it
// read. It is nil if there are none.
func (in *In) previous() *routing.Tables {
	size, known := routing.RowLen(in.LIDs.Top), false
	prev := &routing.Tables{LFT: make([][]uint8, len(in.Switches)), Top: in.LIDs.Top}
	var empty []uint8
	for i := range in.Switches {
		switch sw := &in.Switches[i]; {
		case sw.Row != nil:
			prev.LFT[i], known = resized(sw.Row, size), true
		case sw.LFT != nil:
			prev.LFT[i], known = resized(sw.LFT.Row(), size), true
		default:
			if empty == nil {
				empty = resized(nil, size)
			}
			prev.LFT[i] = empty
		}
	}
	if !known {
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
// by private tables, keep their tables, and reserved LIDs keep their entries everywhere. LIDs of vPorts get the entries
// of their ports.
func (in *In) fix(tables *routing.Tables, reserved []mad.LID) *routing.Tables {
	top := in.LIDs.Top
	for _, l := range reserved {
		top = max(top, l)
	}
	size := routing.RowLen(top)
	fixed := *tables
	fixed.LFT, fixed.Top = make([][]uint8, len(tables.LFT)), top
	for s, row := range tables.LFT {
		held, node := in.Switches[s].LFT, &in.Topo.Nodes[in.Topo.Switches[s]]
		switch {
		case held != nil && node.Missed > 0, node.UsesPrivateLFT():
			row = held.Row()
		case held != nil && len(reserved) > 0:
			row = withReserved(row, held.Row(), size, reserved)
		}
		fixed.LFT[s] = resized(row, size)
		if held == nil || node.Missed == 0 && !node.UsesPrivateLFT() {
			fixed.LFT[s] = in.withVPorts(fixed.LFT[s])
		}
	}
	return &fixed
}

// withVPorts is a row in which the LIDs of vPorts have the entries of their ports' base LIDs: row itself if they have.
func (in *In) withVPorts(row []uint8) []uint8 {
	own := false
	for _, v := range in.LIDs.VPorts {
		base := in.LIDs.Base[v.Port]
		if base == 0 || row[v.LID] == row[base] {
			continue
		}
		if !own {
			row, own = slices.Clone(row), true
		}
		row[v.LID] = row[base]
	}
	return row
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

// shareRows has tables share the rows that are equal to those of before, so that later comparisons are fast.
func (in *In) shareRows(tables *routing.Tables) {
	for i, n := range in.Topo.Switches {
		if was := in.Switches[i].Row; in.Topo.Nodes[n].Missed == 0 && bytes.Equal(tables.LFT[i], was) {
			tables.LFT[i] = was
		}
	}
}

// Held are the tables that the switches of a subnet hold where no routes are computed.
func (s *State) Held(t *topo.Topo, l *topo.LIDs, switches []device.Walked) *routing.Tables {
	held := &routing.Tables{LFT: make([][]uint8, len(switches)), Top: l.Top, SLs: s.sls}
	for i, n := range t.Switches {
		if switches[i].LFT != nil {
			held.Top = max(held.Top, min(t.Nodes[n].SwitchInfo.LinearFDBTop(), mad.MaxUnicastLID))
		}
	}
	size := routing.RowLen(held.Top)
	for i := range switches {
		held.LFT[i] = resized(switches[i].LFT.Row(), size)
	}
	return held
}
