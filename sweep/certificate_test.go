package sweep

import (
	"context"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/topo"
)

// TestCertificateOfOtherRoutes: in a ring of three switches each route takes one link, and the channels have any
// order. With a detour at each switch, packets go round: at some switch they come to a lower number.
func TestCertificateOfOtherRoutes(t *testing.T) {
	b := newHarness(t, "torus:dims=3,hosts=1", Config{})
	out := b.heavy()
	task := out.Certificate(nil)
	right := task.Run(t.Context())
	if right.State != Certified || right.Channels != 6 {
		t.Fatalf("%+v", right)
	}
	violated := 0
	for s, n := range out.Topo.Switches {
		for _, p := range out.Topo.EndPorts {
			lid := out.LIDs.Base[p]
			egress := out.Tables.LFT[s][lid]
			peer := out.Topo.Ports[out.Topo.Port(n, egress)].Peer
			if egress == 0 || !out.Topo.IsSwitchPort(peer) || out.Topo.Ports[p].Num == 0 {
				continue
			}
			wrong := *task
			tables := *task.tables
			tables.LFT = slices.Clone(tables.LFT)
			tables.LFT[s] = slices.Clone(tables.LFT[s])
			tables.LFT[s][lid] = otherWay(out, n, egress)
			wrong.tables = &tables
			c := wrong.Run(t.Context())
			if c.State == Violated {
				violated++
				if v := c.Violation; v.Dest != mad.LID(lid) || v.From.Switch != topo.SwitchIdx(s) || v.From.Number < v.To.Number {
					t.Errorf("%v", v)
				}
			}
		}
	}
	if violated == 0 {
		t.Error("no detour violates the certificate")
	}
	if again := out.Certificate(right).Run(t.Context()); again != right {
		t.Error("the same routes are proved again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c := out.Certificate(nil).Run(ctx); c != nil {
		t.Errorf("cancelled: %+v", c)
	}
}

// otherWay is the port of a switch to the switch that another one does not lead to.
func otherWay(out *Outcome, n topo.NodeIdx, than uint8) uint8 {
	for port := uint8(1); port <= out.Topo.Nodes[n].NumPorts; port++ {
		peer := out.Topo.Ports[out.Topo.Port(n, port)].Peer
		if peer != topo.None && out.Topo.IsSwitchPort(peer) && port != than {
			return port
		}
	}
	return than
}
