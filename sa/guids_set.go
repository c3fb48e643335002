package sa

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/registry"
	"ibsm/topo"
)

// blockKey names a block of a port's GUIDs.
type blockKey struct {
	port  mad.GUID
	block uint8
}

// changeGUIDs gives a port alias GUIDs, or takes them away (IBA 15.2.5.18). The reply
// leaves when the port has them. It shows the block as it is then, with 0 where another
// port has what was asked for.
func (r *Registrar) changeGUIDs(q *writeRequest, set bool) mad.Status {
	rec := (*sarec.GUIDInfoRecord)(q.data[:])
	if !q.comps.Has(sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum) {
		return q.because(mad.StatusReqInsufficient, "it lacks LID or BlockNum", "")
	}
	t, port := r.view.Topo, r.view.EndOfLID(rec.LID())
	if port != topo.None && t.VPortOf(port) != topo.None {
		return q.because(mad.StatusReqDenied,
			fmt.Sprintf("LID %d is a vPort's, which gets its GUIDs from its host", rec.LID()), "")
	}
	if port == topo.None {
		return q.because(mad.StatusNoRecords, fmt.Sprintf("no port has LID %d", rec.LID()), "")
	}
	if blocks := (int(t.Ports[port].Info.GUIDCap()) + smp.GUIDsPerBlock - 1) / smp.GUIDsPerBlock; int(
		rec.BlockNum()) >= blocks {
		line := osmlog.GUIDsDeleteBlock
		if set {
			line = osmlog.GUIDsSetBlock
		}
		return q.because(mad.StatusNoRecords, "the port has no such block of GUIDs", line, rec.BlockNum(), blocks,
			uint64(t.Ports[port].GUID))
	}
	if !q.trusted && t.VPortOf(q.from) != topo.None {
		return q.because(mad.StatusReqDenied, "a vPort may not change the GUIDs of a port", "")
	}
	if !q.trusted && t.Ports[q.from].Node != t.Ports[port].Node {
		return q.because(mad.StatusReqDenied, fmt.Sprintf("LID %d is another node's", rec.LID()), "")
	}
	slots := slotsOf(q, rec, t.Ports[port].GUID)
	for _, s := range slots {
		if s.Index == 0 || s.Index >= t.Ports[port].Info.GUIDCap() {
			return q.because(mad.StatusReqInvalid, fmt.Sprintf("GUID %d of the port cannot be written", s.Index), "")
		}
		if old := r.reg.AliasAt(s.Slot); old != 0 && r.isMember(old) && !(set && (s.GUID == 0 || s.GUID == old)) {
			return q.because(mad.StatusReqDenied, fmt.Sprintf("alias GUID %v is a member of multicast groups", old), "")
		}
	}
	var declined []registry.Alias
	for _, s := range slots {
		if set && !r.putAlias(s) {
			declined = append(declined, s)
			q.because(mad.StatusOK, "another port has the GUID", osmlog.GUIDsTaken, uint64(s.GUID), s.Index,
				uint64(s.Port), uint64(r.holder(s.GUID)))
		} else if !set && r.reg.AliasAt(s.Slot) != 0 {
			r.apply(registry.DeleteAlias{Slot: s.Slot})
		}
	}
	q.key = blockKey{t.Ports[port].GUID, rec.BlockNum()}
	*rec.GUIDInfo() = r.writeGUIDs(q.key)
	for _, s := range declined {
		rec.GUIDInfo().SetGUID(int(s.Index), 0)
	}
	q.size, q.wait = len(rec), waitsForPort
	return mad.StatusOK
}

// slotsOf are the slots that a request gives, with the GUIDs in it.
func slotsOf(q *writeRequest, rec *sarec.GUIDInfoRecord, port mad.GUID) (slots []registry.Alias) {
	for i := range smp.GUIDsPerBlock {
		if q.comps.Has(sarec.GUIDInfoGUID0 << i) {
			at := registry.Slot{Port: port, Index: rec.BlockNum()*smp.GUIDsPerBlock + uint8(i)}
			slots = append(slots, registry.Alias{Slot: at, GUID: rec.GUIDInfo().GUID(i)})
		}
	}
	return slots
}

// isMember reports whether an alias is in a group.
func (r *Registrar) isMember(alias mad.GUID) bool {
	return r.tally.members[mad.MakeGID(r.view.Subnet.Prefix, alias)] > 0
}

// putAlias gives a slot the GUID asked for, or with 0 one of the SA's choice unless it
// has one. It reports false when the GUID is another's.
func (r *Registrar) putAlias(s registry.Alias) bool {
	old := r.reg.AliasAt(s.Slot)
	switch {
	case s.GUID == old && old != 0 || s.GUID == 0 && old != 0:
		return true
	case s.GUID == 0:
		s.GUID = r.makeGUID()
	case r.isTaken(s.GUID):
		return false
	}
	return r.apply(registry.PutAlias{Alias: s})
}

// makeGUID makes an alias GUID that nothing has: of OpenIB's number, as OpenSM's are.
func (r *Registrar) makeGUID() mad.GUID {
	for {
		guid := mad.GUID(0x001405)<<40 | mad.GUID(r.cfg.AssignedGUID)<<32 | mad.GUID(r.nextGUID)
		r.nextGUID++
		if !r.isTaken(guid) {
			return guid
		}
	}
}

// isTaken reports whether something has a GUID: a port, vPort or node, or a port as an alias,
// which it keeps for a while when it is not there.
func (r *Registrar) isTaken(guid mad.GUID) bool {
	_, isAlias := r.reg.Alias(guid)
	return isAlias || r.view.Topo.FindPort(guid) != topo.None ||
		r.view.Topo.FindVPort(guid) != topo.None || r.view.Topo.FindNode(guid) != topo.None
}

// holder is the port that has a GUID, as its own or as an alias; its node where that is what has it.
func (r *Registrar) holder(guid mad.GUID) mad.GUID {
	if slot, is := r.reg.Alias(guid); is {
		return slot.Port
	}
	return guid
}
