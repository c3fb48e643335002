package device

import (
	"bytes"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// subnet is a small one, each port of which has the default P_Key.
func subnet(t *testing.T) *topo.Topo {
	t.Helper()
	n, err := net.Generate("fattree:k=2,levels=2")
	if err != nil {
		t.Fatal(err)
	}
	top, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range top.EndPorts {
		top.Ports[p].PKeys = topo.NewPKeyTable([]mad.PKey{mad.DefaultPKey})
	}
	return top
}

// What has happened while a task was out counts when it returns.
func TestApply(t *testing.T) {
	r := NewRecord()
	up := PortSet{2}
	read := Read(row(4, 1), nil)
	r.Apply([]Walked{r.Walked(1, 9, up, read, false), r.Walked(2, 9, up, Read(row(4, 1), nil), false),
		r.Walked(3, 9, PortSet{}, nil, false)}, nil, nil)
	if r.Find(1).Multicast != AnotherSM || r.Find(3).Multicast != Anything || r.Find(4) != nil {
		t.Error("tables of switches in use may be another manager's, those of others are lost")
	}
	task := r.Snapshot()
	if !r.Find(1).LFT.Take(2, Contradicted) || !r.Find(2).LFT.Take(3, Contradicted) {
		t.Fatal("nothing to contradict")
	}
	mft := NewMFT(&topo.Node{NumPorts: 4}, Anything)
	r.Find(1).MFT = mft
	kept, lost := task.Walked(1, 9, up, nil, false), task.Walked(2, 8, up, nil, false)
	kept.Target = kept.LFT.Target(row(4, 1))
	if !kept.Target.Complete() || kept.Read || kept.Lost || !lost.Lost {
		t.Fatalf("%+v, %+v", kept, lost)
	}
	r.Apply([]Walked{kept, lost}, nil, nil)
	first, second := r.Find(1), r.Find(2)
	if first.LFT.State(2) != Unknown || first.LFT.State(3) != Known || first.MFT != mft {
		t.Errorf("states %v %v", first.LFT.State(2), first.LFT.State(3))
	}
	if &first.LFT.Row()[0] != &kept.Target.Row()[0] {
		t.Error("equal rows are not shared")
	}
	if second.LFT != nil || second.Multicast != AnotherSM || r.Find(3) != nil {
		t.Errorf("a lost table: %+v, a switch that has gone: %v", second, r.Find(3))
	}
	r.ForeignMaster()
	if r.Find(1) != nil {
		t.Error("another master may have written anything")
	}
}

// TestHeldBefore: what a switch can have held when Pause was called is, in each block, what the walk had found or the
// target.
func TestHeldBefore(t *testing.T) {
	r := NewRecord()
	r.Switches = []Switch{{GUID: 1, LFT: Read(row(2, 1), nil)}}
	walked := []Walked{{Switch: Switch{GUID: 1, Row: row(2, 5)}}}
	r.Apply(walked, nil, Unsupported{})
	r.Pause()
	mixed := append(row(1, 5), row(1, 1)...)
	for _, c := range []struct {
		row  []byte
		want bool
	}{{row(2, 1), true}, {row(2, 5), true}, {mixed, true}, {row(2, 6), false}, {row(1, 5), false}, {row(3, 5), false},
		{append(row(2, 5), bytes.Repeat([]byte{0xff}, BlockSize)...), true}} {
		if got := r.HeldBefore(1, c.row); got != c.want {
			t.Errorf("%v: %v", c.row, got)
		}
	}
	if !r.HeldBefore(2, row(1, 7)) {
		t.Error("a switch that was not known")
	}
}

// TestPause: what another manager may have written has to be read again; what was computed is kept
// for blocks that are not answered, also over a second pause, until a sweep has ended.
func TestPause(t *testing.T) {
	r := NewRecord()
	r.Switches = []Switch{{GUID: 1, Row: row(4, 1), LFT: Read(row(4, 1), nil)}, {GUID: 2}}
	r.Pause()
	r.Pause()
	if r.Find(1) != nil || string(r.Before(1)) != string(row(4, 1)) || r.Before(2) != nil ||
		string(r.Snapshot().Before(1)) != string(row(4, 1)) {
		t.Errorf("%v, before %v and %v", r.Find(1), r.Before(1), r.Before(2))
	}
	r.WalkEnds()
	if r.Before(1) != nil {
		t.Error("kept for longer than needed")
	}
	r.Switches = []Switch{{GUID: 1, Row: row(4, 1)}}
	r.Pause()
	if r.ForeignMaster(); r.Before(1) != nil {
		t.Error("another master has written")
	}
}

// A place is dirty until a walk that began after it was found has ended.
func TestDirty(t *testing.T) {
	r := NewRecord()
	before, during := Place{smp.AttrPKeyTable, 1, 2}, Place{smp.AttrPKeyTable, 1, 3}
	r.MarkDirty(before)
	r.WalkBegins()
	r.MarkDirty(during)
	if !r.Dirty(before) || !r.Dirty(during) || r.Dirty(Place{smp.AttrPortInfo, 1, 2}) {
		t.Error("dirty while the walk goes on")
	}
	r.WalkEnds()
	if r.Dirty(before) || !r.Dirty(during) {
		t.Error("the walk has read what was dirty before, and may have read the rest too early")
	}
	r.WalkBegins()
	r.WalkEnds()
	if r.Dirty(during) {
		t.Error("dirty for ever")
	}
}

// Two sets of ports meet where a port is in both, whichever of the 256 it is.
func TestPortSet(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			var one, other PortSet
			one.Add(uint8(a))
			other.Add(uint8(b))
			if one.meets(&other) != (a == b) || one.Empty() {
				t.Fatalf("%d and %d: meet %t, empty %t", a, b, one.meets(&other), one.Empty())
			}
		}
	}
	var none PortSet
	if !none.Empty() || none.meets(&none) {
		t.Error("the set of no port")
	}
}

// Only what is Known can be contradicted, and of a block only what the device has of it.
func TestContradicts(t *testing.T) {
	top := subnet(t)
	sw := top.Nodes[top.Switches[0]]
	host := top.Self
	r := &Record{Switches: []Switch{{GUID: sw.GUID, LFT: Read(row(2, 1), nil)}}}
	lft, pkeys := Of(smp.AttrLinearForwardingTable), Of(smp.AttrPKeyTable)
	same := [mad.DataSize]byte(row(1, 1))
	other := same
	other[63] = 2
	size := top.Nodes[top.Ports[host].Node].PKeyTableSize(1)
	keys := smp.PKeyTable{}
	keys.SetPKey(0, mad.DefaultPKey)
	beyond := keys
	beyond.SetPKey(size%smp.PKeysPerBlock, 0x8007)
	wrong := keys
	wrong.SetPKey(1, 0x8007)
	for _, c := range []struct {
		name  string
		a     *Attribute
		port  topo.PortIdx
		block uint16
		data  [mad.DataSize]byte
		want  bool
	}{
		{"the same block", lft, sw.First, 1, same, false},
		{"another block", lft, sw.First, 1, other, true},
		{"a block that is not known any more", lft, sw.First, 1, other, false},
		{"a block beyond the table", lft, sw.First, 2, other, false},
		{"a switch that is not known", lft, top.Nodes[top.Switches[1]].First, 0, other, false},
		{"the same P_Keys", pkeys, host, 0, keys, false},
		{"other P_Keys", pkeys, host, 0, wrong, true},
		{"P_Keys beyond the table", pkeys, host, uint16(topo.PKeyBlocks(size)), wrong, false},
		{"a part of the block that the table has not", pkeys, host, 0, beyond, size%smp.PKeysPerBlock == 0},
	} {
		if got := r.Contradicts(c.a, top, c.port, c.block, &c.data); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if r.Holds(Place{smp.AttrPKeyTable, top.Nodes[top.Ports[host].Node].GUID, top.Ports[host].Num}) {
		t.Error("a P_Key table that was contradicted is not read again")
	}
	if Of(smp.AttrNodeInfo) != nil {
		t.Error("NodeInfo has no blocks")
	}
}

// A block of a multicast table that is not Known may have every port that it had or should
// get; what a response or a read shows takes the place of all that.
func TestMFT(t *testing.T) {
	m := NewMFT(&topo.Node{NumPorts: 20}, Anything)
	block := func(b byte) *[mad.DataSize]byte { return &[mad.DataSize]byte{0, b} }
	if m.Positions != 2 || m.Rows() != 0 || m.State(0, 1) != Unknown {
		t.Fatalf("%+v", m)
	}
	m.Take(1, 1, Got, block(1))
	if m.Rows() != 2 || !m.Recorded(1, 1) || m.Recorded(2, 0) || m.State(0, 1) != Unknown || !m.Holds(1, 1, block(1)) {
		t.Error("a block that was read is Known, those before it are not")
	}
	shown := m.Snapshot()
	for _, e := range []Event{Differs, Rejected, TimedOut} {
		m.Take(1, 1, e, block(2))
		if m.State(1, 1) == Known || m.Value(1, 1) != *block(3) {
			t.Errorf("%v: %v %v", e, m.State(1, 1), m.Value(1, 1)[1])
		}
	}
	if ports := m.Ports(mad.MinMulticastLID + 32); !ports.Has(16) || !ports.Has(17) || ports.Len() != 2 {
		t.Errorf("ports %v", ports)
	}
	if m.Take(1, 1, Confirmed, block(4)); !m.Holds(1, 1, block(4)) {
		t.Error("a confirmed block is not Known")
	}
	if !shown.Holds(1, 1, block(1)) {
		t.Error("a snapshot changes")
	}
	if m.Take(1, 1, Confirmed, block(0)); m.values[m.index(1, 1)] != nil || !m.Holds(1, 1, block(0)) {
		t.Error("an empty block takes memory")
	}
	r := NewRecord()
	if r.Judge(m, Refuses) || m.Avoided() || !r.Judge(m, Refuses) || !m.Avoided() || r.Judge(m, Refuses) ||
		!r.Judge(m, Obeyed) || m.Avoided() {
		t.Error("a switch is avoided after two rounds in a row that it refused, until one succeeds")
	}
}

// Sets of a multicast table that get no answer count against the switch only once a walk that began
// after the first of them has heard everybody well.
func TestUnresponsiveMFT(t *testing.T) {
	r := NewRecord()
	r.WalkBegins()
	r.WalkHeard()
	m := NewMFT(&topo.Node{NumPorts: 4}, Anything)
	r.Switches = []Switch{{MFT: m}}
	for range 3 {
		if r.Judge(m, Unresponsive) || m.Avoided() {
			t.Fatal("avoided without a walk")
		}
	}
	if !r.AwaitsWalk() {
		t.Error("no walk is asked for")
	}
	r.WalkBegins()
	if first, second := r.Judge(m, Unresponsive), r.Judge(m, Unresponsive); first || second || r.AwaitsWalk() {
		t.Error("a walk that heard little counts")
	}
	r.WalkBegins()
	r.WalkHeard()
	if first, second := r.Judge(m, Unresponsive), r.Judge(m, Unresponsive); first || second || !r.AwaitsWalk() {
		t.Error("avoided after one walk that heard everybody")
	}
	r.WalkBegins()
	r.WalkHeard()
	if !r.Judge(m, Unresponsive) || !m.Avoided() {
		t.Error("not avoided after two walks that heard everybody")
	}
	r.WalkBegins()
	if r.Judge(m, Unresponsive) || !m.Avoided() || r.AwaitsWalk() {
		t.Error("a switch that is avoided asks for walks")
	}
	if !r.Judge(m, Obeyed) || m.Avoided() || r.Judge(m, Unresponsive) || r.Judge(m, Unresponsive) || !r.AwaitsWalk() {
		t.Error("what was before a round that succeeded counts")
	}
}

// TestReplaced: a switch that is where another one was may have been written to under its GUID, whatever is known of
// its tables.
func TestReplaced(t *testing.T) {
	for _, read := range []*Blocks{nil, Read(row(1, 1), nil), Read(row(1, 1), []int{0})} {
		r := NewRecord()
		up := PortSet{2}
		r.Switches = []Switch{{GUID: 5, LFT: Read(row(1, 1), nil), Top: 9, Up: up, MFT: &MFT{}}}
		if w := r.Walked(5, 9, up, read, true); !w.Lost || w.MFT != nil {
			t.Errorf("%v is read: lost %v, MFT %v", read, w.Lost, w.MFT)
		}
		if w := r.Walked(5, 9, up, read, false); w.Lost || w.MFT == nil {
			t.Errorf("another one, %v is read: lost %v, MFT %v", read, w.Lost, w.MFT)
		}
	}
}
