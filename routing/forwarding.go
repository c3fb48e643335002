package routing

import (
	"bytes"
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// Forwarding is how the switches of a subnet forward by tables. It is what proofs of tables
// start from, and immutable: the rows of the tables must not be written any more.
type Forwarding struct {
	Switches []mad.GUID // by SwitchIdx
	Rows     [][]uint8  // by SwitchIdx, up to Top: entries above it count as missing, as they do in a switch
	Tracer   *Tracer
	homes    []home // by LID
	added    []bool // by SwitchIdx, of what By returns: switches that there were not
	// by the number that a switch had before, of what By returns: that of now; nil for the same
	to       []topo.SwitchIdx
	compared []comparison // by SwitchIdx: the last one of its row; nil unless they are kept
}

// comparison is where two rows differ.
type comparison struct {
	rows [2][]uint8
	lids []int32
}

// maxCompared is in how many entries rows may differ that are not compared again.
const maxCompared = 1024

// switches are the GUIDs of the switches of a subnet.
func switches(t *topo.Topo) []mad.GUID {
	guids := make([]mad.GUID, len(t.Switches))
	for s, n := range t.Switches {
		guids[s] = t.Nodes[n].GUID
	}
	return guids
}

// home is where packets to a LID leave the switches.
type home struct {
	owned bool           // by anybody
	at    topo.SwitchIdx // None without a switch
	port  uint8          // of it; 0 for the switch itself
}

// NewForwarding is that of tables.
func NewForwarding(t *topo.Topo, l *topo.LIDs, tables *Tables) *Forwarding {
	f := &Forwarding{Rows: make([][]uint8, len(t.Switches)), Tracer: NewTracer(t, l), homes: make([]home, len(l.Owner)),
		Switches: switches(t)}
	for s, row := range tables.LFT {
		f.Rows[s] = row[:min(len(row), int(tables.Top)+1)]
	}
	for lid, p := range l.Owner {
		f.homes[lid] = homeOf(t, p)
	}
	return f
}

// KeepComparisons has a Forwarding keep where its rows differ from others: several proofs compare the same ones. Until
// DropComparisons, only one goroutine may compare it.
func (f *Forwarding) KeepComparisons() { f.compared = make([]comparison, len(f.Rows)) }

// DropComparisons forgets them, and lets go of the other rows.
func (f *Forwarding) DropComparisons() { f.compared = nil }

// With is how the same switches forward by other rows up to top.
func (f *Forwarding) With(rows [][]uint8, top mad.LID) *Forwarding {
	with := *f
	with.Rows = make([][]uint8, len(rows))
	for s, row := range rows {
		with.Rows[s] = row[:min(len(row), int(top)+1)]
	}
	return &with
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

// By is the same forwarding with the switches numbered as in another subnet, which may have lost some and got others:
// the forwarding itself where they have the same numbers. A switch that it does not have has no row and no way out; one
// that is lost comes after all of the other subnet. It is nil where fewer than half of the switches of the other subnet
// are known. f may be nil.
func (f *Forwarding) By(t *topo.Topo) *Forwarding { return f.by(switches(t)) }

// by is By for the GUIDs of the switches.
func (f *Forwarding) by(guids []mad.GUID) *Forwarding {
	if f == nil {
		return nil
	}
	to, known := numbers(f.Switches, guids)
	if to == nil {
		return f
	}
	if known*2 < len(guids) {
		return nil
	}
	by := &Forwarding{to: to, Rows: make([][]uint8, len(guids)+len(to)-known),
		Tracer: f.Tracer.renumbered(to, len(guids)+len(to)-known), homes: make([]home, len(f.homes)), Switches: guids}
	by.added = slices.Repeat([]bool{true}, len(guids))
	for s, is := range to {
		if by.Rows[is] = f.Rows[s]; int(is) < len(by.added) {
			by.added[is] = false
		}
	}
	for lid, h := range f.homes {
		if h.at != topo.None {
			h.at = to[h.at]
		}
		by.homes[lid] = h
	}
	return by
}

// numbers are those of the switches of one subnet in another, and how many are in both; lost ones come after all
// others. They are nil where all have the number that they had.
func numbers(was, is []mad.GUID) (to []topo.SwitchIdx, known int) {
	if slices.Equal(was, is) {
		return nil, len(is)
	}
	to = make([]topo.SwitchIdx, len(was))
	at, lost := 0, topo.SwitchIdx(len(is))
	for s, guid := range was {
		for at < len(is) && is[at] < guid {
			at++
		}
		if at < len(is) && is[at] == guid {
			to[s] = topo.SwitchIdx(at)
			known++
		} else {
			to[s] = lost
			lost++
		}
	}
	return to, known
}

// Links is how many links packets to a LID pass from a switch; false where they do not arrive.
func (f *Forwarding) Links(s topo.SwitchIdx, lid int) (links int, arrive bool) {
	home := f.homeOf(lid)
	for range MaxTrace {
		if s == topo.None || lid >= len(f.Rows[s]) {
			return 0, false
		}
		port := f.Rows[s][lid]
		if s == home.at {
			if port != 0 {
				links++
			}
			return links, port == home.port
		}
		s = f.Tracer.Next(s, port)
		links++
	}
	return 0, false
}

// Changed are the LIDs of which any route may have changed since. The routes to a LID are what
// they were when each switch has the same entry for it, the ports by which packets come from
// switch to switch lead where they led, and the LID is still at the same port of the same
// switch. All LIDs have changed when was is nil or knows few of the switches.
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
// entry of a switch that is not what it was, or whose port leads to another switch or to none since. All entries of a
// switch that was not there are others. It reports false and calls neither when was is nil or knows few of the
// switches.
func (f *Forwarding) Changes(was *Forwarding, moved func(lid int), entry func(s topo.SwitchIdx, lid int)) bool {
	was = was.by(f.Switches)
	if was == nil {
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
		if was.Added(s) {
			for lid := range blocks * BlockSize {
				if f.homeOf(lid).owned || rowEntry(row, lid) != NoPath {
					entry(s, lid)
				}
			}
			continue
		}
		f.unequal(s, part(was.Rows[s], 0, blocks*BlockSize), row, func(lid int) { entry(s, lid) })
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

// Entry is one of a switch.
type Entry struct {
	Switch topo.SwitchIdx
	LID    int
}

// Compare orders entries by LID, then by switch.
func (e Entry) Compare(o Entry) int { return cmp.Or(e.LID-o.LID, int(e.Switch-o.Switch)) }

// FewChanges is Changes where it is cheaper to look at each entry than to follow routes: entries are those of LIDs that
// have few others, in order of LID and switch, and follow are the LIDs that have moved or have more. known is false
// where Changes reports false.
func (f *Forwarding) FewChanges(was *Forwarding) (entries []Entry, follow LIDSet, known bool) {
	follow = make(LIDSet, f.Blocks())
	few := uint16(8 + len(f.Rows)/64) // routes from all switches cost about as much
	count := make([]uint16, len(follow)*BlockSize)
	known = f.Changes(was, follow.Add, func(s topo.SwitchIdx, lid int) {
		switch {
		case follow.Has(lid):
		case count[lid] == few:
			follow.Add(lid)
		default:
			count[lid]++
			entries = append(entries, Entry{s, lid})
		}
	})
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return follow.Has(e.LID) })
	slices.SortFunc(entries, Entry.Compare)
	return slices.Compact(entries), follow, known
}

// Now is the number, in what By returned, of a switch that had one before; numbers from that of the switches on are of
// lost ones.
func (f *Forwarding) Now(s topo.SwitchIdx) topo.SwitchIdx {
	if f.to == nil || s == topo.None {
		return s
	}
	return f.to[s]
}

// Added reports whether what By returned has a switch only because the other subnet has it.
func (f *Forwarding) Added(s topo.SwitchIdx) bool { return f.added != nil && f.added[s] }

// unequal is Unequal for two rows of a switch, which are not read again where they were compared last.
func (f *Forwarding) unequal(s topo.SwitchIdx, was, is []uint8, do func(lid int)) {
	if f.compared == nil || SameRow(was, is) {
		Unequal(was, is, do)
		return
	}
	last := &f.compared[s]
	a, b := last.rows[0], last.rows[1]
	if SameRow(a, was) && SameRow(b, is) || SameRow(a, is) && SameRow(b, was) {
		for _, lid := range last.lids {
			do(int(lid))
		}
		return
	}
	var lids []int32
	Unequal(was, is, func(lid int) {
		if len(lids) <= maxCompared {
			lids = append(lids, int32(lid))
		}
		do(lid)
	})
	if len(lids) <= maxCompared {
		*last = comparison{[2][]uint8{was, is}, lids}
	}
}

// Differs reports whether a switch forwards otherwise by another row.
func (f *Forwarding) Differs(s topo.SwitchIdx, row []uint8) (differs bool) {
	f.unequal(s, row, f.Rows[s], func(int) { differs = true })
	return differs
}

// SameRow reports whether two rows are one, in one place of memory.
func SameRow(a, b []uint8) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Unequal calls do for the LIDs for which two rows of a switch have different entries. A row has NoPath beyond its end.
func Unequal(was, is []uint8, do func(lid int)) {
	if SameRow(was, is) {
		return
	}
	const step = 16 * BlockSize // most rows that differ do so in few places
	for end, first := max(len(was), len(is)), 0; first < end; first += step {
		if bytes.Equal(part(was, first, step), part(is, first, step)) {
			continue
		}
		for block := first; block < min(first+step, end); block += BlockSize {
			if bytes.Equal(part(was, block, BlockSize), part(is, block, BlockSize)) {
				continue
			}
			for lid := block; lid < min(block+BlockSize, end); lid++ {
				if rowEntry(was, lid) != rowEntry(is, lid) {
					do(lid)
				}
			}
		}
	}
}

// LIDSet is a set of LIDs: a word for each block of LIDs, a bit for each LID.
type LIDSet []uint64

// Add adds a LID, which must be in one of the set's blocks.
func (l LIDSet) Add(lid int) { l[lid/BlockSize] |= 1 << (lid % BlockSize) }

// Remove takes a LID out, which must be in one of the set's blocks.
func (l LIDSet) Remove(lid int) { l[lid/BlockSize] &^= 1 << (lid % BlockSize) }

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

// part is what a row has of so many LIDs from one on.
func part(row []uint8, first, count int) []uint8 {
	return row[min(first, len(row)):min(first+count, len(row))]
}

func rowEntry(row []uint8, lid int) uint8 {
	if lid >= len(row) {
		return NoPath
	}
	return row[lid]
}
