package sa

import (
	"log/slog"

	"ibsm/mad"
	"ibsm/mad/sarec"
	osmlog "ibsm/opensm/log"
	"ibsm/topo"
	"ibsm/view"
)

// Condition is what a request without the SA_Key must fulfil to be answered with view.Trust.Enhanced.
type Condition uint8

// Conditions of Needs.
const (
	// Always: there is none.
	Always Condition = iota
	// FromItself: it gives a source, SGID or SLID, and that is the requester's port.
	FromItself
	// ToOne is FromItself, and the request gives a destination.
	ToOne
	// ForItself: the port that it names, PortGID or ServiceGID, is the requester's, or view.Trust.Proxies.
	ForItself
	// OfItsNode: view.Trust.GUIDs, and the port that it names is one of the requester's node.
	OfItsNode
)

var conditions = [...]string{"always", "from the requester's port", "from the requester's port to one other",
	"for the requester's port", "for the requester's node, if allowed"}

// String is the condition in a few words.
func (c Condition) String() string { return conditions[c] }

// Need is a kind of request that a host cannot do without.
type Need struct {
	Attr   mad.AttrID
	Method mad.Method
	If     Condition
}

// Needs are all requests that are answered without the SA_Key with view.Trust.Enhanced: those of NVIDIA's
// manager, and SMInfoRecord. InformInfo for security traps demands the key in any case.
var Needs = [...]Need{
	{sarec.AttrPathRecord, mad.MethodGet, FromItself}, // the most frequent first
	{sarec.AttrPathRecord, mad.MethodGetTable, ToOne},
	{sarec.AttrMCMemberRecord, mad.MethodGet, Always},
	{sarec.AttrMCMemberRecord, mad.MethodSet, ForItself},
	{sarec.AttrMCMemberRecord, mad.MethodDelete, ForItself},
	{sarec.AttrServiceRecord, mad.MethodGet, Always},
	{sarec.AttrServiceRecord, mad.MethodSet, ForItself},
	{sarec.AttrServiceRecord, mad.MethodDelete, ForItself},
	{sarec.AttrInformInfo, mad.MethodSet, Always},
	{sarec.AttrClassPortInfo, mad.MethodGet, Always},
	{sarec.AttrSMInfoRecord, mad.MethodGet, Always},
	{sarec.AttrSMInfoRecord, mad.MethodGetTable, Always},
	{sarec.AttrGUIDInfoRecord, mad.MethodSet, OfItsNode},
	{sarec.AttrGUIDInfoRecord, mad.MethodDelete, OfItsNode},
}

// believes decides by view.Trust whether a request of a port is answered. It does not allocate.
func (a *Responder) believes(in *mad.Datagram, from topo.EndIdx) Drop {
	trust := &a.view.Subnet.Trust
	if trust.CheckSGID && in.GRH.Present && !a.isOf(in.GRH.GID, from) {
		return DropSpoofed
	}
	if !trust.Enhanced || in.Packet.SMKey() != 0 { // gate has compared it
		return answered
	}
	for i := range Needs {
		if need := &Needs[i]; need.Attr == in.Packet.AttrID() && need.Method == in.Packet.Method() {
			if a.fulfils(need.If, trust, &in.Packet, from) {
				return answered
			}
			break
		}
	}
	return DropUntrusted
}

// fulfils reports whether a request of a port fulfils a condition.
func (a *Responder) fulfils(c Condition, trust *view.Trust, p *mad.Packet, from topo.EndIdx) bool {
	comps, data := p.ComponentMask(), p.SAData()
	switch c {
	case FromItself, ToOne:
		rec := (*sarec.PathRecord)(data[:])
		return comps&(sarec.PathSGID|sarec.PathSLID) != 0 && (!comps.Has(sarec.PathSGID) || a.isOf(rec.SGID(), from)) &&
			(!comps.Has(sarec.PathSLID) || a.startsAt(rec, comps, from)) &&
			(c == FromItself || comps&(sarec.PathDGID|sarec.PathDLID) != 0)
	case ForItself:
		if trust.Proxies {
			return true
		}
		if p.AttrID() == sarec.AttrServiceRecord {
			return a.isOf((*sarec.ServiceRecord)(data[:]).ServiceGID(), from)
		}
		return a.isOf((*sarec.MCMemberRecord)(data[:]).PortGID(), from)
	case OfItsNode:
		at := a.view.LIDs.PortOf((*sarec.GUIDInfoRecord)(data[:]).LID())
		return trust.GUIDs && at != topo.None && a.view.Topo.VPortOf(from) == topo.None &&
			a.view.Topo.Ports[at].Node == a.view.Topo.Ports[from].Node
	}
	return true
}

// isOf reports whether a GID is of an end, by its own GUID or an alias. A port may speak for the vPorts behind it.
// Before a port has the subnet's prefix it has the default one.
func (a *Responder) isOf(gid mad.GID, p topo.EndIdx) bool {
	if prefix := gid.Prefix(); prefix != a.view.Subnet.Prefix && prefix != mad.DefaultPrefix {
		return false
	}
	own := a.view.Topo.EndGUID(p)
	if gid.GUID() == own || a.view.Topo.SpeaksFor(p, a.view.Topo.FindEnd(gid.GUID())) {
		return true
	}
	at, found := a.reg.Alias(gid.GUID())
	return found && at.Port == own
}

// portOf is the port or vPort with a GUID or alias GUID, topo.None if there is none.
func (a *Responder) portOf(guid mad.GUID) topo.EndIdx {
	if p := a.view.Topo.FindEnd(guid); p != topo.None {
		return p
	}
	if at, found := a.reg.Alias(guid); found {
		return a.view.Topo.FindPort(at.Port)
	}
	return topo.None
}

// hidesService reports whether a service is kept from a requester although that is in its partition: with
// view.Trust.Enhanced one at a port that it shares no P_Key with.
func (a *Responder) hidesService(r *request, gid mad.GID) bool {
	if !a.view.Subnet.Trust.Enhanced || r.trusted {
		return false
	}
	at := a.portOf(gid.GUID())
	return at == topo.None || !a.maySee(r, at)
}

// allowed is how many of a kind a requester may have, if view.Trust says so many and the SA itself has
// room for most.
func (r *Registrar) allowed(q *writeRequest, limit uint32, most int) int {
	if !r.view.Subnet.Trust.Enhanced || q.trusted || limit == 0 {
		return most
	}
	return min(int(limit), most)
}

// dropped counts a request that gets no answer, and notes its sender where that is an offence.
func (a *Responder) dropped(in *mad.Datagram, why Drop, stats *Stats) {
	if !why.offends() {
		stats.Drop(why)
		return
	}
	p, guid := a.requester(in), mad.GUID(0)
	if p == topo.None {
		p = a.view.EndOfLID(in.LID)
	}
	if p != topo.None {
		guid = a.view.Topo.EndGUID(p)
	}
	if !stats.offended(in, why, guid) {
		return // without an allocation: it may be one of a flood
	}
	desc := ""
	if p != topo.None {
		_, desc = named(a.view.Topo, p)
	}
	stats.Refusals.log(slog.LevelError, osmlog.Dropped(in.Packet.Method(), sarec.AttrName(in.Packet.AttrID()),
		uint64(guid), desc, why.because()))
}

// TooMany counts a request of a sender that asks too often. The nil Responder counts it, too.
func (a *Responder) TooMany(in *mad.Datagram, stats *Stats) {
	if a == nil {
		stats.Drop(DropTooMany)
		return
	}
	a.dropped(in, DropTooMany, stats)
}
