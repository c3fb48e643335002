package routingtest

import (
	"context"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/mad/txn/txntest"
)

// PathSLs asks the SA of a subnet for the path between each two LIDs, from a port.
func PathSLs(t testing.TB, port txn.Port, lids []mad.LID) map[[2]mad.LID]uint8 {
	t.Helper()
	e := txn.NewEngine(port)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	ask := func(requests ...txn.Request) []txn.Outcome {
		t.Helper()
		outcomes, err := txntest.Do(ctx, e, txn.Config{MaxWindow: 8}, requests)
		if err != nil {
			t.Fatal(err)
		}
		return outcomes
	}
	own := smp.PortInfo(ask(txn.Request{Route: mad.MakeRoute(), Method: mad.MethodGet, Attr: smp.AttrPortInfo})[0].Data)
	var requests []txn.Request
	var paths [][2]mad.LID
	for _, from := range lids {
		for _, to := range lids {
			var p mad.Packet
			p.SetHeader(mad.ClassSA, mad.MethodGet, sarec.AttrPathRecord, 0)
			record := (*sarec.PathRecord)(p.SAData()[:64])
			record.SetSLID(from)
			record.SetDLID(to)
			p.SetComponentMask(sarec.PathSLID | sarec.PathDLID)
			requests = append(requests, txn.Request{Packet: &p, Addr: mad.Addr{LID: own.MasterSMLID(), QPN: 1}})
			paths = append(paths, [2]mad.LID{from, to})
		}
	}
	sls := map[[2]mad.LID]uint8{}
	for i, o := range ask(requests...) {
		if o.Result != txn.Replied || o.Status != mad.StatusOK {
			t.Fatalf("from LID %v to LID %v: %+v", paths[i][0], paths[i][1], o)
		}
		sls[paths[i]] = o.Data[56+53-64] & 0xf // of the MAD's bytes from 64 on; the record begins at 56, and has the SL at 53
	}
	return sls
}
