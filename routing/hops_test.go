package routing_test

import (
	"context"
	"errors"
	"testing"

	"ibsm/routing"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

func fromSpec(tb testing.TB, spec string) *topo.Topo {
	tb.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return fromNet(tb, fabric)
}

func fromNet(tb testing.TB, fabric *net.Net) *topo.Topo {
	tb.Helper()
	t, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// naiveHops is breadth-first search from one switch over the ports of the Topo.
func naiveHops(t *topo.Topo, from topo.SwitchIdx) []uint8 {
	hops := make([]uint8, len(t.Switches))
	for s := range hops {
		hops[s] = routing.Unreachable
	}
	hops[from] = 0
	for queue := []topo.SwitchIdx{from}; len(queue) > 0; queue = queue[1:] {
		for _, p := range t.Ports {
			if t.Nodes[p.Node].Switch != queue[0] || p.Peer == topo.None {
				continue
			}
			if r := t.Nodes[t.Ports[p.Peer].Node].Switch; r != topo.None && hops[r] == routing.Unreachable {
				hops[r] = hops[queue[0]] + 1
				queue = append(queue, r)
			}
		}
	}
	return hops
}

func TestHops(t *testing.T) {
	for _, spec := range []string{
		"fattree:k=4", "fattree:k=8,missing-links=20%", "torus:dims=3x5", "torus:dims=23x23", "dragonfly",
		"random:switches=70,degree=3,seed=5", "mesh:dims=2x40", "mesh:dims=1x300",
	} {
		fabric := fromSpec(t, spec)
		hops, err := routing.NewHops(t.Context(), 0, routing.NewGraph(fabric))
		if err != nil {
			t.Fatal(err)
		}
		step := max(1, len(fabric.Switches)/40)
		for s := 0; s < len(fabric.Switches); s += step {
			want := naiveHops(fabric, topo.SwitchIdx(s))
			for d, got := range hops.From(topo.SwitchIdx(s)) {
				if got != want[d] {
					t.Fatalf("%s: %d hops from switch %d to %d, want %d", spec, got, s, d, want[d])
				}
			}
		}
	}
}

func TestHopsApart(t *testing.T) {
	fabric := fromSpec(t, "mesh:dims=1x4")
	for p := range fabric.Ports { // cut 1 from 2
		port := &fabric.Ports[p]
		if port.Peer == topo.None {
			continue
		}
		near, far := fabric.Nodes[port.Node].Switch, fabric.Nodes[fabric.Ports[port.Peer].Node].Switch
		if near == 1 && far == 2 {
			fabric.Ports[port.Peer].Peer = topo.None
			port.Peer = topo.None
		}
	}
	graph := routing.NewGraph(fabric)
	hops, err := routing.NewHops(t.Context(), 0, graph)
	if err != nil {
		t.Fatal(err)
	}
	const far = routing.Unreachable
	part := graph.Components()
	for s, want := range [4][4]uint8{{0, 1, far, far}, {1, 0, far, far}, {far, far, 0, 1}, {far, far, 1, 0}} {
		for d := range want {
			if got := hops.From(topo.SwitchIdx(s))[d]; got != want[d] {
				t.Errorf("%d hops from switch %d to %d, want %d", got, s, d, want[d])
			}
			if together := part[s] == part[d]; together != (want[d] != far) {
				t.Errorf("switches %d and %d: in one part is %v", s, d, together)
			}
		}
	}
}

func TestHopsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := routing.NewHops(ctx, 0, routing.NewGraph(fromSpec(t, "tree"))); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
