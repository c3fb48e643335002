package sa

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sa/mirror"
)

// orderGUID has a host ask for an alias GUID, and returns the block that its port gets, which does not answer yet.
func (d *harness) orderGUID(guid mad.GUID) GUIDBlock {
	d.slow = true
	var rec sarec.GUIDInfoRecord
	rec.SetLID(5)
	rec.GUIDInfo().SetGUID(1, guid)
	d.step(Received{
		Datagrams: []mad.Datagram{
			d.request(h3, mad.MethodSet, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|
				sarec.GUIDInfoGUID0<<1, rec[:]),
		},
	})
	return d.guids[0]
}

// TestGUIDsInNextTerm: a block whose answer was lost with the subnet is written again when that is back, and then not
// any more.
func TestGUIDsInNextTerm(t *testing.T) {
	d := newHarness(t)
	block := d.orderGUID(0x1234)
	d.step(ViewWithdrawn{})
	d.guids = nil
	d.step(ViewPublished{d.view})
	if !slices.Equal(d.guids, []GUIDBlock{block}) {
		t.Fatalf("written again: %+v", d.guids)
	}
	d.step(GUIDsWritten{GUIDBlock: block, Outcome: HoldsBlock})
	d.guids = nil
	d.step(ViewWithdrawn{})
	if d.step(ViewPublished{d.view}); len(d.guids) > 0 {
		t.Errorf("written once more: %+v", d.guids)
	}
}

// TestGUIDsAfterAnotherMaster: such a block is not written where another manager was master meanwhile.
func TestGUIDsAfterAnotherMaster(t *testing.T) {
	d := newHarness(t)
	d.orderGUID(0x1234)
	d.step(ViewWithdrawn{})
	d.step(Follow{mirror.Master{GUID: 0x99, LID: 9, Self: h1}})
	d.guids = nil
	if d.step(ViewPublished{d.view}); len(d.guids) > 0 {
		t.Errorf("written again: %+v", d.guids)
	}
}

// TestGUIDsWrittenTooLate: what becomes of a block may be known when the subnet is not any more.
func TestGUIDsWrittenTooLate(t *testing.T) {
	for outcome := HoldsUnknown; outcome <= HoldsBlock; outcome++ {
		d := newHarness(t)
		block := d.orderGUID(0x1234)
		d.step(ViewWithdrawn{})
		d.step(GUIDsWritten{GUIDBlock: block, Outcome: outcome})
	}
}
