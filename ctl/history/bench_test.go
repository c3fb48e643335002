package history

import (
	"testing"

	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// BenchmarkCompare compares two views of 11,664 hosts and 1,620 switches that share nothing,
// as after a heavy sweep, in which a link between switches was lost; and BenchmarkPut is what
// the manager itself waits for.
func BenchmarkCompare(b *testing.B) {
	old, now := routed(b, -1), routed(b, 11664*2)
	b.ReportAllocs()
	for b.Loop() {
		step, _ := Compare(nil, Moment{old, nil}, Moment{now, nil})
		b.ReportMetric(float64(step.Entries), "entries")
		b.ReportMetric(float64(step.Total()), "changes")
	}
}

func BenchmarkPut(b *testing.B) {
	k, v := NewKeeper(nil), &view.View{}
	b.ReportAllocs()
	for b.Loop() {
		k.Put(v, nil)
	}
}

// routed is a fat tree of k=36, with the first cable between switches from a port on cut;
// none where the port is below 0.
func routed(b *testing.B, cut int) *view.View {
	fabric, err := net.Generate("fattree:k=36")
	if err != nil {
		b.Fatal(err)
	}
	t, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		b.Fatal(err)
	}
	for p := max(cut, 0); cut >= 0; p++ {
		if peer := t.Ports[p].Peer; t.IsSwitchPort(topo.PortIdx(p)) && peer != topo.None && t.IsSwitchPort(peer) {
			t.Ports[p].Peer, t.Ports[peer].Peer = topo.None, topo.None
			break
		}
	}
	lids := topo.SequentialLIDs(t, 0)
	tables, err := minhop.Route(b.Context(), routing.In{Topo: t, LIDs: lids})
	if err != nil {
		b.Fatal(err)
	}
	return &view.View{Gen: 1, Topo: t, LIDs: lids, Tables: tables}
}
