package sa

import (
	"iter"
	"slices"
	"sync/atomic"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// Stats counts replies, dropped requests, and reply times. Any number of goroutines may count
// and read at once; with a Stats for each worker they do not share cache lines. The zero value
// is ready.
type Stats struct {
	Refusals  Refusals
	Offenders Offenders

	replies [len(attrs)][len(statuses)]atomic.Uint64
	drops   [len(drops)]atomic.Uint64
	times   [len(ways)]times
}

// OtherAttr stands in Stats for every attribute that is not served.
const OtherAttr mad.AttrID = 0

// attrs are the attributes with counters of their own; the first entry counts all other
// attributes. All but the first four can be tables.
var attrs = [...]mad.AttrID{
	OtherAttr, sarec.AttrClassPortInfo, sarec.AttrInformInfo, sarec.AttrMultiPathRecord, sarec.AttrNodeRecord,
	sarec.AttrPortInfoRecord, sarec.AttrSLtoVLMappingTableRecord,
	sarec.AttrSwitchInfoRecord, sarec.AttrLinearForwardingTableRecord, sarec.AttrMulticastForwardingTableRecord,
	sarec.AttrSMInfoRecord, sarec.AttrLinkRecord, sarec.AttrGUIDInfoRecord, sarec.AttrServiceRecord,
	sarec.AttrPKeyTableRecord, sarec.AttrPathRecord, sarec.AttrVLArbitrationTableRecord, sarec.AttrMCMemberRecord,
	sarec.AttrInformInfoRecord,
}

var tableAttrs = attrs[4:]

// statuses are all that answers have.
var statuses = [...]mad.Status{
	mad.StatusOK, mad.StatusNoRecords, mad.StatusTooManyRecords, mad.StatusReqInvalid, mad.StatusReqInsufficient,
	mad.StatusNoResources, mad.StatusBadMethodAttr, mad.StatusBadVersion, mad.StatusReqInvalidGID,
	mad.StatusReqDenied,
}

// Drop is the reason for which a datagram was dropped.
type Drop uint8

// Reasons for dropping.
const (
	DropNoRequest        Drop = 1  // not a request to subnet administration
	DropNotMaster        Drop = 2  // this manager is not master, or its first sweep has not ended
	DropBadKey           Drop = 3  // an SM_Key other than 0 and the SA's
	DropUnknownRequester Drop = 4  // no port has the LID it came from
	DropNoRoom           Drop = 5  // too many requests or replies wait
	DropClientFull       Drop = 6  // too many of this client wait
	DropDuplicate        Drop = 7  // the reply to the first copy is being made or sent
	DropTooLate          Drop = 8  // it has waited longer than its client waits for a reply
	DropHandingOver      Drop = 9  // draining: the handover target gets the last changes
	DropUntrusted        Drop = 10 // without the SA_Key, and not what a host needs: view.Trust.Enhanced
	DropSpoofed          Drop = 11 // the SGID of its GRH is not the port's that it came from
	DropTooMany          Drop = 12 // more in a second from one LID than view.Trust.Rate

	answered Drop = 0
)

var drops = [...]string{
	"answered", "no request", "not master", "bad SM_Key", "unknown requester", "no room", "client full", "duplicate",
	"too late", "handing over",
	"untrusted", "spoofed SGID", "rate limit",
}

// String is the reason in a few words.
func (d Drop) String() string { return drops[d] }

// Kind is a kind of answer.
type Kind struct {
	Attr   mad.AttrID // OtherAttr for those not served
	Status mad.Status
}

// Replies are the numbers of answers of each kind, in a fixed order.
func (s *Stats) Replies() iter.Seq2[Kind, uint64] {
	return func(yield func(Kind, uint64) bool) {
		for i, a := range attrs {
			for j, st := range statuses {
				if !yield(Kind{a, st}, s.replies[i][j].Load()) {
					return
				}
			}
		}
	}
}

// Drops are the numbers of datagrams without an answer, in a fixed order.
func (s *Stats) Drops() iter.Seq2[Drop, uint64] {
	return func(yield func(Drop, uint64) bool) {
		for d := DropNoRequest; int(d) < len(drops); d++ {
			if !yield(d, s.drops[d].Load()) {
				return
			}
		}
	}
}

func (s *Stats) reply(a mad.AttrID, st mad.Status) {
	i := max(0, slices.Index(attrs[:], a))
	s.replies[i][slices.Index(statuses[:], st)].Add(1)
}

// Drop counts a datagram that gets no answer.
func (s *Stats) Drop(d Drop) { s.drops[d].Add(1) }

// offended counts a request that gets no answer for a reason that its sender has to answer for, and notes the sender, a
// port with a GUID, 0 if there is none. It reports whether the log has room for it.
func (s *Stats) offended(in *mad.Datagram, d Drop, port mad.GUID) (logged bool) {
	s.Drop(d)
	return s.Offenders.add(in, d, port)
}
