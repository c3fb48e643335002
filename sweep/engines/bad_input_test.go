package engines

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/routingtest/certificate"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// adapters are the indexes of channel adapters, and hosting those of switches with one.
func adapters(n *net.Net) (list []int32, hosting map[int32]bool) {
	hosting = map[int32]bool{}
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			list = append(list, int32(i))
			hosting[n.Nodes[i].Ports[1].Peer.Node] = true
		}
	}
	return list, hosting
}

// exchange has the cables of two adapters change places.
func exchange(n *net.Net, a, b int32) {
	if a == b {
		return
	}
	p, q := &n.Nodes[a].Ports[1], &n.Nodes[b].Ports[1]
	endP, endQ := &n.Nodes[p.Peer.Node].Ports[p.Peer.Port], &n.Nodes[q.Peer.Node].Ports[q.Peer.Port]
	p.Peer, q.Peer, endP.Peer, endQ.Peer = q.Peer, p.Peer, endQ.Peer, endP.Peer
}

// upsideDown has the adapters of a tree hang on its highest switches: as many as these have ports for after each lost
// every second cable.
func upsideDown(t *testing.T) *net.Net {
	n := routingtest.RailSpec{Units: 2, Hosts: 4, Rails: 4, Spines: 4, Cables: 2}.Fabric()
	list, hosting := adapters(n)
	var free []net.End
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch && !hosting[int32(i)] {
			for num := 2; num < len(n.Nodes[i].Ports); num += 2 {
				peer := n.Nodes[i].Ports[num].Peer
				n.Nodes[peer.Node].Ports[peer.Port].Peer, n.Nodes[i].Ports[num].Peer = net.NoEnd, net.NoEnd
				free = append(free, net.End{Node: int32(i), Port: uint8(num)})
			}
		}
	}
	for k, a := range list {
		was := n.Nodes[a].Ports[1].Peer
		n.Nodes[was.Node].Ports[was.Port].Peer, n.Nodes[a].Ports[1].Peer = net.NoEnd, net.NoEnd
		if k < len(free) {
			n.Nodes[a].Ports[1].Peer, n.Nodes[free[k].Node].Ports[free[k].Port].Peer = free[k],
				net.End{Node: a, Port: 1}
		}
	}
	if len(free) < 16 {
		t.Fatal("too few ports")
	}
	return n
}

// TestBadInput: whatever nodes are called and wherever their cables are, auto says in words what it saw, and has routes
// to everything that has cables, with a proof that the checker accepts.
func TestBadInput(t *testing.T) {
	generate := func(spec string) *net.Net {
		n, err := net.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	rng := rand.New(rand.NewPCG(3, 8))
	for what, c := range map[string]struct {
		fabric func() *net.Net
		high   bool // LIDs end with the highest, 128 for each host
	}{
		"descriptions in no order": {func() *net.Net {
			n := routingtest.RailFabric(2)
			list, _ := adapters(n)
			for i, k := range rng.Perm(len(list)) {
				n.Nodes[list[i]].Desc = fmt.Sprintf("%c%d-x mlx5_%d", 'a'+rune(rng.IntN(26)), k, rng.IntN(20))
			}
			return n
		}, false},
		"one name for all": {func() *net.Net {
			n := routingtest.RailFabric(2)
			for i := range n.Nodes {
				n.Nodes[i].Desc = "MT4129 ConnectX7 Mellanox Technologies"
			}
			return n
		}, false},
		"one name with a place for all": {func() *net.Net {
			n := routingtest.RailFabric(2)
			for i := range n.Nodes {
				n.Nodes[i].Desc, n.Nodes[i].SystemImageGUID = "localhost mlx5_0", 1
			}
			return n
		}, false},
		"rails cabled at random": {func() *net.Net {
			n := routingtest.RailFabric(3)
			list, _ := adapters(n)
			for _, a := range list {
				exchange(n, a, list[rng.IntN(len(list))])
			}
			routingtest.LoseCables(n, 5, 1)
			return n
		}, false},
		"half a dragonfly": {func() *net.Net {
			return generate("dragonfly:a=4,p=2,h=2,missing-switches=18,seed=1")
		}, false},
		"a tree upside down":      {func() *net.Net { return upsideDown(t) }, false},
		"a switch with 254 ports": {func() *net.Net { return generate("fattree:k=254,levels=1") }, false},
		"254 ports in two levels": {func() *net.Net {
			return routingtest.RailSpec{Units: 1, Hosts: 127, Rails: 2, Spines: 1, Cables: 127}.Fabric()
		}, false},
		"LIDs full": {func() *net.Net { return generate("fattree:k=8") }, true},
		"LIDs full, rails": {func() *net.Net {
			return routingtest.RailSpec{Units: 2, Hosts: 8, Rails: 8, Spines: 4, Cables: 2}.Fabric()
		}, true},
		"no host":                  {func() *net.Net { return withoutHosts(generate("fattree:k=4")) }, false},
		"all cables between peers": {func() *net.Net { return generate("hyperx:dims=6,hosts=2") }, false},
	} {
		found, err := netwalk.Topo(c.fabric(), net.NoEnd)
		if err != nil {
			t.Fatal(err)
		}
		in := routing.In{Topo: found, LIDs: topo.SequentialLIDs(found, 0),
			Lanes: slices.Repeat([]uint8{8}, len(found.Ports))}
		if c.high {
			in.LIDs = highLIDs(found)
		}
		chain, seen := Chain{must(Find(Auto, &Settings{}))}.For(found)
		if seen == "" || strings.ContainsAny(seen, "{}[]%\n") {
			t.Errorf("%s: seen %q", what, seen)
		}
		t.Logf("%s: %s: %s", what, chain, seen)
		e, _ := Find(Auto, &Settings{})
		tables, err := e.Route(t.Context(), in)
		if err != nil {
			if !split(found) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		report, err := verify.Check(t.Context(), 0, found, in.LIDs, tables, nil)
		if err != nil || report.Bad() > 0 {
			t.Errorf("%s: %v, %v", what, report.Count, err)
			continue
		}
		credit, err := creditloop.Find(t.Context(),
			creditloop.In{Topo: found, LIDs: in.LIDs, Forwarding: report.Forwarding(), SLs: tables.SLs,
				Maps: tables.SLs.Lanes(), Lanes: in.Lanes, Traffic: creditloop.BetweenHosts})
		if err != nil || credit.Loop != nil {
			t.Errorf("%s: %v, %v", what, credit.Loop, err)
			continue
		}
		if err := certificate.Check(t.Context(),
			certificate.In{Topo: found, LIDs: in.LIDs, Tables: tables, Maps: tables.SLs.Lanes(), Hosts: true,
				Lanes: in.Lanes, Number: credit.Number}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// split reports whether cables do not connect all switches.
func split(t *topo.Topo) bool {
	parts := routing.NewGraph(t).Components()
	return slices.ContainsFunc(parts, func(p int32) bool { return p != parts[0] })
}

func withoutHosts(n *net.Net) *net.Net {
	list, _ := adapters(n)
	for _, a := range list {
		peer := n.Nodes[a].Ports[1].Peer
		n.Nodes[peer.Node].Ports[peer.Port].Peer, n.Nodes[a].Ports[1].Peer = net.NoEnd, net.NoEnd
	}
	return n
}

// highLIDs gives hosts 128 LIDs each, down from the highest, and switches those below.
func highLIDs(t *topo.Topo) *topo.LIDs {
	base, lmc := make([]mad.LID, len(t.Ports)), make([]uint8, len(t.Ports))
	next := int(mad.MaxUnicastLID) + 1
	for _, p := range t.EndPorts {
		if t.Nodes[t.Ports[p].Node].Type != mad.Switch {
			next = (next - 128) &^ 127
			base[p], lmc[p] = mad.LID(next), 7
		}
	}
	for _, p := range t.EndPorts {
		if t.Nodes[t.Ports[p].Node].Type == mad.Switch {
			next--
			base[p] = mad.LID(next)
		}
	}
	return topo.NewLIDs(base, lmc)
}
