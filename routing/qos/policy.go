package qos

import (
	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/mad"
	"ibsm/routing/portgroups"
)

// Policy is the meaning of a qos-policy.conf. It is immutable.
type Policy struct {
	Groups []*portgroups.Group // those of port-groups, in the order of the file
	Levels []Level             // those of qos-levels, in the order of the file
	// Rules are those of qos-match-rules in the order of the file, and then those of qos-ulps.
	// The first that matches a request decides.
	Rules []Rule
	// Default is the level of requests that no rule matches.
	Default *Level
}

// Level is what a path may be.
type Level struct {
	Name       string // "" for that of a line of qos-ulps
	Use        string // a description
	SL         uint8  // 0..15
	MTU        mad.MTU
	Rate       mad.Rate
	PacketLife LifeTime
	PathBits   policyfile.Ranges // offsets of source LIDs from the base LID; none for any
	PKeys      policyfile.Ranges // without the membership bit; none for any
	Position   diag.Position
}

// LifeTime is a PacketLifeTime or, as its zero value, none. Bit 7 says that there is one.
type LifeTime uint8

const hasLifeTime LifeTime = 0x80

// Or is the lifetime, 4.096 us x 2^n, or another one where there is none.
func (l LifeTime) Or(other uint8) uint8 {
	if l == 0 {
		return other
	}
	return uint8(l &^ hasLifeTime)
}

// Rule gives a level to the requests that have everything it asks for.
type Rule struct {
	Use          string // a description; of a line of qos-ulps the line without its SL
	Sources      []*portgroups.Group
	Destinations []*portgroups.Group
	Classes      policyfile.Ranges // QoSClass; none: whatever it is. So are the next two.
	ServiceIDs   policyfile.Ranges
	PKeys        policyfile.Ranges // without the membership bit
	Level        *Level
	IPoIB        bool // a line ipoib of qos-ulps
	Position     diag.Position
}
