package routing

import (
	"bytes"

	"ibsm/mad"
	"ibsm/topo"
)

// Forwarding is how the switches of a subnet forward by tables. It is what proofs of tables
// start from, and immutable: the rows of the tables must not be written any more.
type Forwarding struct {
	Rows   [][]uint8 // by SwitchIdx, up to Top: entries above it count as missing, as they do in a switch
	Tracer *Tracer
	homes  []home // by LID
}

// home is where packets to a LID leave the switches.
type home struct {
	owned bool           // by anybody
	at    topo.SwitchIdx // None without a switch
	port  uint8          // of it; 0 for the switch itself
}

// NewForwarding is that of tables.
func NewForwarding(t *topo.Topo, l *topo.LIDs, tables *Tables) *Forwarding {
	f := &Forwarding{Rows: make([][]uint8, len(t.Switches)), Tracer: NewTracer(t, l), homes: make([]home, len(l.Owner))}
	for s, row := range tables.LFT {
		f.Rows[s] = row[:min(len(row), int(tables.Top)+1)]
	}
	for lid, p := range l.Owner {
		f.homes[lid] = homeOf(t, p)
	}
	return f
}

// Home is the switch at which packets to an end port leave the switches, and by which port: 0 for
// the switch itself. It is None for no port, and for one at no switch.
func Home(t *topo.Topo, p topo.PortIdx) (at topo.SwitchIdx, port uint8) {
	h := homeOf(t, p)
	return h.at, h.port
}

func homeOf(t *topo.Topo, p topo.PortIdx) home {
	if p == topo.None {
		return home{at: topo.None}
	}
	h := home{owned: true, at: t.SwitchOf(p)}
	if peer := t.Ports[p].Peer; h.at != topo.None && t.Nodes[t.Ports[p].Node].Switch == topo.None {
		h.port = t.Ports[peer].Num
	}
	return h
}

// Home is the switch at which packets to a LID leave the switches: None if nobody owns the LID,
// or its owner is at no switch.
func (f *Forwarding) Home(lid mad.LID) topo.SwitchIdx { return f.homeOf(int(lid)).at }

func (f *Forwarding) homeOf(lid int) home {
	if lid >= len(f.homes) {
		return home{at: topo.None}
	}
	return f.homes[lid]
}

// Blocks is the number of blocks up to the last LID owned or routed.
func (f *Forwarding) Blocks() int {
	length := len(f.homes)
	for _, row := range f.Rows {
		length = max(length, len(row))
	}
	return (length + BlockSize - 1) / BlockSize
}

// Changed are the LIDs of which any route may have changed since. The routes to a LID are what
// they were when each switch has the same entry for it, the ports by which packets come from
// switch to switch lead where they led, and the LID is still at the same port of the same
// switch. Switches count by their numbers: it does not matter who they are. All LIDs have
// changed when was is nil or has another number of switches.
func (f *Forwarding) Changed(was *Forwarding) LIDSet {
	changed := make(LIDSet, f.Blocks())
	if !f.Changes(was, changed.Add, func(_ topo.SwitchIdx, lid int) { changed.Add(lid) }) {
		for block := range changed {
			changed[block] = WholeBlock
		}
	}
	return changed
}

// Changes calls moved for each LID that is not any more at the port of the switch where it was, and entry for each
// entry of a switch that is not what it was, or whose port leads to another switch or to none since.
// It reports false and calls neither when was is nil or has another number of switches.
func (f *Forwarding) Changes(was *Forwarding, moved func(lid int), entry func(s topo.SwitchIdx, lid int)) bool {
	if was == nil || len(was.Rows) != len(f.Rows) {
		return false
	}
	blocks := f.Blocks()
	for lid := range blocks * BlockSize {
		if was.homeOf(lid) != f.homeOf(lid) {
			moved(lid)
		}
	}
	for i, row := range f.Rows {
		s := topo.SwitchIdx(i)
		unequal(blocks, was.Rows[s], row, func(lid int) { entry(s, lid) })
		var turned [256]bool
		turns := false
		f.Tracer.Turns(was.Tracer, s, func(port uint8) { turned[port], turns = true, true })
		for lid := 0; turns && lid < len(row); lid++ {
			if turned[row[lid]] {
				entry(s, lid)
			}
		}
	}
	return true
}

// unequal calls do for the LIDs of so many blocks for which two rows of a switch have different entries.
func unequal(blocks int, was, is []uint8, do func(lid int)) {
	if len(was) == len(is) && (len(is) == 0 || &was[0] == &is[0]) {
		return
	}
	for block := range blocks {
		first := block * BlockSize
		if bytes.Equal(part(was, first), part(is, first)) {
			continue
		}
		for lid := first; lid < first+BlockSize; lid++ {
			if rowEntry(was, lid) != rowEntry(is, lid) {
				do(lid)
			}
		}
	}
}

// LIDSet is a set of LIDs: a word for each block of LIDs, a bit for each LID.
type LIDSet []uint64

// Add adds a LID, which must be in one of the set's blocks.
func (l LIDSet) Add(lid int) { l[lid/BlockSize] |= 1 << (lid % BlockSize) }

// Union adds the LIDs of another set with as many blocks.
func (l LIDSet) Union(o LIDSet) {
	for block, word := range o {
		l[block] |= word
	}
}

// Has reports whether a LID of the set's blocks is in it.
func (l LIDSet) Has(lid int) bool { return l[lid/BlockSize]>>(lid%BlockSize)&1 != 0 }

// Empty reports whether no LID is in it.
func (l LIDSet) Empty() bool {
	for _, word := range l {
		if word != 0 {
			return false
		}
	}
	return true
}

// part is what a row has of the block that begins with a LID.
func part(row []uint8, first int) []uint8 {
	return row[min(first, len(row)):min(first+BlockSize, len(row))]
}

func rowEntry(row []uint8, lid int) uint8 {
	if lid >= len(row) {
		return NoPath
	}
	return row[lid]
}
