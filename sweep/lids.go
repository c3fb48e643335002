package sweep

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/topo"
)

// LIDConflict is a LID that a port reported and did not get.
type LIDConflict struct {
	Port  mad.GUID
	LID   mad.LID
	Owner mad.GUID // who has it
}

// assignment is the state of giving out LIDs.
type assignment struct {
	t         *topo.Topo
	lids      *topo.LIDs
	limit     int            // highest LID that every switch can forward
	lmc       uint8          // of CAs and routers
	owner     []topo.PortIdx // by LID; topo.None is free
	next      [8]int         // by LMC: where the search for a free range goes on
	conflicts []LIDConflict
	exhausted []mad.GUID // ports that got none
}

// spoken is the owner of a LID that no port of this topo has, but that is kept
// for an absent port or may be in use by a silent one.
const spoken topo.PortIdx = -2

// assignLIDs gives every end port its LIDs: the ones it is remembered by, else
// the ones it reports, if they are valid and nobody else's; else the lowest free
// ones, our own port first and then in order of port GUID. remembered is by port
// GUID and also holds ports that are absent; reserved are further LIDs to avoid.
func assignLIDs(t *topo.Topo, lmc uint8, remembered map[mad.GUID]mad.LID, reserved []mad.LID, anew bool) *assignment {
	a := &assignment{
		t: t, lmc: lmc, limit: lidLimit(t), owner: make([]topo.PortIdx, int(mad.MaxUnicastLID)+1),
		lids: &topo.LIDs{Base: make([]mad.LID, len(t.Ports)), LMC: make([]uint8, len(t.Ports))},
	}
	for l := range a.owner {
		a.owner[l] = topo.None
	}
	for i := range a.next {
		a.next[i] = 1 << i
	}
	order := a.order()
	if !anew {
		for _, p := range order {
			a.keep(p, remembered[t.Ports[p].GUID])
		}
		for guid, lid := range remembered {
			if t.FindPort(guid) == topo.None {
				a.speakFor(lid, 1<<lmc) // one is enough for a switch; which it was is not known
			}
		}
		for _, lid := range reserved {
			a.speakFor(lid, 1)
		}
		for _, p := range order {
			if a.lids.Base[p] == 0 {
				a.adopt(p)
			}
		}
	}
	for _, p := range order {
		if a.lids.Base[p] == 0 {
			a.allot(p)
		}
	}
	if len(a.exhausted) > 0 && !anew {
		if present := presentOnly(t, remembered); len(present) < len(remembered) {
			return assignLIDs(t, lmc, present, reserved, false)
		}
	}
	a.index()
	return a
}

// presentOnly is remembered without ports that are absent: their LIDs are kept only
// as long as there are others.
func presentOnly(t *topo.Topo, remembered map[mad.GUID]mad.LID) map[mad.GUID]mad.LID {
	present := map[mad.GUID]mad.LID{}
	for guid, lid := range remembered {
		if t.FindPort(guid) != topo.None {
			present[guid] = lid
		}
	}
	return present
}

// remember notes what was assigned, and forgets absent ports whose LIDs were given
// away.
func (a *assignment) remember(lids map[mad.GUID]mad.LID) {
	for guid, lid := range lids {
		for l := int(lid); l < int(lid)+1<<a.lmc; l++ {
			if owner := a.lids.PortOf(mad.LID(l)); owner != topo.None && a.t.FindPort(guid) == topo.None {
				delete(lids, guid)
				break
			}
		}
	}
	for _, p := range a.t.EndPorts {
		if base := a.lids.Base[p]; base != 0 {
			lids[a.t.Ports[p].GUID] = base
		}
	}
}

// order is the end ports with our own first.
func (a *assignment) order() []topo.PortIdx {
	order := make([]topo.PortIdx, 0, len(a.t.EndPorts))
	order = append(order, a.t.Self)
	for _, p := range a.t.EndPorts {
		if p != a.t.Self {
			order = append(order, p)
		}
	}
	return order
}

// lidLimit is the highest LID that fits the forwarding table of every switch. In a
// subnet that is in use, a switch that is not in use yet does not count: were its
// table too small, all others would have to move for it.
func lidLimit(t *topo.Topo) int {
	all, used := int(mad.MaxUnicastLID), int(mad.MaxUnicastLID)
	inUse := false
	for _, n := range t.Switches {
		node := &t.Nodes[n]
		limit := int(mad.MaxUnicastLID)
		if fdbCap := int(node.SwitchInfo.LinearFDBCap()); fdbCap > 0 {
			limit = min(limit, fdbCap-1)
		}
		all = min(all, limit)
		if up := portsUp(t, node); !up.empty() {
			used, inUse = min(used, limit), true
		}
	}
	if inUse {
		return used
	}
	return all
}

// lmcOf is the LMC of a port: switches have one LID.
func (a *assignment) lmcOf(p topo.PortIdx) uint8 {
	if a.t.Nodes[a.t.Ports[p].Node].Type == mad.Switch {
		return 0
	}
	return a.lmc
}

// fits reports whether a port can have base as its base LID.
func (a *assignment) fits(base mad.LID, lmc uint8) bool {
	size := 1 << lmc
	if base == 0 || int(base)%size != 0 || int(base)+size-1 > a.limit {
		return false
	}
	for l := int(base); l < int(base)+size; l++ {
		if a.owner[l] != topo.None {
			return false
		}
	}
	return true
}

// speakFor keeps LIDs from being given out.
func (a *assignment) speakFor(base mad.LID, count int) {
	for l := int(base); l < int(base)+count; l++ {
		if mad.LID(l).IsUnicast() && a.owner[l] == topo.None {
			a.owner[l] = spoken
		}
	}
}

func (a *assignment) give(p topo.PortIdx, base mad.LID) {
	lmc := a.lmcOf(p)
	a.lids.Base[p], a.lids.LMC[p] = base, lmc
	for l := int(base); l < int(base)+1<<lmc; l++ {
		a.owner[l] = p
	}
	a.lids.Top = max(a.lids.Top, base+1<<lmc-1)
}

func (a *assignment) keep(p topo.PortIdx, base mad.LID) {
	if a.fits(base, a.lmcOf(p)) {
		a.give(p, base)
	}
}

// adopt gives a port the LID it reports.
func (a *assignment) adopt(p topo.PortIdx) {
	reported := a.t.Ports[p].Info.LID()
	if a.fits(reported, a.lmcOf(p)) {
		a.give(p, reported)
	} else if reported.IsUnicast() {
		c := LIDConflict{Port: a.t.Ports[p].GUID, LID: reported}
		if owner := a.owner[reported]; owner >= 0 {
			c.Owner = a.t.Ports[owner].GUID
		}
		a.conflicts = append(a.conflicts, c)
	}
}

// allot gives a port the lowest free LIDs.
func (a *assignment) allot(p topo.PortIdx) {
	lmc := a.lmcOf(p)
	for base := a.next[lmc]; base+1<<lmc-1 <= a.limit; base += 1 << lmc {
		if a.fits(mad.LID(base), lmc) {
			a.next[lmc] = base + 1<<lmc
			a.give(p, mad.LID(base))
			return
		}
	}
	a.next[lmc] = a.limit + 1
	a.exhausted = append(a.exhausted, a.t.Ports[p].GUID)
}

// index fills Owner.
func (a *assignment) index() {
	a.lids.Owner = a.owner[:int(a.lids.Top)+1]
	for l, p := range a.lids.Owner {
		if p == spoken {
			a.lids.Owner[l] = topo.None
		}
	}
}

// silent reports whether a port has an ACTIVE link behind which nothing answers:
// some node there may go on using its LID.
func silent(t *topo.Topo, p topo.PortIdx) bool {
	port := &t.Ports[p]
	return t.IsSwitchPort(p) && port.Seen && port.Peer == topo.None && !port.Shunned && port.Info.PortState() >= smp.PortArmed
}
