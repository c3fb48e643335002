package device

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// A block of which the Topo has the value has the same transitions as any other; and its state takes memory only while
// some block of its place is not Known.
func TestStates(t *testing.T) {
	for e := range events {
		for was := range State(4) {
			r := NewRecord()
			b := Block{Place{smp.AttrPKeyTable, 1, 2}, 3}
			other := Block{b.Place, 0}
			r.Take(other, Unread)
			for _, to := range [4][]Event{nil, {TimedOut}, {Sent}, {}}[was] {
				r.Take(b, to)
			}
			if was == Refused {
				continue // no event leads there from Known alone
			}
			if r.State(b) != was {
				t.Fatalf("%v, not %v", r.State(b), was)
			}
			r.Take(b, e)
			if is, want := r.State(b), was.After(e); is != want {
				t.Errorf("%v after %v: %v, not %v", was, e, is, want)
			}
			if r.State(other) != Unknown || r.Holds(b.Place) || !r.Holds(Place{smp.AttrPKeyTable, 1, 3}) {
				t.Errorf("%v after %v changes another block or port", was, e)
			}
			r.Take(b, Got)
			if r.Take(other, Confirmed); len(r.states) > 0 || !r.Holds(b.Place) {
				t.Errorf("states of blocks that are all Known: %v", r.states)
			}
		}
	}
	var none *Record
	if b := (Block{Place{smp.AttrPKeyTable, 1, 2}, 3}); none.State(b) != Known || !none.Holds(b.Place) {
		t.Error("without a record all is Known")
	}
}

// What a walk has read is Known, but for what became unknown after the walk began. A Snapshot stays as it was.
func TestWalkRead(t *testing.T) {
	r := NewRecord()
	before, during := Block{Place{smp.AttrPKeyTable, 1, 2}, 0}, Block{Place{smp.AttrPKeyTable, 1, 3}, 0}
	known := Block{Place{smp.AttrPKeyTable, 1, 4}, 0}
	r.Take(before, TimedOut)
	r.Take(during, TimedOut)
	r.WalkBegins()
	r.Take(during, Contradicted)
	of := r.Snapshot()
	of.WalkRead([]Block{before, during})
	if of.State(before) != Known || of.State(during) != Unknown || r.State(before) != Unknown {
		t.Errorf("in the snapshot %v and %v, in the record %v", of.State(before), of.State(during), r.State(before))
	}
	r.WalkRead([]Block{before, during, known})
	if r.State(before) != Known || r.State(during) != Unknown || r.State(known) != Known {
		t.Errorf("%v, %v, %v", r.State(before), r.State(during), r.State(known))
	}
	r.WalkBegins()
	r.WalkEnds()
	if r.State(during) != Unknown {
		t.Error("a walk that has not read a block makes it known")
	}
	if r.WalkRead([]Block{during}); r.State(during) != Known {
		t.Error("unknown for ever")
	}
}

// TestPruneUnsupported: what nodes that have left do not support is kept until it is too much; of those that are there
// it stays.
func TestPruneUnsupported(t *testing.T) {
	top := subnet(t)
	r := NewRecord()
	here := Place{smp.AttrPortInfo, top.Nodes[0].GUID, 1}
	r.Unsupported.put(here, fields{}, 1)
	for node := mad.GUID(1) << 60; len(r.Unsupported) < maxUnsupported; node++ {
		r.Unsupported.put(Place{smp.AttrPortInfo, node, 1}, fields{}, 1)
	}
	if r.Prune(top); len(r.Unsupported) != maxUnsupported {
		t.Errorf("%d of %d are left", len(r.Unsupported), maxUnsupported)
	}
	r.Unsupported.put(Place{smp.AttrPortInfo, 1 << 59, 1}, fields{}, 1)
	if r.Prune(top); len(r.Unsupported) != 1 || r.Unsupported.Tries(here) != 1 {
		t.Errorf("%d are left, of the node that is there %d tries", len(r.Unsupported), r.Unsupported.Tries(here))
	}
}

// The states of what nodes hold that are gone are forgotten, and all of them when another manager was master.
func TestPrune(t *testing.T) {
	top := subnet(t)
	r := NewRecord()
	here, gone := Block{Place{smp.AttrPKeyTable, top.Nodes[0].GUID, 0}, 0},
		Block{Place{smp.AttrPKeyTable, ^mad.GUID(0), 0}, 0}
	r.Take(here, TimedOut)
	r.Take(gone, TimedOut)
	if r.Prune(top); r.State(here) != Unknown || len(r.states) != 1 || top.FindNode(gone.Node) != topo.None {
		t.Errorf("%v", r.states)
	}
	if r.ForeignMaster(); len(r.states) > 0 {
		t.Error("all is read again: no states are needed")
	}
}
