package topo

import "ibsm/mad"

// LIDs says which port owns which LIDs. A port owns Base .. Base + 2^LMC - 1.
type LIDs struct {
	Base  []mad.LID // by PortIdx; 0 for a port that owns none
	LMC   []uint8   // by PortIdx
	Owner []PortIdx // by LID, 0..Top; None when nobody owns it
	Top   mad.LID   // highest LID owned
}

// Count is the number of LIDs the port owns.
func (l *LIDs) Count(p PortIdx) int {
	if l.Base[p] == 0 {
		return 0
	}
	return 1 << l.LMC[p]
}

// PortOf is the owner of a LID, or None.
func (l *LIDs) PortOf(lid mad.LID) PortIdx {
	if int(lid) >= len(l.Owner) {
		return None
	}
	return l.Owner[lid]
}
