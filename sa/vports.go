package sa

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sa/path"
	"ibsm/topo"
)

// requester is the port or vPort that a request came from, topo.None if it is not known. A vPort with a LID of its own
// is known by that, others by the SGID of the GRH. A port with vPorts sends no GRH with a GUID that is not known: that
// is of a vPort which is not known yet.
func (a *Responder) requester(in *mad.Datagram) topo.EndIdx {
	from, t := a.view.EndOfLID(in.LID), a.view.Topo
	if from == topo.None || t.VPorts == nil || !in.GRH.Present {
		return from
	}
	p := t.Physical(from)
	if first, end := t.VPorts.Of(p); first == end {
		return from
	}
	v := a.vPortOf(in.GRH.GID)
	if v == topo.None && a.isOf(in.GRH.GID, from) {
		return from
	}
	if v == topo.None || t.Physical(v) != p {
		return topo.None
	}
	if lid, _ := t.EndLID(a.view.LIDs, v); from != p && lid != in.LID {
		return topo.None
	}
	return v
}

// unknown is why a request of nobody that is known is dropped: its port may have the SGID of another.
func (a *Responder) unknown(in *mad.Datagram) Drop {
	if a.view.Subnet.Trust.CheckSGID && in.GRH.Present && a.view.EndOfLID(in.LID) != topo.None &&
		a.view.Topo.FindEnd(in.GRH.GID.GUID()) != topo.None {
		return DropSpoofed
	}
	return DropUnknownRequester
}

// vPortOf is the vPort with a GID, topo.None if there is none.
func (a *Responder) vPortOf(gid mad.GID) topo.EndIdx {
	if prefix := gid.Prefix(); prefix != a.view.Subnet.Prefix && prefix != mad.DefaultPrefix {
		return topo.None
	}
	e := a.view.Topo.FindEnd(gid.GUID())
	if e == topo.None || a.view.Topo.VPortOf(e) == topo.None {
		return topo.None
	}
	return e
}

// startsAt reports whether the SLID of a request for a path is the requester's. One that shares it says by the SGID
// that it is meant.
func (a *Responder) startsAt(rec *sarec.PathRecord, comps mad.ComponentMask, from topo.EndIdx) bool {
	at := a.view.EndOfLID(rec.SLID())
	if at == from || at == topo.None {
		return at == from
	}
	lid, shared := a.view.Topo.EndLID(a.view.LIDs, from)
	return comps.Has(sarec.PathSGID) && shared && lid == rec.SLID()
}

// recorded returns the vPorts to search for a request for records of nodes or ports, from the first to before the last:
// the one with the LID or GUID of the request, or all. It returns none unless enable_virt_rec_ext is set.
func (a *Responder) recorded(byLID bool, lid mad.LID, byGUID bool, guid mad.GUID) (from, to topo.VPortIdx) {
	t, v := a.view.Topo, topo.VPortIdx(topo.None)
	switch {
	case !a.view.VPorts.Records:
	case byLID:
		v = t.VPorts.OfLID(lid)
	case byGUID:
		v = t.FindVPort(guid)
	default:
		return 0, topo.VPortIdx(t.VPorts.Len())
	}
	if v == topo.None {
		return 0, 0
	}
	return v, v + 1
}

// hasRecords reports whether a vPort that recorded has named has them: it is up, has a LID of its own, and the
// requester may know of it.
func (a *Responder) hasRecords(r *request, v topo.VPortIdx) bool {
	t := a.view.Topo
	p := t.VPorts.At(v)
	return p.LID != 0 && t.Ports[p.Port].Seen && t.FindEnd(p.GUID) == t.EndOf(v) && a.maySee(r, t.EndOf(v))
}

// numOf is the number of the port that an end is, or is behind.
func (a *Responder) numOf(e topo.EndIdx) uint8 { return a.view.Topo.Ports[a.view.Topo.Physical(e)].Num }

// reaching is an address of a queue pair at a port or vPort with a GID as it is reached now.
func (r *Registrar) reaching(e topo.EndIdx, gid mad.GID, to mad.Addr) mad.Addr {
	lid, shared := r.view.Topo.EndLID(r.view.LIDs, e)
	if shared || r.view.EndOfLID(to.LID) != e {
		to.LID = lid
	}
	if shared && !to.GRH.Present {
		to.GRH = mad.GRH{Present: true, GID: gid, HopLimit: max(r.view.VPorts.HopLimit, path.GRHHopLimit)}
	}
	return to
}

// vPortsOf are the vPorts of a Topo that are up, ascending GUID.
func vPortsOf(t *topo.Topo) []topo.EndIdx {
	if t.VPorts == nil {
		return nil
	}
	ends := slices.Clone(t.Ends()[len(t.EndPorts):])
	slices.SortFunc(ends, func(a, b topo.EndIdx) int { return cmp.Compare(t.EndGUID(a), t.EndGUID(b)) })
	return ends
}

// vPortsChanged reports vPorts that came up and went down. The registrations of those that are down stay for the grace
// period, in which their functions may come up elsewhere.
func (r *Registrar) vPortsChanged(old, now *topo.Topo) {
	for _, e := range vPortsOf(old) {
		guid := old.EndGUID(e)
		if now.FindEnd(guid) == topo.None {
			r.portEvent(smp.TrapGIDOutOfService, old, e)
			if r.cfg.DropSubscriptions {
				r.unsubscribe(guid)
			}
		}
		for _, g := range guidsOf(old, e) {
			if r.portOf(g) == topo.None {
				r.absent.add(g, r.now)
			}
		}
	}
	for _, e := range vPortsOf(now) {
		if old.FindEnd(now.EndGUID(e)) == topo.None {
			r.portEvent(smp.TrapGIDInService, now, e)
		}
		for _, g := range guidsOf(now, e) {
			r.absent.remove(g)
		}
	}
	r.notePlaces()
}

// guidsOf are those of a vPort.
func guidsOf(t *topo.Topo, e topo.EndIdx) []mad.GUID {
	return append([]mad.GUID{t.EndGUID(e)}, t.VPorts.Aliases[t.VPortOf(e)]...)
}

// ownGUIDs are the GUIDs of a vPort that was found in INIT, as far as the subnet had it where it is.
func (r *Registrar) ownGUIDs(at VPortAt) []mad.GUID {
	t := r.view.Topo
	if i := t.FindVPort(at.VPort); i != topo.None {
		if v := t.VPorts.At(i); v.GUID == at.VPort && t.Ports[v.Port].GUID == at.Port {
			return guidsOf(t, t.EndOf(i))
		}
	}
	return []mad.GUID{at.VPort}
}

// notePlaces notes where vPorts are.
func (r *Registrar) notePlaces() {
	t := r.view.Topo
	for _, e := range vPortsOf(t) {
		r.places[t.EndGUID(e)] = t.Ports[t.Physical(e)].GUID
	}
}

// dropResetVPorts drops the registrations of vPorts that were found in INIT where they were before.
func (r *Registrar) dropResetVPorts() {
	slices.SortFunc(r.vPortsReset, func(a, b VPortAt) int {
		return cmp.Or(cmp.Compare(a.VPort, b.VPort), cmp.Compare(a.Port, b.Port))
	})
	for _, v := range slices.Compact(r.vPortsReset) {
		place, known := r.places[v.VPort]
		if known && place != v.Port || r.view.Topo.FindPort(v.VPort) != topo.None {
			continue
		}
		before := r.reg.Seq()
		for _, guid := range r.ownGUIDs(v) {
			r.drop(guid)
		}
		if r.reg.Seq() != before {
			r.count.Reset++
		}
	}
	r.vPortsReset = nil
}
