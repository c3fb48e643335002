package quality

import (
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view/viewtest"
)

// routed is a fabric with LIDs and tables.
func routed(tb testing.TB, spec string, lmc uint8) (*topo.Topo, *topo.LIDs, *routing.Tables) {
	tb.Helper()
	v := viewtest.New(tb, spec, lmc)
	return v.Topo, v.LIDs, v.Tables
}

// walked counts as Loads does, by walking each route by itself.
func walked(in routing.In, rows [][]uint8) []uint32 {
	t, l := in.Topo, in.LIDs
	load := make([]uint32, len(t.Ports))
	isHost := func(p topo.PortIdx) bool { return t.Nodes[t.Ports[p].Node].Type != mad.Switch }
	for _, from := range t.EndPorts {
		for lid := mad.LID(1); lid <= l.Top; lid++ {
			to := l.PortOf(lid)
			if to == topo.None || to == from || !isHost(from) || !isHost(to) ||
				!in.Tenants.Talk(in.Tenants.Class(from), in.Tenants.Class(to)) {
				continue
			}
			way := []topo.PortIdx{from}
			at := t.Ports[from].Peer
			for at != topo.None && !isHost(at) && len(way) < len(t.Nodes) {
				n := t.Ports[at].Node
				egress := rows[t.Nodes[n].Switch][lid]
				if egress == routing.NoPath {
					break
				}
				way = append(way, t.Port(n, egress))
				at = t.Ports[t.Port(n, egress)].Peer
			}
			if at == to {
				for _, p := range way {
					load[p]++
				}
			}
		}
	}
	return load
}

func TestLoads(t *testing.T) {
	for _, c := range []struct {
		spec string
		lmc  uint8
		hurt bool
	}{
		{"fattree:k=4", 0, false}, {"fattree:k=4", 2, false}, {"torus:dims=3x3,hosts=2", 0, false},
		{"random:switches=12,degree=4,missing-links=10%", 1, false}, {"fattree:k=4", 0, true},
	} {
		subnet, lids, tables := routed(t, c.spec, c.lmc)
		if c.hurt { // some routes end nowhere, some go in circles
			for s, row := range tables.LFT {
				for lid := range row {
					if (s+lid)%7 == 0 {
						row[lid] = routing.NoPath
					} else if (s+lid)%5 == 0 {
						row[lid] = uint8(1 + lid%4)
					}
				}
			}
		}
		tenants := routing.NewTenants(subnet, func(p topo.PortIdx) *topo.PKeyTable {
			return topo.NewPKeyTable([][]mad.PKey{{0x8001}, {0x8001, 0x8002}, {0x8002}, {0x0002}}[int(p/2)%4])
		})
		if tenants == nil {
			t.Fatal("no tenants")
		}
		for _, in := range []routing.In{{Topo: subnet, LIDs: lids}, {Topo: subnet, LIDs: lids, Tenants: tenants}} {
			got, err := Loads(t.Context(), in, tables.LFT)
			if err != nil {
				t.Fatal(err)
			}
			for p, want := range walked(in, tables.LFT) {
				if got[p] != want {
					t.Fatalf("%+v, tenants %t: port %d of node %d: %d, walked %d", c, in.Tenants != nil,
						subnet.Ports[p].Num, subnet.Ports[p].Node, got[p], want)
				}
			}
		}
	}
}

func BenchmarkLoads(b *testing.B) {
	t, l, tables := routed(b, "fattree:k=36", 0)
	for b.Loop() {
		if _, err := Loads(b.Context(), routing.In{Topo: t, LIDs: l}, tables.LFT); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLoadsWithoutSwitch: two hosts that a cable joins have no routes to count.
func TestLoadsWithoutSwitch(t *testing.T) {
	n, err := net.Parse("cable",
		[]byte("vendid=0x2c9\ndevid=0x1\nsysimgguid=0x11\ncaguid=0x10\nCa\t1 \"H-0000000000000010\"\t\t# \"a\"\n[1](11)\t\"H-0000000000000020\"[1] (21)\t\t# lid 1 lmc 0 \"b\" lid 2 4xQDR\n\n"+
			"vendid=0x2c9\ndevid=0x1\nsysimgguid=0x21\ncaguid=0x20\nCa\t1 \"H-0000000000000020\"\t\t# \"b\"\n[1](21)\t\"H-0000000000000010\"[1] (11)\t\t# lid 2 lmc 0 \"a\" lid 1 4xQDR\n"))
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	load, err := Loads(t.Context(), routing.In{Topo: subnet, LIDs: topo.SequentialLIDs(subnet, 0)}, nil)
	if err != nil || len(load) != len(subnet.Ports) || len(subnet.EndPorts) != 2 {
		t.Fatalf("%v, %v", load, err)
	}
}
