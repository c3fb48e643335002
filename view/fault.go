package view

import (
	"fmt"

	"ibsm/mad"
)

// Fault is something that the last heavy sweep found to be wrong, or could not bring
// about. It belongs to a port, or with port 0 to a node as a whole.
type Fault struct {
	Kind FaultKind
	Node mad.GUID // 0 for the subnet as a whole
	Port uint8
	Text string // what happened, for a person
}

// FaultKind says what kind of thing is wrong.
type FaultKind uint8

// Kinds of faults.
const (
	NoAnswer     FaultKind = 1  // a Set was not answered
	Refused      FaultKind = 2  // a request was answered with an error, or a Set changed nothing
	NotKept      FaultKind = 3  // values are acknowledged but not kept
	Unrouted     FaultKind = 4  // a switch lacks part of its forwarding table: its links stay in INIT
	Excluded     FaultKind = 5  // a partition table is not as isolation needs it: the port stays in INIT or ARMED
	WentDown     FaultKind = 6  // the link went down while it was programmed
	Unresponsive FaultKind = 7  // nothing answers behind the port, though the link is up
	LeftOut      FaultKind = 8  // what is behind the port cannot be part of the subnet
	Duplicate    FaultKind = 9  // what is behind the port has the GUID of something else
	Looped       FaultKind = 10 // a cable leads back to the same node
	OneSided     FaultKind = 11 // the port has a link, but the port at its other end says it has none
	NoLID        FaultKind = 12 // no LID is left for the port
	NoRoutes     FaultKind = 13 // no routes are written: the text says why
	// PrivateTables is a switch whose forwarding table is not written, because it forwards by
	// private ones.
	PrivateTables FaultKind = 14
	NotAdaptive   FaultKind = 15 // adaptive routing was on at a switch, and is off
	CreditLoop    FaultKind = 16 // packets that leave by the port can wait for each other for ever
	StoppedLane   FaultKind = 17 // packets do not leave by the port, because of its lanes
	HeldBack      FaultKind = 18 // the cable of the port is not used, because the operator wants so
	Unenforced    FaultKind = 19 // the port of a switch does not check P_Keys as the partition file wants
	// GivenUp is an attribute that the port, or a whole node, did not take and is not sent any more.
	GivenUp FaultKind = 20
)

var faultNames = [...]string{
	NoAnswer: "no answer", Refused: "refused", NotKept: "not kept", Unrouted: "table incomplete", Excluded: "P_Keys not written",
	WentDown: "went down", Unresponsive: "nothing answers", LeftOut: "left out", Duplicate: "duplicate GUID", Looped: "loopback",
	OneSided: "one-sided link", NoLID: "no LID", NoRoutes: "no routes", PrivateTables: "private tables", NotAdaptive: "no longer adaptive",
	CreditLoop: "credit loop", StoppedLane: "lane missing", HeldBack: "held back", Unenforced: "no enforcement",
	GivenUp: "given up",
}

// String names the kind in a few words.
func (k FaultKind) String() string {
	if int(k) < len(faultNames) && faultNames[k] != "" {
		return faultNames[k]
	}
	return fmt.Sprintf("fault %d", uint8(k))
}

// LeftLink is a link that an agent had when it left the subnet, which keeps its M_Key.
type LeftLink struct{ Here, Far LinkEnd }

// LinkEnd is a port of a switch, by the node GUID, or another port, by its own GUID.
type LinkEnd struct {
	GUID mad.GUID
	Port uint8
}

// Absent is an end port that is not there, and for which its LIDs are kept.
type Absent struct {
	Port  mad.GUID
	Base  mad.LID
	LMC   uint8
	Since int64 // when it was missed first, in seconds since 1970
}
