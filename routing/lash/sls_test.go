package lash

import (
	"context"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/mad/txn/txntest"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sim/ibsim"
)

// TestOpenSMPathSLs compares the SL of every path with that in OpenSM's PathRecord.
func TestOpenSMPathSLs(t *testing.T) {
	for _, spec := range []string{"torus:dims=5x5,hosts=1", "torus:dims=4x4x4,hosts=1", "random:switches=40,degree=4,hosts=1,seed=5", "dragonfly"} {
		t.Run(spec, func(t *testing.T) {
			file := routingtest.File(t, spec)
			run := routingtest.OpenSM(t, file, "lash")
			tables, err := New(Settings{})(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
			if err != nil {
				t.Fatal(err)
			}
			compared, differ := 0, 0
			for path, want := range pathSLs(t, routingtest.Start(t, file, "lash"), run) {
				compared++
				if got := tables.SLs.Of(path[0], path[1]); got != want {
					if differ++; differ < 10 {
						t.Errorf("from LID %v to LID %v: SL %d, OpenSM %d", path[0], path[1], got, want)
					}
				}
			}
			if n := len(run.Topo.Switches); compared < n*n {
				t.Errorf("compared %d paths", compared)
			}
			t.Logf("compared %d paths, %d differ", compared, differ)
		})
	}
}

// pathSLs asks OpenSM for the path between each two hosts.
func pathSLs(t *testing.T, sock string, run *routingtest.Run) map[[2]mad.LID]uint8 {
	t.Helper()
	var hosts []mad.LID
	var node string
	for _, p := range run.Topo.EndPorts {
		if n := &run.Topo.Nodes[run.Topo.Ports[p].Node]; n.Type != mad.Switch {
			hosts, node = append(hosts, run.LIDs.Base[p]), n.Desc.String()
		}
	}
	port, err := ibsim.Dial(t.Context(), ibsim.Config{SockName: sock, Node: node})
	if err != nil {
		t.Fatal(err)
	}
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
	for _, from := range hosts {
		for _, to := range hosts {
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
