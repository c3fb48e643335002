package hosts

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
)

// broadcast is the IPoIB broadcast group of the default partition (RFC 4391, 4).
var broadcast = mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}

// ownGroup is the group of a host's own IPv6 address, to which its neighbours send to
// learn where it is (RFC 4291, 2.7.1, mapped as in RFC 4391, 4).
func ownGroup(port mad.GUID) mad.GID {
	return mad.GID{0xff, 0x12, 0x60, 0x1b, 0xff, 0xff, 11: 1, 12: 0xff, 13: byte(port >> 16), 14: byte(port >> 8),
		15: byte(port)}
}

// write makes the packet, but for what is known of the other end of a path.
func (r *request) write(from mad.GID, p *mad.Packet) {
	switch r.kind {
	case BroadcastGroup:
		p.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrMCMemberRecord, 0)
		(*sarec.MCMemberRecord)(p.SAData()[:56]).SetMGID(broadcast)
		p.SetComponentMask(sarec.MCMemberMGID)
	case Join:
		p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
		rec := (*sarec.MCMemberRecord)(p.SAData()[:56])
		rec.SetMGID(broadcast)
		rec.SetPortGID(from)
		rec.SetPKey(mad.DefaultPKey)
		rec.SetJoinState(1)
		p.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberPKey | sarec.MCMemberJoinState)
	case OwnGroup:
		p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
		rec := (*sarec.MCMemberRecord)(p.SAData()[:56])
		rec.SetMGID(ownGroup(from.GUID()))
		rec.SetPortGID(from)
		rec.SetQKey(0x0b1b)
		rec.SetPKey(mad.DefaultPKey)
		rec.SetJoinState(1)
		p.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberQKey | sarec.MCMemberPKey |
			sarec.MCMemberTClass |
			sarec.MCMemberSL | sarec.MCMemberFlowLabel | sarec.MCMemberJoinState)
	case Offer:
		p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrServiceRecord, 0)
		rec := (*sarec.ServiceRecord)(p.SAData()[:176])
		rec.SetServiceID(uint64(from.GUID()))
		rec.SetServiceGID(from)
		rec.SetServicePKey(mad.DefaultPKey)
		rec.SetServiceLease(0xffffffff) // for ever
		p.SetComponentMask(sarec.ServiceServiceID | sarec.ServiceServiceGID | sarec.ServiceServicePKey |
			sarec.ServiceServiceLease)
	case Subscribe:
		p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrInformInfo, 0)
		rec := (*sarec.InformInfo)(p.SAData()[:36])
		rec.SetLIDRangeBegin(0xffff)
		rec.SetIsGeneric(1)
		rec.SetSubscribe(1)
		rec.SetType(0xffff)
		rec.SetTrapNumber(r.trap)
		rec.SetQPN(1)
		rec.SetProducerType(4)
	case Path:
		p.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
		rec := (*sarec.PathRecord)(p.SAData()[:64])
		rec.SetSGID(from)
		rec.SetPKey(mad.DefaultPKey)
		rec.SetNumbPath(1)
		p.SetComponentMask(sarec.PathDGID | sarec.PathSGID | sarec.PathNumbPath | sarec.PathTClass | sarec.PathPKey)
	}
}
