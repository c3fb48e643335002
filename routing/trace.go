package routing

import (
	"math"
	"math/bits"

	"ibsm/mad"
	"ibsm/topo"
)

// Fate says what becomes of a packet that starts at a switch towards a LID.
// Arrived+n is delivered after n links, n up to MaxTrace.
type Fate uint8

// Fates. Untraced is that of a LID nobody owns.
const (
	Untraced  Fate = 0
	onPath    Fate = 1
	Loop      Fate = 2 // runs into a loop
	DeadEnd   Fate = 3 // comes to a switch that has no port for it
	Nowhere   Fate = 4 // comes to a port that leads to nobody
	WrongPort Fate = 5 // is delivered to a port that does not own the LID
	TooFar    Fate = 6 // needs more than MaxTrace links
	Arrived   Fate = 8
)

// MaxTrace is the number of links after which a packet counts as lost.
const MaxTrace = math.MaxUint8 - int(Arrived)

// Tracer follows forwarding tables. It is immutable, so safe for concurrent use.
type Tracer struct {
	// lead is where each port of each switch leads, by switch * 256 + port: a switch
	// if it is not negative, leadNowhere, leadNone, or an end port p as leadEnd - p.
	lead  []int32
	owner []topo.PortIdx // by LID
}

const (
	leadNowhere = -1
	leadNone    = -2
	leadEnd     = -3
)

// NewTracer prepares for a subnet.
func NewTracer(t *topo.Topo, l *topo.LIDs) *Tracer {
	tr := &Tracer{lead: make([]int32, 256*len(t.Switches)), owner: l.Owner}
	for s, n := range t.Switches {
		lead := tr.lead[256*s:][:256]
		for num := range lead {
			lead[num] = leadNowhere
		}
		lead[NoPath] = leadNone
		lead[0] = leadEnd - int32(t.Port(n, 0))
		for num := 1; num <= ports(t, n); num++ {
			peer := t.Ports[t.Port(n, uint8(num))].Peer
			if peer == topo.None {
				continue
			}
			lead[num] = leadEnd - int32(peer)
			if r := t.Nodes[t.Ports[peer].Node].Switch; r != topo.None {
				lead[num] = int32(r)
			}
		}
	}
	return tr
}

// renumbered is the Tracer with other numbers of switches, by those that they had, and room for so many. Switches
// without one lead nowhere.
func (tr *Tracer) renumbered(to []topo.SwitchIdx, count int) *Tracer {
	r := &Tracer{lead: make([]int32, 256*count), owner: tr.owner}
	for i := range r.lead {
		r.lead[i] = leadNowhere
	}
	for s, is := range to {
		lead := r.lead[256*int(is):][:256]
		for num, next := range tr.lead[256*s:][:256] {
			if next >= 0 {
				next = int32(to[next])
			}
			lead[num] = next
		}
	}
	return r
}

// Turns calls do for each port of a switch by which packets come to another switch than
// by the same port in the other Tracer, or to none. Both have the switch.
func (tr *Tracer) Turns(other *Tracer, s topo.SwitchIdx, do func(port uint8)) {
	is, was := tr.lead[256*int(s):][:256], other.lead[256*int(s):][:256]
	for port := range is {
		if is[port] != was[port] && (is[port] >= 0 || was[port] >= 0) {
			do(uint8(port))
		}
	}
}

// Next is the switch that a port of a switch leads to, None when it leads to an
// end port or nowhere.
func (tr *Tracer) Next(s topo.SwitchIdx, port uint8) topo.SwitchIdx {
	return topo.SwitchIdx(max(tr.lead[int(s)<<8|int(port)], topo.None))
}

// Delivers reports whether a port of a switch leads to the owner of a LID.
func (tr *Tracer) Delivers(s topo.SwitchIdx, port uint8, lid mad.LID) bool {
	return int(lid) < len(tr.owner) && tr.owner[lid] != topo.None &&
		tr.lead[int(s)<<8|int(port)] == leadEnd-int32(tr.owner[lid])
}

// Trace is the fates of a block of LIDs from every switch, and the scratch space
// to find them, for one goroutine.
type Trace struct {
	fate []Fate // by LID % BlockSize * switches + switch
	path []topo.SwitchIdx
	n    int
}

// NewTrace is a Trace of n switches.
func NewTrace(n int) *Trace {
	return &Trace{fate: make([]Fate, n*BlockSize), path: make([]topo.SwitchIdx, 0, n), n: n}
}

// Fates are those of a LID in the block traced last, by SwitchIdx: all Untraced
// when nobody owns it. The view is good until the next block.
func (t *Trace) Fates(lid mad.LID) []Fate { return t.fate[int(lid)%BlockSize*t.n:][:t.n] }

// WholeBlock is all LIDs of a block.
const WholeBlock = ^uint64(0)

// Block finds the fates of the LIDs of a block that have a bit in of, by the tables in
// rows; a row that is missing or ends before the block has no path. Each switch is passed
// once for each LID, whatever number of routes lead through it. The fates of other LIDs
// mean nothing.
func (tr *Tracer) Block(rows [][]uint8, block int, of uint64, into *Trace) {
	first := block * BlockSize
	for ; of != 0; of &= of - 1 {
		lid := first + bits.TrailingZeros64(of)
		fates := into.Fates(mad.LID(lid))
		clear(fates)
		if lid >= len(tr.owner) || tr.owner[lid] == topo.None {
			continue
		}
		for s, fate := range fates {
			if fate == Untraced {
				tr.follow(rows, topo.SwitchIdx(s), mad.LID(lid), into)
			}
		}
	}
}

// follow goes from a switch to the first one whose fate is known, or to the end,
// and then back again with what it has learned.
func (tr *Tracer) follow(rows [][]uint8, s topo.SwitchIdx, lid mad.LID, into *Trace) {
	path, fates := into.path[:0], into.Fates(lid)
	end := fates[s]
	for end == Untraced {
		fates[s] = onPath
		path = append(path, s)
		next := tr.step(rows[s], s, lid)
		if next < 0 {
			end = fateAt(next, tr.owner[lid])
			if end == Arrived && rows[s][lid] == 0 {
				end-- // the switch itself is no link away
			}
			break
		}
		s = topo.SwitchIdx(next)
		end = fates[s]
	}
	if end == onPath {
		end = Loop
	}
	for i := len(path) - 1; i >= 0; i-- {
		if end >= Arrived-1 {
			if end++; end == 0 {
				end = TooFar
			}
		}
		fates[path[i]] = end
	}
}

func (tr *Tracer) step(row []uint8, s topo.SwitchIdx, lid mad.LID) int32 {
	if int(lid) >= len(row) {
		return leadNone
	}
	return tr.lead[int(s)<<8|int(row[lid])]
}

// fateAt is the fate of a packet that leaves the switches.
func fateAt(lead int32, owner topo.PortIdx) Fate {
	switch lead {
	case leadNone:
		return DeadEnd
	case leadNowhere:
		return Nowhere
	case leadEnd - int32(owner):
		return Arrived
	}
	return WrongPort
}
