package quality

import (
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/rails"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// TestWithinRails: shifts within rails, beside a count that walks each packet by itself.
func TestWithinRails(t *testing.T) {
	n := routingtest.RailFabric(2)
	routingtest.LoseCables(n, 3, 1)
	subnet, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	in := routing.In{Topo: subnet, LIDs: topo.SequentialLIDs(subnet, 1)}
	tables, err := minhop.Route(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	r := rails.Find(subnet)
	short := *r // a rail that is shorter than the others
	short.Rails = append([]rails.Rail(nil), r.Rails...)
	short.Rails[3].Ports = short.Rails[3].Ports[:17]
	var sum, worst int
	for by := 1; by < 64; by++ {
		load, most := map[topo.PortIdx]int{}, 0
		for _, rail := range short.Rails {
			for i, from := range rail.Ports {
				to := rail.Ports[(i+by)%len(rail.Ports)]
				for at := subnet.Ports[from].Peer; from != to &&
					subnet.Nodes[subnet.Ports[at].Node].Type == mad.Switch; {
					node := &subnet.Nodes[subnet.Ports[at].Node]
					out := node.First + topo.PortIdx(tables.LFT[node.Switch][in.LIDs.Base[to]])
					if at = subnet.Ports[out].Peer; subnet.Nodes[subnet.Ports[at].Node].Type == mad.Switch {
						load[out]++
						most = max(most, load[out])
					}
				}
			}
		}
		sum, worst = sum+most, max(worst, most)
	}
	f, err := WithinRails(t.Context(), in, tables.LFT, &short)
	if err != nil || f.Shifts != 63 || f.Shift != float64(sum)/63 || int(f.Worst) != worst || worst < 2 {
		t.Errorf("%+v, walked %.3f and %d, %v", f, float64(sum)/63, worst, err)
	}
	in.LIDs = topo.SequentialLIDs(subnet, 0)
	for _, p := range r.Rails[0].Ports { // ports without LIDs are left out
		in.LIDs.Base[p] = 0
	}
	if _, err := WithinRails(t.Context(), in, tables.LFT, r); err != nil {
		t.Error(err)
	}
	if f, err := WithinRails(t.Context(), in, tables.LFT, &rails.Rails{}); err != nil || f != (Figures{}) {
		t.Errorf("without rails: %+v, %v", f, err)
	}
}
