package routing

import (
	"bytes"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// SLs are the SLs that an engine gives to paths, and the lanes that they need. They are immutable. Paths
// between LIDs of one row and one column have one SL, so that engines which choose by switch need no
// more than that.
type SLs struct {
	From  []int32   // by source LID: a row; negative for a LID that sends nothing
	To    []int32   // by destination LID: a column; negative for a LID that nothing is sent to
	Rows  [][]uint8 // by column
	Count int       // 1 + the highest SL in Rows
	// Hint is the bits of an SL that are not the engine's: they are those of the SL that the path would
	// have without it.
	Hint uint8
	// Maps are the SL to VL mapping tables that the SLs need; nil if each SL needs the VL of its
	// number.
	Maps *Maps
}

// NewSLs are SLs, which NewSLs keeps; all must be less than 16.
func NewSLs(from, to []int32, rows [][]uint8) *SLs {
	s := &SLs{From: from, To: to, Rows: rows, Count: 1}
	for _, row := range rows {
		for _, sl := range row {
			s.Count = max(s.Count, int(sl)+1)
		}
	}
	return s
}

// SLsBySwitch are SLs that depend on the switches of both ends. rows are by source and destination
// switch; SLsBySwitch keeps them.
func SLsBySwitch(t *topo.Topo, l *topo.LIDs, rows [][]uint8) *SLs {
	at := make([]int32, len(l.Owner))
	for lid, p := range l.Owner {
		s, _ := Home(t, p)
		at[lid] = int32(s)
	}
	return NewSLs(at, at, rows)
}

// Of is the SL of a path whose hint is 0. Nil SLs give 0 to all paths, and so do others to LIDs that they do not know.
func (s *SLs) Of(from, to mad.LID) uint8 {
	if s == nil || int(from) >= len(s.From) || int(to) >= len(s.To) || s.From[from] < 0 || s.To[to] < 0 {
		return 0
	}
	return s.Rows[s.From[from]][s.To[to]]
}

// For is the SL of a path that would have hint without an engine.
func (s *SLs) For(from, to mad.LID, hint uint8) uint8 {
	if s == nil {
		return hint
	}
	return s.Of(from, to) | hint&s.Hint
}

// Lanes are the SL to VL mapping tables that SLs need, nil if each SL needs the VL of its number.
func (s *SLs) Lanes() *Maps {
	if s == nil {
		return nil
	}
	return s.Maps
}

// Equal reports whether both give every path the same SL and lanes, for the same rows and columns.
func (s *SLs) Equal(o *SLs) bool {
	if s == nil || o == nil || s == o {
		return s == o
	}
	return s.Hint == o.Hint && s.Maps.Equal(o.Maps) && slices.Equal(s.From, o.From) && slices.Equal(s.To, o.To) &&
		slices.EqualFunc(s.Rows, o.Rows, bytes.Equal)
}
