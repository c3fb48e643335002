package sa

import (
	"cmp"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/view"
)

// setView takes a view into use: it reports ports that came and went. The registrations of
// those that are gone stay for the grace period.
func (r *Registrar) setView(v *view.View) {
	was := r.view
	r.view, r.responder = v, &Responder{view: v, reg: &r.reg.State}
	if was == nil || was.Subnet.Prefix != v.Subnet.Prefix {
		r.rebase()
	}
	if was != nil && was.Subnet != v.Subnet {
		r.wellKnown()
	}
	if was != nil && was.Topo == v.Topo {
		return
	}
	r.last = lastMLID(v.Topo)
	if was == nil {
		r.beginTerm()
		r.address()
		r.callersChanged()
		r.notePlaces()
		r.dropReset()
		r.missing()
		r.registerNeighbors()
		return
	}
	r.registerNeighbors()
	old, now := was.Topo, v.Topo
	for i, j := 0, 0; i < len(old.EndPorts) || j < len(now.EndPorts); {
		switch compareEnds(old, i, now, j) {
		case -1:
			r.portEvent(smp.TrapGIDOutOfService, old, old.EndPorts[i])
			r.absent.add(old.Ports[old.EndPorts[i]].GUID, r.now)
			if r.cfg.DropSubscriptions {
				r.unsubscribe(old.Ports[old.EndPorts[i]].GUID)
			}
			i++
		case 1:
			r.portEvent(smp.TrapGIDInService, now, now.EndPorts[j])
			r.absent.remove(now.Ports[now.EndPorts[j]].GUID)
			j++
		default:
			i++
			j++
		}
	}
	r.vPortsChanged(old, now)
}

// compareEnds compares the GUIDs of two end ports, given by index; past the end is largest.
func compareEnds(a *topo.Topo, i int, b *topo.Topo, j int) int {
	switch {
	case i == len(a.EndPorts):
		return 1
	case j == len(b.EndPorts):
		return -1
	}
	return cmp.Compare(a.Ports[a.EndPorts[i]].GUID, b.Ports[b.EndPorts[j]].GUID)
}

// lastMLID is the highest MLID that all switches with multicast forward, below all MLIDs if
// no switch has multicast.
func lastMLID(t *topo.Topo) mad.LID {
	last := mad.MinMulticastLID - 1
	for i, n := range t.Switches {
		size := min(int(t.Nodes[n].SwitchInfo.MulticastFDBCap()), int(mad.PermissiveLID-mad.MinMulticastLID))
		if top := mad.MinMulticastLID - 1 + mad.LID(size); size > 0 &&
			(i == 0 || last < mad.MinMulticastLID || top < last) {
			last = top
		}
	}
	if len(t.Switches) == 0 { // back to back
		last = mad.PermissiveLID - 1
	}
	return last
}

// endTerm abandons all that is under way. Registrations stay, and which blocks of GUIDs are not known to be in their
// ports.
func (r *Registrar) endTerm() {
	r.view, r.responder = nil, nil
	r.handover = handover{}
	r.mirrored.source.Stop()
	r.pending.clear()
	r.dropOrders()
	clear(r.writing)
	r.regrouped = newRegrouped()
	r.reset, r.vPortsReset = nil, nil
	clear(r.places)
	clear(r.withoutMLID)
	r.reports.clear()
	r.absent = newAbsences()
}

// missing begins the grace period of all absent ports with registrations.
func (r *Registrar) missing() {
	check := func(gid mad.GID) {
		if guid := gid.GUID(); r.onSubnet(gid) && r.portOf(guid) == topo.None {
			if at, is := r.reg.Alias(guid); is {
				guid = at.Port
			}
			r.absent.add(guid, r.now)
		}
	}
	for g := range r.tally.members {
		check(g)
	}
	for g := range r.tally.subscriptions {
		check(g)
	}
	for g := range r.tally.services {
		check(g)
	}
	for a := range r.reg.Aliases() {
		check(mad.MakeGID(r.view.Subnet.Prefix, a.Port))
	}
	for port := range r.reg.GRHPorts() {
		check(mad.MakeGID(r.view.Subnet.Prefix, port))
	}
	r.absent.sort()
}

// dropReset drops the registrations of ports that were found in INIT. The first of a
// mastership term are reported before there is a View, and wait for it.
func (r *Registrar) dropReset() {
	slices.Sort(r.reset)
	r.reset = slices.Compact(r.reset)
	if r.view == nil {
		return
	}
	for _, port := range r.reset {
		before := r.reg.Seq()
		r.drop(port)
		if r.reg.Seq() != before {
			r.count.Reset++
		}
	}
	r.reset = nil
	r.dropResetVPorts()
}

// drop removes all registrations of a port or vPort: its memberships and subscriptions, the services at
// it, its aliases with theirs, and that it demands a GRH. Services have the GID that their clients gave, with either
// prefix.
func (r *Registrar) drop(port mad.GUID) {
	guids := []mad.GUID{port}
	var aliases []registry.Change
	for a := range r.reg.AliasesOf(port) {
		guids = append(guids, a.GUID)
		aliases = append(aliases, registry.DeleteAlias{Slot: a.Slot})
	}
	for _, guid := range guids {
		gid := mad.MakeGID(r.view.Subnet.Prefix, guid)
		if r.tally.members[gid] > 0 || r.tally.subscriptions[gid] > 0 {
			r.apply(r.reg.LeaveAll(gid)...)
		}
		for _, at := range [...]mad.GID{gid, mad.MakeGID(mad.DefaultPrefix, guid)} {
			if r.tally.services[at] > 0 {
				r.apply(r.servicesAt(at)...)
			}
		}
	}
	r.apply(aliases...)
	delete(r.places, port)
	if r.reg.DemandsGRH(port) {
		r.apply(registry.DeleteGRHPort{Port: port})
	}
}

// unsubscribe removes the subscriptions of a port.
func (r *Registrar) unsubscribe(port mad.GUID) {
	gid := mad.MakeGID(r.view.Subnet.Prefix, port)
	for _, sub := range slices.Collect(r.reg.SubscriptionsOf(gid)) {
		r.apply(registry.DeleteSubscription{SubscriptionKey: sub.SubscriptionKey})
	}
}

// forget removes the registrations with the previous master, except groups, aliases and ports that demand a GRH.
func (r *Registrar) forget() {
	r.mirrored.subscribers = nil
	for _, sub := range slices.Collect(r.reg.Subscriptions()) {
		r.apply(registry.DeleteSubscription{SubscriptionKey: sub.SubscriptionKey})
	}
	for _, v := range slices.Collect(r.reg.Services()) {
		r.apply(registry.DeleteService{ServiceKey: v.ServiceKey})
	}
}

// servicesAt are the changes that remove the services at a port.
func (r *Registrar) servicesAt(gid mad.GID) (changes []registry.Change) {
	for v := range r.reg.Services() {
		if v.GID == gid {
			changes = append(changes, registry.DeleteService{ServiceKey: v.ServiceKey})
		}
	}
	return changes
}

// absences are the absent ports, in order of time: the grace period is the same for all.
type absences struct {
	since map[mad.GUID]time.Duration
	queue []absence
}

type absence struct {
	port  mad.GUID
	since time.Duration
}

func newAbsences() absences { return absences{since: map[mad.GUID]time.Duration{}} }

func (a *absences) add(port mad.GUID, now time.Duration) {
	if _, is := a.since[port]; !is {
		a.since[port] = now
		a.queue = append(a.queue, absence{port, now})
	}
}

func (a *absences) remove(port mad.GUID) { delete(a.since, port) }

// sort orders ports that are absent since the same time by GUID, so that the effects do not
// depend on the order in which they were found.
func (a *absences) sort() {
	slices.SortFunc(a.queue, func(x, y absence) int {
		return cmp.Or(cmp.Compare(x.since, y.since), cmp.Compare(x.port, y.port))
	})
}

// first is the time since which the longest absent port is absent.
func (a *absences) first() (since time.Duration, ok bool) {
	for len(a.queue) > 0 {
		q := a.queue[0]
		if at, is := a.since[q.port]; is && at == q.since {
			return q.since, true
		}
		a.queue = a.queue[1:] // it has come back
	}
	return 0, false
}

// due removes and returns a port that is absent since a time or longer.
func (a *absences) due(since time.Duration) (port mad.GUID, ok bool) {
	if at, waits := a.first(); !waits || at > since {
		return 0, false
	}
	port = a.queue[0].port
	a.queue = a.queue[1:]
	delete(a.since, port)
	return port, true
}
