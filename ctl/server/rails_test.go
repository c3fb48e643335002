package server

import (
	"testing"

	"ibsm/ctl"
	"ibsm/routing/routingtest"
	"ibsm/topo/net"
	"ibsm/view/viewtest"
)

// TestRails: the rails of a fabric, a pair of cables to exchange, and one to move, with the ports that they are on.
func TestRails(t *testing.T) {
	n := routingtest.RailFabric(2)
	byName := map[string]int32{}
	for i := range n.Nodes {
		byName[n.Nodes[i].Desc] = int32(i)
	}
	plug := func(name string, leaf string, port uint8) {
		end := net.End{Node: byName[leaf], Port: port}
		n.Nodes[byName[name]].Ports[1].Peer, n.Nodes[end.Node].Ports[port].Peer = end,
			net.End{Node: byName[name], Port: 1}
	}
	plug("host-1-04 mlx5_0", "leaf-1-2", 4)
	plug("host-1-04 mlx5_1", "leaf-1-1", 4)
	n.Nodes[byName["host-2-32 mlx5_7"]].Ports[1].Peer = net.NoEnd
	n.Nodes[byName["leaf-2-8"]].Ports[32].Peer = net.NoEnd
	n.Nodes[byName["leaf-2-8"]].Ports[20].Peer = net.NoEnd
	plug("host-2-20 mlx5_7", "leaf-2-3", 32)
	n.Nodes[byName["host-2-32 mlx5_2"]].Ports[1].Peer = net.NoEnd
	r := newSubnet(viewtest.Of(t, n, 0), nil).Rails()
	if r.Seen != "8 rails of 63 to 64 ports in 2 units, 3 of them on the wrong leaf" || r.Units != 2 ||
		len(r.Rails) != 8 || len(r.Wrong) != 3 {
		t.Fatalf("%+v", r)
	}
	if l := r.Rails[2].Leaves; len(l) != 2 || l[0].Desc != "leaf-1-3" || l[1].Desc != "leaf-2-3" || l[1].Unit != 2 ||
		r.Rails[2].Places[0] != "mlx5_2" || r.Rails[0].Ports != 64 {
		t.Errorf("%+v", r.Rails)
	}
	is := func(e *ctl.End, name string, port uint8) bool { return e != nil && e.Desc == name && e.Port == port }
	for i := range r.Wrong {
		switch w := &r.Wrong[i]; w.Port.Desc {
		case "host-1-04 mlx5_0":
			if w.Rail != 1 || !is(&w.On, "leaf-1-2", 4) || !is(&w.Want, "leaf-1-1", 4) ||
				!is(w.Exchange, "host-1-04 mlx5_1", 1) || !w.Both {
				t.Errorf("%+v", w)
			}
		case "host-1-04 mlx5_1":
			if w.Rail != 2 || !is(&w.Want, "leaf-1-2", 4) || !is(w.Exchange, "host-1-04 mlx5_0", 1) {
				t.Errorf("%+v", w)
			}
		case "host-2-20 mlx5_7":
			if w.Rail != 8 || !is(&w.On, "leaf-2-3", 32) || !is(&w.Want, "leaf-2-8", 32) || w.Exchange != nil ||
				w.Both {
				t.Errorf("%+v", w)
			}
		default:
			t.Errorf("%+v", w)
		}
	}
}

// TestRailQuality: shifts within rails are among the figures of the routes in force, and of a plan.
func TestRailQuality(t *testing.T) {
	n := routingtest.RailFabric(2)
	routingtest.LoseCables(n, 3, 1)
	v := viewtest.Of(t, n, 0)
	q, err := newSubnet(v, nil).Quality(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r := q.Rails; r == nil || r.Rails != 8 || r.Hosts != 512 || r.Shifts != 63 || r.Shift <= 1 || r.Worst < 2 {
		t.Errorf("%+v", r)
	}
	var e ctl.EngineRoutes
	if err := judge(t.Context(), &e, problem(v.Topo, v.LIDs, nil), v.Tables); err != nil ||
		e.RailShift != q.Rails.Shift {
		t.Errorf("%+v, %v", e, err)
	}
	if q, err := newSubnet(newView(t, "fattree:k=4"), nil).Quality(t.Context()); err != nil || q.Rails != nil {
		t.Errorf("without rails: %+v, %v", q, err)
	}
}
