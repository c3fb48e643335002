package main_test

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// difference is a class of answers that are right although OpenSM's are others.
type difference struct {
	name   string
	reason string
	is     func(q, theirs, ours *mad.Packet) bool
}

// unlisted is the name of a difference that is none of these.
const unlisted = "unlisted"

var differences = []difference{
	{"silence", "OpenSM drops what it does not know without a word, and its client waits for all its time-outs",
		func(q, theirs, ours *mad.Packet) bool {
			return theirs == nil && ours != nil && ours.Status() != mad.StatusOK
		}},
	{"capabilities", "each says what it can do itself",
		func(q, theirs, ours *mad.Packet) bool {
			return bothGrant(q, theirs, ours, sarec.AttrClassPortInfo)
		}},
	{"ActCount", "each counts its own packets",
		func(q, theirs, ours *mad.Packet) bool {
			return bothGrant(q, theirs, ours, sarec.AttrSMInfoRecord) && alikeBut(theirs, ours, 20, 21, 22, 23)
		}},
	{"SM_Key and ActCount asked for", "OpenSM does not compare these components",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrSMInfoRecord &&
				q.ComponentMask()&(sarec.SMInfoSMKey|sarec.SMInfoActCount|1<<1) != 0
		}},
	{"MulticastFDBTop", "OpenSM leaves it alone by default; ibsm bounds the blocks that a switch has to search",
		func(q, theirs, ours *mad.Packet) bool {
			return bothGrant(q, theirs, ours, sarec.AttrSwitchInfoRecord) && alikeBut(theirs, ours, 22, 23)
		}},
	{"thresholds of port 0",
		"port 0 has no link whose errors could be counted; OpenSM sets the thresholds all the same",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrPortInfoRecord &&
				(q.ComponentMask()&(sarec.PortInfoLocalPhyErrors|sarec.PortInfoOverrunErrors) != 0 ||
					bothGrant(q, theirs, ours, sarec.AttrPortInfoRecord) && ours.SAData()[2] == 0 &&
						alikeBut(theirs, ours, 57))
		}},
	{"base port 0", "it says nothing of a link: OpenSM gives its paths no MTU and 2.5 Gb/s; ibsm what the links on their way can carry",
		func(q, theirs, ours *mad.Packet) bool {
			if q.AttrID() != sarec.AttrPathRecord || theirs == nil || ours.Status() != mad.StatusOK {
				return false
			}
			limits := sarec.PathMTUSelector | sarec.PathMTU
			return theirs.Status() == mad.StatusOK && theirs.SAData()[54]&0x3f == 0 && alikeBut(theirs, ours, 54, 55) ||
				theirs.Status() == mad.StatusNoRecords && q.ComponentMask().Has(limits)
		}},
	{"GUIDs asked for", "OpenSM compares the components of GUIDs with nothing but 0 and the port's own",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrGUIDInfoRecord && q.ComponentMask()&0xff0 != 0
		}},
	{"foreign prefix",
		"OpenSM looks at a part of the prefix, or at none; a GID of another subnet is none of a port here",
		func(q, theirs, ours *mad.Packet) bool {
			foreign := func(comp mad.ComponentMask, gid mad.GID) bool {
				return q.ComponentMask().Has(comp) && gid.Prefix() != mad.DefaultPrefix
			}
			switch q.AttrID() {
			case sarec.AttrPathRecord:
				rec := (*sarec.PathRecord)(q.SAData()[:64])
				return foreign(sarec.PathDGID, rec.DGID()) || foreign(sarec.PathSGID, rec.SGID())
			case sarec.AttrMCMemberRecord:
				return q.Method() == mad.MethodGet &&
					foreign(sarec.MCMemberPortGID, (*sarec.MCMemberRecord)(q.SAData()[:56]).PortGID())
			}
			return false
		}},
	{"rates", "OpenSM takes 30 Gb/s for less than 25, and refuses a rate that there is none of also where the largest is asked for",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrPathRecord && q.ComponentMask().Has(sarec.PathRateSelector|sarec.PathRate)
		}},
	{"MTU and rate of no size", "OpenSM refuses them also where the largest is asked for",
		func(q, theirs, ours *mad.Packet) bool {
			switch q.AttrID() {
			case sarec.AttrPathRecord:
				sel, _ := (*sarec.PathRecord)(q.SAData()[:64]).MTU()
				return q.ComponentMask().Has(sarec.PathMTUSelector|sarec.PathMTU) && sel == sarec.Best
			case sarec.AttrMCMemberRecord:
				rec := (*sarec.MCMemberRecord)(q.SAData()[:56])
				mtu, _ := rec.MTU()
				rate, _ := rec.Rate()
				return mtu == sarec.Best && q.ComponentMask().Has(sarec.MCMemberMTUSelector|sarec.MCMemberMTU) ||
					rate == sarec.Best && q.ComponentMask().Has(sarec.MCMemberRateSelector|sarec.MCMemberRate)
			}
			return false
		}},
	{"LocalPortNum", "it is the port by which the manager's question came, and each asks by a way of its own",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrPortInfoRecord && (q.ComponentMask().Has(sarec.PortInfoLocalPortNum) ||
				// and perhaps enforcement, below
				bothGrant(q, theirs, ours, sarec.AttrPortInfoRecord) && alikeBut(theirs, ours, 32, 47, 57))
		}},
	{"RawTraffic", "OpenSM drops the bit from the answer",
		func(q, theirs, ours *mad.Packet) bool {
			return bothGrant(q, theirs, ours, sarec.AttrPathRecord) && q.ComponentMask().Has(sarec.PathRawTraffic)
		}},
	{"hidden fields asked for",
		"who does not show the SM_Key sees no JoinState and ProxyJoin, and learns nothing of them by asking either; OpenSM compares them",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrMCMemberRecord && q.Method() == mad.MethodGet && q.SMKey() == 0 &&
				q.ComponentMask()&(sarec.MCMemberJoinState|sarec.MCMemberProxyJoin) != 0
		}},
	{"ServiceLease asked for", "OpenSM does not compare it",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrServiceRecord && q.ComponentMask().Has(sarec.ServiceServiceLease)
		}},
	{"BaseLID asked for", "OpenSM finds nothing by it, not even a port that has it",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrPortInfoRecord && q.ComponentMask().Has(sarec.PortInfoLID)
		}},
	{"bits of PortInfo asked for", "OpenSM does not compare these",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrPortInfoRecord &&
				q.ComponentMask()&(sarec.PortInfoMcastPKeySuppression|sarec.PortInfoClientReregister|
					sarec.PortInfoInitTypeReply) != 0
		}},
	{"enforcement", "OpenSM has switches check P_Keys also where there is no partitions.conf; ibsm leaves that as it is",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrPortInfoRecord &&
				q.ComponentMask()&(sarec.PortInfoPartEnforcementIn|sarec.PortInfoPartEnforcementOut) != 0 ||
				bothGrant(q, theirs, ours, sarec.AttrPortInfoRecord) && alikeBut(theirs, ours, 47)
		}},
	{"which path", "a Get that does not name both ends is answered with some path",
		func(q, theirs, ours *mad.Packet) bool {
			comps := q.ComponentMask()
			return bothGrant(q, theirs, ours, sarec.AttrPathRecord) &&
				(comps&(sarec.PathDGID|sarec.PathDLID) == 0 || comps&(sarec.PathSGID|sarec.PathSLID) == 0)
		}},
	{"selector alone", "OpenSM compares a value that is not given where its selector is",
		func(q, theirs, ours *mad.Packet) bool {
			alone := func(selector, value mad.ComponentMask) bool {
				return q.ComponentMask().Has(selector) && !q.ComponentMask().Has(value)
			}
			return q.AttrID() == sarec.AttrMCMemberRecord && (alone(sarec.MCMemberMTUSelector, sarec.MCMemberMTU) ||
				alone(sarec.MCMemberRateSelector, sarec.MCMemberRate))
		}},
	{"trees", "each grows its own, and OpenSM shows no block of a switch that was in none",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrMulticastForwardingTableRecord
		}},
	{"which refusal", "there are several reasons to refuse, and each reports the one that it sees first",
		func(q, theirs, ours *mad.Packet) bool {
			return theirs != nil && ours != nil && theirs.Status() != mad.StatusOK && ours.Status() != mad.StatusOK &&
				(q.AttrID() == sarec.AttrPathRecord || q.AttrID() == sarec.AttrMCMemberRecord)
		}},
	{"partition tables of switch ports",
		"OpenSM writes those of ports that lead to hosts, and answers with zeros for blocks that are not there",
		func(q, theirs, ours *mad.Packet) bool {
			return q.AttrID() == sarec.AttrPKeyTableRecord && q.SMKey() != 0
		}},
}

// judge is the name of the difference between two answers, "" for none. What a refusal
// carries means nothing, nor does what follows the record.
func judge(q, theirs, ours *mad.Packet) string {
	switch {
	case theirs == nil && ours == nil:
		return ""
	case theirs != nil && ours != nil && theirs.Status() == ours.Status() && theirs.Method() == ours.Method():
		if theirs.Status() != mad.StatusOK || string(record(theirs)) == string(record(ours)) {
			return ""
		}
	}
	for _, d := range differences {
		if d.is(q, theirs, ours) {
			return d.name
		}
	}
	return unlisted
}

// record is the record that an answer carries.
func record(p *mad.Packet) []byte {
	for i := range shapes {
		if shapes[i].attr == p.AttrID() {
			return p.SAData()[:shapes[i].size]
		}
	}
	return p.SAData()[:]
}

// bothGrant reports whether both answer a Get or Set of the attribute with a record.
func bothGrant(q, theirs, ours *mad.Packet, attr mad.AttrID) bool {
	return q.AttrID() == attr && theirs != nil && ours != nil && theirs.Status() == mad.StatusOK &&
		ours.Status() == mad.StatusOK
}

// alikeBut reports whether the records differ in these bytes alone.
func alikeBut(theirs, ours *mad.Packet, at ...int) bool {
	a, b := slices.Clone(record(theirs)), slices.Clone(record(ours))
	for _, i := range at {
		a[i], b[i] = 0, 0
	}
	return string(a) == string(b)
}
