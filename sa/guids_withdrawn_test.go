package sa

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// TestGUIDsWrittenTooLate: what becomes of a block may be known when the subnet is not any more.
func TestGUIDsWrittenTooLate(t *testing.T) {
	for outcome := HoldsUnknown; outcome <= HoldsBlock; outcome++ {
		d := newHarness(t)
		d.slow = true
		var rec sarec.GUIDInfoRecord
		rec.SetLID(5)
		rec.GUIDInfo().SetGUID(1, 0x1234)
		d.step(Received{Datagrams: []mad.Datagram{d.request(h3, mad.MethodSet, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|sarec.GUIDInfoGUID0<<1, rec[:])}})
		block := d.guids[0]
		d.step(ViewWithdrawn{})
		d.step(GUIDsWritten{GUIDBlock: block, Outcome: outcome})
	}
}
