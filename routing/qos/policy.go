package qos

import (
	"cmp"
	"slices"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Policy is the meaning of a qos-policy.conf. It is immutable.
type Policy struct {
	Groups []Group // those of port-groups, in the order of the file
	Levels []Level // those of qos-levels, in the order of the file
	// Rules are those of qos-match-rules in the order of the file, and then those of qos-ulps.
	// The first that matches a request decides.
	Rules []Rule
	// Default is the level of requests that no rule matches.
	Default *Level
}

// Group is a set of ports: those that any of its lists names.
type Group struct {
	Name       string
	GUIDs      Ranges // of ports
	Names      []PortName
	PKeys      Ranges // members of these partitions, without the membership bit
	Partitions []Word // members of these partitions, by name
	Types      NodeTypes
	Self       bool // the port that the manager runs at
	Position   diag.Position
}

// NodeTypes is a set of types of node, by bit.
type NodeTypes uint8

// Has reports whether a type is in the set.
func (s NodeTypes) Has(t mad.NodeType) bool { return s>>t&1 != 0 }

// PortName names a port by the NodeDescription and the port number, 1 to 255. A port of a
// switch stands for the switch.
type PortName struct {
	Node     string
	Port     uint8
	Position diag.Position
}

// Word is a word of the file and where it stands.
type Word struct {
	Text     string
	Position diag.Position
}

// Level is what a path may be.
type Level struct {
	Name       string // "" for that of a line of qos-ulps
	Use        string // a description
	SL         uint8  // 0..15
	MTU        mad.MTU
	Rate       mad.Rate
	PacketLife LifeTime
	PathBits   Ranges // offsets of source LIDs from the base LID; none for any
	PKeys      Ranges // without the membership bit; none for any
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
	Sources      []*Group
	Destinations []*Group
	Classes      Ranges // QoSClass; none: whatever it is. So are the next two.
	ServiceIDs   Ranges
	PKeys        Ranges // without the membership bit
	Level        *Level
	IPoIB        bool // a line ipoib of qos-ulps
	Position     diag.Position
}

// Range is a range of numbers, both ends included.
type Range struct{ From, To uint64 }

// Ranges are ranges in ascending order, no two of which touch.
type Ranges []Range

// Has reports whether a number is in one of the ranges.
func (r Ranges) Has(n uint64) bool {
	_, found := slices.BinarySearchFunc(r, n, func(r Range, n uint64) int {
		switch {
		case r.To < n:
			return -1
		case r.From > n:
			return 1
		}
		return 0
	})
	return found
}

// join sorts ranges and joins those that touch. It changes r.
func join(r Ranges) Ranges {
	slices.SortFunc(r, func(a, b Range) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	joined := r[:0]
	for _, next := range r {
		if last := len(joined) - 1; last >= 0 && (next.From <= joined[last].To || next.From-1 == joined[last].To) {
			joined[last].To = max(joined[last].To, next.To)
		} else {
			joined = append(joined, next)
		}
	}
	return joined
}
