package device

import (
	"cmp"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/topo"
)

// Record is the known state of the devices of a subnet, by GUID because indexes change. The values of PortInfo,
// SwitchInfo and P_Key tables are in the Topo; the Record has their states, and so says which of them a walk must
// not take over. One goroutine owns it; a task reads a Snapshot.
type Record struct {
	Switches    []Switch         // ascending GUID
	Ports       *Ports           // as the last walk found them; not written
	Unsupported Unsupported      // what devices do not hold of their PortInfo and the like
	Optional    Optional         // what they do not take of what a subnet can do without
	states      map[Place]states // of blocks of which the Topo has the value, where some is not Known
	// nodes of which all ports may be other than the Topo says, and the walk during or after which that was found
	dirty  map[Place]int
	checks map[mad.AttrID][]Block // written by Sets that took more than one attempt, and not read since
	walks  int                    // walks that have begun
	heard  int                    // the latest of them that heard everybody well
	before map[mad.GUID]paused    // what Pause has kept, until WalkEnds
}

// NewRecord returns an empty Record.
func NewRecord() *Record { return &Record{Unsupported: Unsupported{}, Optional: NewOptional()} }

// Switch is the known state of the forwarding tables of a switch.
type Switch struct {
	GUID mad.GUID
	LFT  *Blocks
	Top  mad.LID // LinearFDBTop as it was read or acknowledged last, where LFT is not nil
	Up   PortSet // ports that the last walk found ARMED or ACTIVE
	MFT  *MFT    // nil for one that was never looked at
	// Multicast is what the multicast table may hold, where MFT is nil.
	Multicast Contents
	// Row is the linear forwarding table that was computed last, nil before there was one,
	// and Failed counts the sweeps in a row after which the switch did not hold it.
	Row    []uint8
	Failed uint8
	held   []byte // what the walk found, as long as the switch may hold that in place of Row
}

// paused is what a switch may have held when Pause was called: in each block one of both.
type paused struct{ target, held []byte }

// PortSet has a bit for each port of a switch.
type PortSet [4]uint64

// Add puts a port in.
func (s *PortSet) Add(num uint8) { s[num/64] |= 1 << (num % 64) }

// Empty reports whether no port is in it.
func (s *PortSet) Empty() bool { return *s == PortSet{} }

func (s *PortSet) meets(o *PortSet) bool {
	return s[0]&o[0]|s[1]&o[1]|s[2]&o[2]|s[3]&o[3] != 0
}

// PortsUp are the external ports of a switch that are ARMED or ACTIVE.
func PortsUp(t *topo.Topo, n topo.NodeIdx) (up PortSet) {
	for num := uint8(1); num <= t.Nodes[n].NumPorts; num++ {
		if p := &t.Ports[t.Port(n, num)]; p.Seen && p.Info.PortState() >= smp.PortArmed {
			up.Add(num)
		}
	}
	return up
}

// Walked is what a walk has found out about a switch.
type Walked struct {
	Switch
	Read   bool    // its LFT was read
	Lost   bool    // its tables are lost, or may be, or it was not known before
	Target *Blocks // the target LFT; nil to leave it alone
}

// Walked is the known state of a switch after a walk has read its LinearFDBTop, the states of its ports and, if read is
// not nil, its table. The tables are lost if LinearFDBTop differs from the written value, or is 0 as after power-up, or
// if none of the ports that the last walk found in use still is. Ports that were armed since do not count: a switch may
// have rebooted after that walk and been armed by its plan. They may be lost if replaced says that the switch is where
// another one was, whose tables it may have got. A switch in use may have tables of another manager.
func (r *Record) Walked(guid mad.GUID, top mad.LID, up PortSet, read *Blocks, replaced bool) Walked {
	w := Walked{Switch: Switch{GUID: guid}, Read: read != nil, Lost: true}
	if was := r.Find(guid); was != nil {
		w.Switch = *was
		w.Lost = !was.Up.Empty() && !was.Up.meets(&up) || was.LFT != nil && (top == 0 || top != was.Top) ||
			replaced
	}
	if w.Lost {
		w.LFT, w.MFT, w.Multicast = nil, nil, contentsOf(top, &up)
	}
	if read != nil {
		w.LFT, w.Top = read, top
	}
	w.Up = up
	return w
}

// Apply applies the result of a task that had a Snapshot. Blocks that have become unknown since
// stay unknown.
func (r *Record) Apply(walked []Walked, ports *Ports, unsupported Unsupported) {
	switches := make([]Switch, len(walked))
	for i := range walked {
		w := &walked[i]
		if was := r.Find(w.GUID); was != nil {
			if !w.Read && !w.Lost {
				w.LFT = was.LFT
			}
			if !w.Lost {
				w.MFT, w.Multicast = was.MFT, was.Multicast
			}
		}
		w.held = w.LFT.Row()
		if w.Target.Complete() {
			w.LFT = w.Target.Follow(w.LFT)
		}
		switches[i] = w.Switch
	}
	r.Switches, r.Ports, r.Unsupported = switches, ports, unsupported
}

// Snapshot is the record of the switches as it is now, for a task. Multicast tables are not
// in it.
func (r *Record) Snapshot() *Record {
	c := &Record{
		Switches: slices.Clone(r.Switches), Ports: r.Ports, Unsupported: r.Unsupported.Clone(),
		Optional: r.Optional.Clone(), before: r.before,
		states: r.snapshotStates(), walks: r.walks,
	}
	tables := make([]Blocks, len(c.Switches))
	for i := range c.Switches {
		sw := &c.Switches[i]
		if sw.MFT = nil; sw.LFT != nil {
			tables[i] = sw.LFT.Snapshot()
			sw.LFT = &tables[i]
		}
	}
	return c
}

// SnapshotMulticast adds the multicast tables of r to a Snapshot of it.
func (r *Record) SnapshotMulticast(c *Record) {
	for i := range c.Switches {
		if sw := r.Find(c.Switches[i].GUID); sw != nil && sw.MFT != nil {
			c.Switches[i].MFT = sw.MFT.Snapshot()
		}
	}
}

// Find is what is known of a switch, nil for nothing.
func (r *Record) Find(guid mad.GUID) *Switch {
	i, ok := slices.BinarySearchFunc(r.Switches, guid, func(sw Switch, g mad.GUID) int {
		return cmp.Compare(sw.GUID, g)
	})
	if !ok {
		return nil
	}
	return &r.Switches[i]
}

// Top is the LinearFDBTop of a switch whose table is known whole.
func (r *Record) Top(guid mad.GUID) (mad.LID, bool) {
	if sw := r.Find(guid); sw != nil && sw.LFT.Complete() {
		return sw.Top, true
	}
	return 0, false
}

// InUse reports whether a switch, of which these ports are ARMED or ACTIVE, is known to
// hold its table and has been in use since the last walk, as far as can be seen.
func (r *Record) InUse(guid mad.GUID, top mad.LID, up PortSet) bool {
	sw := r.Find(guid)
	return sw != nil && sw.LFT.Complete() && top != 0 && top == sw.Top && (sw.Up.Empty() || sw.Up.meets(&up))
}

// Place is where the blocks of an attribute lie. Port is 0 for the node as a whole.
type Place struct {
	Attr mad.AttrID
	Node mad.GUID
	Port uint8
}

// Block is one of them.
type Block struct {
	Place
	Index uint16
}

// MarkDirty has the next walk read an attribute of all ports of a node.
func (r *Record) MarkDirty(p Place) {
	if r.dirty == nil {
		r.dirty = map[Place]int{}
	}
	r.dirty[p] = r.walks
}

// Dirty reports whether it has to.
func (r *Record) Dirty(p Place) bool {
	_, dirty := r.dirty[p]
	return dirty
}

// WalkBegins must be called before a walk, and WalkEnds after the sweep of that walk, which has
// read what was dirty before it.
func (r *Record) WalkBegins() { r.walks++ }

// WalkHeard must be called when the walk that began last has heard everybody well.
func (r *Record) WalkHeard() { r.heard = r.walks }

// WalkEnds clears the marks of blocks that were dirty before the walk.
func (r *Record) WalkEnds() {
	maps.DeleteFunc(r.dirty, func(_ Place, walk int) bool { return walk < r.walks })
	r.before = nil
	for i := range r.Switches {
		if sw := &r.Switches[i]; sw.LFT.Complete() {
			sw.held = nil
		}
	}
}

// ForeignMaster forgets what another manager may write. What devices do not support, or do not take, stays.
func (r *Record) ForeignMaster() {
	*r = Record{walks: r.walks, Unsupported: r.Unsupported, Optional: r.Optional}
}

// Pause is ForeignMaster where it is likely that no other manager has written anything. The linear
// forwarding tables are read again; of blocks that are not answered Before has what they held.
func (r *Record) Pause() {
	before := map[mad.GUID]paused{}
	maps.Copy(before, r.before) // which a task may read
	for i := range r.Switches {
		if sw := &r.Switches[i]; sw.Row != nil {
			before[sw.GUID] = paused{sw.Row, sw.held}
		}
	}
	r.ForeignMaster()
	r.before = before
}

// Before is the target linear forwarding table of a switch before Pause; nil if that is not
// known, or the switch was read since. It must not be written.
func (r *Record) Before(guid mad.GUID) []byte { return r.before[guid].target }

// HeldBefore reports whether a switch can have held a linear forwarding table before Pause, whatever was written by
// then. It can where Before is nil.
func (r *Record) HeldBefore(guid mad.GUID, row []byte) bool {
	was := r.before[guid]
	for b := 0; was.target != nil && b < max(len(row), len(was.target)); b += BlockSize {
		if now := blockAt(row, b); now != blockAt(was.target, b) && (was.held == nil || now != blockAt(was.held, b)) {
			return false
		}
	}
	return true
}

// blockAt is the block of a linear forwarding table that begins with a LID; without ports beyond its end.
func blockAt(row []byte, lid int) (block Data) {
	if lid < len(row) {
		copy(block[:], row[lid:])
		return block
	}
	for i := range block {
		block[i] = routing.NoPath
	}
	return block
}

// ForgetMulticast forgets the contents of multicast tables, as after a power-up of the switches.
func (r *Record) ForgetMulticast() {
	for i := range r.Switches {
		r.Switches[i].MFT, r.Switches[i].Multicast = nil, Anything
	}
	r.Checked(smp.AttrMulticastForwardingTable)
}

// maxChecks bounds the blocks of an attribute that are remembered for a check. If more packets are
// lost, stale blocks are the smaller problem.
const maxChecks = 1 << 16

// Check has a block read again: its Set took more than one attempt, and the first may
// arrive when another has been acknowledged since.
func (r *Record) Check(b Block) {
	if r.checks == nil {
		r.checks = map[mad.AttrID][]Block{}
	}
	if len(r.checks[b.Attr]) < maxChecks {
		r.checks[b.Attr] = append(r.checks[b.Attr], b)
	}
}

// Checks are the blocks of an attribute that have to be read again, until Checked.
func (r *Record) Checks(attr mad.AttrID) []Block { return r.checks[attr] }

// Checked says that they have been read.
func (r *Record) Checked(attr mad.AttrID) { delete(r.checks, attr) }
