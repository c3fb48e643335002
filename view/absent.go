package view

import (
	"ibsm/mad"
)

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
