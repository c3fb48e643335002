package view

import (
	"ibsm/mad"
	"ibsm/registry"
)

// LeftLink is a link that an agent had when it left the subnet, which keeps its M_Key.
type LeftLink struct{ Here, Far registry.End }

// Absent is an end port that is not there, and for which its LIDs are kept.
type Absent struct {
	Port  mad.GUID
	Base  mad.LID
	LMC   uint8
	Since int64 // when it was missed first, in seconds since 1970
}
