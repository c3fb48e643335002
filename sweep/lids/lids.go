// Package lids assigns LIDs to ports.
package lids

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Conflict is a LID that a port reported and could not keep.
type Conflict struct {
	Port  mad.GUID
	LID   mad.LID
	Owner mad.GUID // the port that has it
}

// Assigned is which LIDs ports have.
type Assigned struct {
	LIDs      *topo.LIDs
	Conflicts []Conflict
	Exhausted []mad.GUID   // end ports and vPorts for which no LID is left
	Reclaimed []Assignment // of absent ports, given to other ports
	Absent    []Assignment // LIDs kept for ports that are not in the subnet, the longest absent last
	unread    bool         // In.Unread
}

// assigner makes an Assigned.
type assigner struct {
	Assigned
	t         *topo.Topo
	limit     int            // highest LID that every switch can forward
	lmc, lmc0 uint8          // of CAs and routers; of enhanced switch ports 0
	owner     []topo.PortIdx // by LID; topo.None is free
	vPorts    []vPort
	next      [8]int // by LMC: where the search for a free range continues
}

// Owners of LIDs that no port of t has.
const (
	reservedLID topo.PortIdx = -2 - iota // may be in use by a node that does not answer
	ofAbsent                             // belongs to an absent port
	ofVPort                              // belongs to a vPort
)

// In is the input of an assignment.
type In struct {
	LMC, LMCPort0 uint8        // of CAs and routers; of enhanced switch ports 0
	Remembered    []Assignment // also of absent ports, ascending GUID
	Stale         bool         // reported LIDs take precedence over remembered ones
	Reserved      []mad.LID    // further LIDs to avoid
	Anew          bool         // neither remembered nor reported LIDs apply
	// Unread says that vPorts have not been read yet: a GUID that is missed may be that of one.
	Unread bool
}

// Assign gives every end port its LIDs: the remembered ones; else those that it reports,
// if they are valid and no other port has them; else the lowest free ones, to our own port
// first and then in order of port GUID. LIDs of absent ports are kept for them, unless a port
// carries traffic with them. When no others are free, the longest absent ports lose theirs
// first. vPorts that ask for a LID of their own get one likewise, after the ports.
func Assign(t *topo.Topo, in In) *Assigned { return &assign(t, in).Assigned }

func assign(t *topo.Topo, in In) *assigner {
	a := &assigner{
		Assigned: Assigned{LIDs: &topo.LIDs{Base: make([]mad.LID, len(t.Ports)), LMC: make([]uint8, len(t.Ports))},
			unread: in.Unread},
		t:     t,
		limit: highest(t),
		lmc:   in.LMC,
		lmc0:  in.LMCPort0,
		owner: make([]topo.PortIdx, int(mad.MaxUnicastLID)+1),
	}
	for l := range a.owner {
		a.owner[l] = topo.None
	}
	for i := range a.next {
		a.next[i] = 1 << i
	}
	order := a.order()
	a.vPorts = vPortsOf(t)
	if !in.Anew {
		a.assignKnown(order, &in)
	}
	for _, p := range order {
		if a.LIDs.Base[p] == 0 {
			a.allot(p)
		}
	}
	a.allotVPorts()
	a.index()
	return a
}

// assignKnown gives ports the LIDs that they have or had.
func (a *assigner) assignKnown(order []topo.PortIdx, in *In) {
	reported := func(p topo.PortIdx) mad.LID { return a.t.Ports[p].Info.LID() }
	for _, p := range order {
		if in.Stale {
			a.keep(p, reported(p))
		}
	}
	a.keepVPorts(func(v *topo.VPort) mad.LID {
		if in.Stale {
			return v.LID
		}
		return 0
	})
	remembered := finder{list: in.Remembered}
	for _, p := range order {
		a.keep(p, remembered.find(a.t.Ports[p].GUID).Base)
	}
	a.keepVPorts(func(v *topo.VPort) mad.LID { return Find(in.Remembered, v.GUID).Base })
	for _, p := range order {
		if inUse(a.t, p) {
			a.keep(p, reported(p))
		}
	}
	for _, lid := range in.Reserved {
		if a.owner[lid] == topo.None {
			a.owner[lid] = reservedLID
		}
	}
	a.keepAbsent(in.Remembered)
	for _, p := range order {
		if a.LIDs.Base[p] == 0 {
			a.adopt(p)
		}
	}
	a.keepVPorts(func(v *topo.VPort) mad.LID { return v.LID })
}

// inUse reports whether data can flow to the reported LID of an end port.
func inUse(t *topo.Topo, p topo.PortIdx) bool {
	port := &t.Ports[p]
	if port.Num == 0 {
		up := device.PortsUp(t, port.Node)
		return !up.Empty()
	}
	return port.Info.PortState() == smp.PortActive
}

// keepAbsent reserves the LIDs of absent ports, unless another port has some of them.
func (a *assigner) keepAbsent(remembered []Assignment) {
	ports := a.t.EndPorts // in order of GUID, as what is remembered
	for _, k := range remembered {
		for len(ports) > 0 && a.t.Ports[ports[0]].GUID < k.Port {
			ports = ports[1:]
		}
		present := len(ports) > 0 && a.t.Ports[ports[0]].GUID == k.Port
		if !present && !a.hasVPort(k.Port) && k.Valid() {
			a.Absent = append(a.Absent, k)
		}
	}
	slices.SortFunc(a.Absent, func(x, y Assignment) int {
		return cmp.Or(cmp.Compare(y.since(), x.since()), cmp.Compare(y.Port, x.Port))
	})
	a.Absent = slices.DeleteFunc(a.Absent, func(k Assignment) bool {
		owners := a.owner[k.Base : k.Last()+1]
		if slices.ContainsFunc(owners, func(o topo.PortIdx) bool { return o != topo.None && o != reservedLID }) {
			return true
		}
		for i := range owners {
			if owners[i] == topo.None {
				owners[i] = ofAbsent
			}
		}
		return false
	})
}

// order are the end ports, our own first.
func (a *assigner) order() []topo.PortIdx {
	order := make([]topo.PortIdx, 0, len(a.t.EndPorts))
	order = append(order, a.t.Self)
	for _, p := range a.t.EndPorts {
		if p != a.t.Self {
			order = append(order, p)
		}
	}
	return order
}

// highest is the highest LID that fits the forwarding table of every switch. In a subnet in use, switches that are not
// in use yet do not count: their small tables would force all other ports to change their LIDs. Nor do switches without
// room for all end ports, if they are the minority: otherwise one switch with a false capacity would leave all ports
// without LIDs.
func highest(t *topo.Topo) int {
	limit := func(n topo.NodeIdx) int {
		if fdbCap := int(t.Nodes[n].SwitchInfo.LinearFDBCap()); fdbCap > 0 {
			return min(fdbCap-1, int(mad.MaxUnicastLID))
		}
		return int(mad.MaxUnicastLID)
	}
	small := 0
	for _, n := range t.Switches {
		if limit(n) < len(t.EndPorts) {
			small++
		}
	}
	all, used := int(mad.MaxUnicastLID), int(mad.MaxUnicastLID)
	inUse := false
	for _, n := range t.Switches {
		if 2*small < len(t.Switches) && limit(n) < len(t.EndPorts) {
			continue
		}
		all = min(all, limit(n))
		if up := device.PortsUp(t, n); !up.Empty() {
			used, inUse = min(used, limit(n)), true
		}
	}
	if inUse {
		return used
	}
	return all
}

// lmcOf is the LMC of a port. A switch with a base port 0 has one LID.
func (a *assigner) lmcOf(p topo.PortIdx) uint8 {
	switch node := &a.t.Nodes[a.t.Ports[p].Node]; {
	case node.Type != mad.Switch:
		return a.lmc
	case node.SwitchInfo.EnhancedPort0():
		return a.lmc0
	}
	return 0
}

// fits reports whether a port can have base as its base LID.
func (a *assigner) fits(base mad.LID, lmc uint8) bool {
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

func (a *assigner) give(p topo.PortIdx, base mad.LID) {
	lmc := a.lmcOf(p)
	a.LIDs.Base[p], a.LIDs.LMC[p] = base, lmc
	for l := int(base); l < int(base)+1<<lmc; l++ {
		a.owner[l] = p
	}
	a.LIDs.Top = max(a.LIDs.Top, base+1<<lmc-1)
}

// keep assigns the LIDs at base to a port without LIDs, if they are free.
func (a *assigner) keep(p topo.PortIdx, base mad.LID) {
	if a.LIDs.Base[p] == 0 && a.fits(base, a.lmcOf(p)) {
		a.give(p, base)
	}
}

// adopt gives a port the LID it reports.
func (a *assigner) adopt(p topo.PortIdx) {
	reported := a.t.Ports[p].Info.LID()
	if a.fits(reported, a.lmcOf(p)) {
		a.give(p, reported)
	} else if reported.IsUnicast() {
		c := Conflict{Port: a.t.Ports[p].GUID, LID: reported}
		if owner := a.owner[reported]; owner >= 0 {
			c.Owner = a.t.Ports[owner].GUID
		}
		a.Conflicts = append(a.Conflicts, c)
	}
}

// allot assigns to a port the lowest free LIDs, else those of the longest absent port.
func (a *assigner) allot(p topo.PortIdx) {
	if base := a.free(a.lmcOf(p)); base != 0 {
		a.give(p, base)
	} else {
		a.Exhausted = append(a.Exhausted, a.t.Ports[p].GUID)
	}
}

// free is the lowest base of free LIDs, else one that an absent port loses; 0 where none is left.
func (a *assigner) free(lmc uint8) mad.LID {
	for base := a.next[lmc]; base+1<<lmc-1 <= a.limit; base += 1 << lmc {
		if a.fits(mad.LID(base), lmc) {
			a.next[lmc] = base + 1<<lmc
			return mad.LID(base)
		}
	}
	a.next[lmc] = a.limit + 1
	for len(a.Absent) > 0 {
		if base := a.reclaim(lmc); base != 0 {
			return base
		}
	}
	return 0
}

// reclaim frees the LIDs of the longest absent port, and returns a base LID that has become free, or 0.
func (a *assigner) reclaim(lmc uint8) (free mad.LID) {
	last := len(a.Absent) - 1
	k := a.Absent[last]
	a.Absent, a.Reclaimed = a.Absent[:last], append(a.Reclaimed, k)
	for l := k.Base; l <= k.Last(); l++ {
		if a.owner[l] == ofAbsent {
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
func (a *assigner) index() {
	a.LIDs.Owner = a.owner[:int(a.LIDs.Top)+1]
	for l, p := range a.LIDs.Owner {
		if p < topo.None {
			a.LIDs.Owner[l] = topo.None
		}
	}
	for i := range a.vPorts {
		if v := &a.vPorts[i]; v.lid != 0 {
			a.LIDs.VPorts = append(a.LIDs.VPorts, topo.VPortLID{GUID: v.GUID, LID: v.lid, Port: v.Port})
		}
	}
}

// Retained are the assignments to store, ascending GUID, of the ports and vPorts of t and of absent ones: before itself
// if nothing has changed. Ports whose LIDs were reclaimed are left out.
func (r *Assigned) Retained(t *topo.Topo, before []Assignment, now int64) []Assignment {
	list := make([]Assignment, 0, len(t.EndPorts)+len(r.Absent))
	for _, p := range t.EndPorts {
		if base := r.LIDs.Base[p]; base != 0 {
			list = append(list, Assignment{Port: t.Ports[p].GUID, Base: base, LMC: r.LIDs.LMC[p]})
		}
	}
	for _, v := range r.LIDs.VPorts {
		list = append(list, Assignment{Port: v.GUID, Base: v.LID})
	}
	for i := range r.Absent {
		if k := &r.Absent[i]; k.Absent == 0 && !r.unread {
			k.Absent = max(now, 1)
		}
	}
	list = append(list, r.Absent...)
	slices.SortFunc(list, ByPort)
	if slices.Equal(list, before) {
		return before
	}
	return list
}

// Unowned are the LIDs that some switch forwards and that no port and no vPort owns: they may belong to a node
// that does not answer.
func Unowned(t *topo.Topo, switches []device.Walked) (lids []mad.LID) {
	owned := make([]bool, int(mad.MaxUnicastLID)+1)
	for _, p := range t.EndPorts {
		if l := t.Ports[p].Info.LID(); l.IsUnicast() {
			owned[l] = true
		}
	}
	if t.VPorts != nil {
		for i := range t.VPorts.List {
			owned[t.VPorts.List[i].LID] = true
		}
	}
	for i := range switches {
		row := switches[i].LFT.Row()
		for l := 1; l < len(row) && l < len(owned) && l <= int(switches[i].Top); l++ {
			if row[l] != routing.NoPath && !owned[l] {
				owned[l] = true
				lids = append(lids, mad.LID(l))
			}
		}
	}
	return lids
}
