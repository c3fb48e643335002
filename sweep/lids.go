package sweep

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
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
	limit     int             // highest LID that every switch can forward
	lmc, lmc0 uint8           // of CAs and routers; of enhanced switch ports 0
	owner     []topo.PortIdx  // by LID; topo.None is free
	next      [8]int          // by LMC: where the search for a free range goes on
	absent    []LIDAssignment // LIDs kept for ports of which this topo has none, the longest absent last
	reclaimed []LIDAssignment // that were given away
	conflicts []LIDConflict
	exhausted []mad.GUID // ports that got none
}

// Owners of LIDs that no port of this topo has.
const (
	spoken topo.PortIdx = -2 - iota // may be in use by a node that does not answer
	kept                            // belongs to an absent port
)

// lidsIn is what an assignment is made of.
type lidsIn struct {
	lmc, lmc0  uint8           // as in assignment
	remembered []LIDAssignment // also of ports that are absent, ascending GUID
	stale      bool            // what ports report takes precedence over what is remembered
	reserved   []mad.LID       // further LIDs to avoid
	anew       bool            // neither remembered nor reported LIDs apply
}

// assignLIDs gives every end port its LIDs: the ones it is remembered by, else
// the ones it reports, if they are valid and nobody else's; else the lowest free
// ones, our own port first and then in order of port GUID. LIDs of absent ports are
// kept for them, but not against a port that carries traffic with them, and only as
// long as there are others: then the longest absent lose theirs first.
func assignLIDs(t *topo.Topo, in lidsIn) *assignment {
	a := &assignment{
		t: t, lmc: in.lmc, lmc0: in.lmc0, limit: lidLimit(t), owner: make([]topo.PortIdx, int(mad.MaxUnicastLID)+1),
		lids: &topo.LIDs{Base: make([]mad.LID, len(t.Ports)), LMC: make([]uint8, len(t.Ports))},
	}
	for l := range a.owner {
		a.owner[l] = topo.None
	}
	for i := range a.next {
		a.next[i] = 1 << i
	}
	order := a.order()
	if !in.anew {
		a.settle(order, &in)
	}
	for _, p := range order {
		if a.lids.Base[p] == 0 {
			a.allot(p)
		}
	}
	a.index()
	return a
}

// settle gives ports the LIDs that they have, or had.
func (a *assignment) settle(order []topo.PortIdx, in *lidsIn) {
	reported := func(p topo.PortIdx) mad.LID { return a.t.Ports[p].Info.LID() }
	for _, p := range order {
		if in.stale {
			a.keep(p, reported(p))
		}
	}
	for _, p := range order {
		a.keep(p, findLID(in.remembered, a.t.Ports[p].GUID).Base)
	}
	for _, p := range order {
		if inUse(a.t, p) {
			a.keep(p, reported(p))
		}
	}
	for _, lid := range in.reserved {
		if a.owner[lid] == topo.None {
			a.owner[lid] = spoken
		}
	}
	a.keepAbsent(in.remembered)
	for _, p := range order {
		if a.lids.Base[p] == 0 {
			a.adopt(p)
		}
	}
}

// inUse reports whether data can flow to an end port by the LID that it reports.
func inUse(t *topo.Topo, p topo.PortIdx) bool {
	port := &t.Ports[p]
	if port.Num == 0 {
		up := device.PortsUp(t, port.Node)
		return !up.Empty()
	}
	return port.Info.PortState() == smp.PortActive
}

// keepAbsent keeps the LIDs of absent ports from being given out, unless somebody has
// some of them.
func (a *assignment) keepAbsent(remembered []LIDAssignment) {
	for _, k := range remembered {
		if a.t.FindPort(k.Port) == topo.None && k.valid() {
			a.absent = append(a.absent, k)
		}
	}
	slices.SortFunc(a.absent, func(x, y LIDAssignment) int {
		return cmp.Or(cmp.Compare(y.since(), x.since()), cmp.Compare(y.Port, x.Port))
	})
	a.absent = slices.DeleteFunc(a.absent, func(k LIDAssignment) bool {
		owners := a.owner[k.Base : k.Last()+1]
		if slices.ContainsFunc(owners, func(o topo.PortIdx) bool { return o != topo.None && o != spoken }) {
			return true
		}
		for i := range owners {
			if owners[i] == topo.None {
				owners[i] = kept
			}
		}
		return false
	})
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
		if up := device.PortsUp(t, n); !up.Empty() {
			used, inUse = min(used, limit), true
		}
	}
	if inUse {
		return used
	}
	return all
}

// lmcOf is the LMC of a port: a switch with a base port 0 has one LID.
func (a *assignment) lmcOf(p topo.PortIdx) uint8 {
	switch node := &a.t.Nodes[a.t.Ports[p].Node]; {
	case node.Type != mad.Switch:
		return a.lmc
	case node.SwitchInfo.EnhancedPort0():
		return a.lmc0
	}
	return 0
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

func (a *assignment) give(p topo.PortIdx, base mad.LID) {
	lmc := a.lmcOf(p)
	a.lids.Base[p], a.lids.LMC[p] = base, lmc
	for l := int(base); l < int(base)+1<<lmc; l++ {
		a.owner[l] = p
	}
	a.lids.Top = max(a.lids.Top, base+1<<lmc-1)
}

// keep gives a port that has none yet LIDs that it has a claim to.
func (a *assignment) keep(p topo.PortIdx, base mad.LID) {
	if a.lids.Base[p] == 0 && a.fits(base, a.lmcOf(p)) {
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

// allot gives a port the lowest free LIDs, else those of the longest absent.
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
	for len(a.absent) > 0 {
		if base := a.reclaim(lmc); base != 0 {
			a.give(p, base)
			return
		}
	}
	a.exhausted = append(a.exhausted, a.t.Ports[p].GUID)
}

// reclaim takes the LIDs of the port that has been absent longest, and returns a base
// LID that has become free, 0 if there is none.
func (a *assignment) reclaim(lmc uint8) (free mad.LID) {
	last := len(a.absent) - 1
	k := a.absent[last]
	a.absent, a.reclaimed = a.absent[:last], append(a.reclaimed, k)
	for l := k.Base; l <= k.Last(); l++ {
		if a.owner[l] == kept {
			a.owner[l] = topo.None
		}
	}
	if k.LMC != lmc { // then some may be left over
		for i := range a.next {
			a.next[i] = min(a.next[i], max(int(k.Base)>>i, 1)<<i)
		}
	}
	for base := int(k.Base) >> lmc << lmc; base <= int(k.Last()); base += 1 << lmc {
		if a.fits(mad.LID(base), lmc) {
			return mad.LID(base)
		}
	}
	return 0
}

// index fills Owner.
func (a *assignment) index() {
	a.lids.Owner = a.owner[:int(a.lids.Top)+1]
	for l, p := range a.lids.Owner {
		if p == spoken || p == kept {
			a.lids.Owner[l] = topo.None
		}
	}
}

// unresponsive reports whether a port has an ACTIVE link behind which nothing answers:
// some node there may go on using its LID.
func unresponsive(t *topo.Topo, p topo.PortIdx) bool {
	port := &t.Ports[p]
	return t.IsSwitchPort(p) && port.Seen && port.Peer == topo.None && !port.Shunned && port.Info.PortState() >= smp.PortArmed
}
