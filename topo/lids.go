package topo

import (
	"cmp"
	"slices"

	"ibsm/mad"
)

// LIDs says which port owns which LIDs. A port owns Base .. Base + 2^LMC - 1.
type LIDs struct {
	Base  []mad.LID // by PortIdx; 0 for a port that owns none
	LMC   []uint8   // by PortIdx
	Owner []PortIdx // by LID, 0..Top; None when no port owns it
	Top   mad.LID   // highest LID owned, by a port or a vPort
	// VPorts are the LIDs of vPorts that have one of their own, ascending GUID.
	VPorts []VPortLID
}

// VPortLID is the LID of a vPort's own. Switches forward it as they do the base LID of the port in front.
type VPortLID struct {
	GUID mad.GUID
	LID  mad.LID
	Port PortIdx // behind which it is
}

// VPort is the LID of the vPort with a GUID; ok is false where it has none of its own.
func (l *LIDs) VPort(guid mad.GUID) (v VPortLID, ok bool) {
	i, ok := slices.BinarySearchFunc(l.VPorts, guid, func(v VPortLID, g mad.GUID) int { return cmp.Compare(v.GUID, g) })
	if !ok {
		return v, false
	}
	return l.VPorts[i], true
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

// NewLIDs is the assignment that gives each port (by PortIdx) its base LID and
// LMC, 0 as base for none. It keeps both slices. Ranges must not overlap.
func NewLIDs(base []mad.LID, lmc []uint8) *LIDs {
	l := &LIDs{Base: base, LMC: lmc}
	for p, b := range base {
		if b != 0 {
			l.Top = max(l.Top, b+mad.LID(l.Count(PortIdx(p)))-1)
		}
	}
	l.Owner = make([]PortIdx, int(l.Top)+1)
	for lid := range l.Owner {
		l.Owner[lid] = None
	}
	for p, b := range base {
		for i := range l.Count(PortIdx(p)) {
			l.Owner[int(b)+i] = PortIdx(p)
		}
	}
	return l
}

// SequentialLIDs gives the end ports LIDs from 1 on in the order of their GUIDs:
// 2^lmc of them, aligned, to channel adapters, routers and enhanced port 0, one to
// a base port 0. Ports that find the LID space full get none.
func SequentialLIDs(t *Topo, lmc uint8) *LIDs {
	base, lmcs := make([]mad.LID, len(t.Ports)), make([]uint8, len(t.Ports))
	next := 1
	for _, p := range t.EndPorts {
		node, count := &t.Nodes[t.Ports[p].Node], 1
		if node.Type != mad.Switch || node.SwitchInfo.EnhancedPort0() {
			count = 1 << lmc
		}
		start := (next + count - 1) &^ (count - 1)
		if start+count-1 > int(mad.MaxUnicastLID) {
			continue
		}
		if count > 1 {
			lmcs[p] = lmc
		}
		base[p] = mad.LID(start)
		next = start + count
	}
	return NewLIDs(base, lmcs)
}
