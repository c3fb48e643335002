package creditloop

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/lash"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// someTurn is a turn at random, with the hops before and after it where each SL has its own lane.
func someTurn(s *routingtest.Subnet, rng *rand.Rand, sls int) (t Turn, from, to routingtest.Hop) {
	graph := routing.NewGraph(s.Topo)
	for {
		t = Turn{SL: uint8(rng.IntN(sls)), Switch: topo.SwitchIdx(rng.IntN(graph.Len()))}
		peers, ports := graph.Edges(t.Switch)
		e := rng.IntN(len(ports))
		_, next := graph.Edges(peers[e])
		t.Port, t.Next = ports[e], next[rng.IntN(len(next))]
		return t, routingtest.Hop{Switch: t.Switch, Port: t.Port, Lane: t.SL},
			routingtest.Hop{Switch: peers[e], Port: t.Next, Lane: t.SL}
	}
}

// leads reports whether some hop leads to another in the naive search.
func leads(n *routingtest.Naive, from, to routingtest.Hop) bool {
	seen, stack := map[routingtest.Hop]bool{from: true}, []routingtest.Hop{from}
	for len(stack) > 0 {
		last := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if last == to {
			return true
		}
		for next := range n.After[last] {
			if !seen[next] {
				seen[next] = true
				stack = append(stack, next)
			}
		}
	}
	return false
}

// TestDependencies adds turns at random to the dependencies of random tables: those are added that the
// naive search has, or that lead back to nothing. What is undone counts no more.
func TestDependencies(t *testing.T) {
	const seed = 9
	rng := rand.New(rand.NewPCG(seed, 1))
	added, refused := 0, 0
	for _, spec := range []string{"fattree:k=4", "torus:dims=4x3,hosts=1", "random:switches=10,degree=3,hosts=1"} {
		base := routingtest.NewSubnet(t, spec, minhop.Route)
		for range cases() / 30 {
			s := base.Changed()
			for range 8 {
				s.Spoil(rng)
			}
			s.Groups = nil
			in := In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables),
				SLs: s.Tables.SLs}
			d, err := Follow(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			n, sls := s.Search(true), 1
			if s.Tables.SLs != nil {
				sls = s.Tables.SLs.Count
			}
			for range 100 {
				turn, from, to := someTurn(s, rng, sls)
				want, first := n.After[from][to] || !leads(n, to, from), d.Added()
				if d.Add(turn) != want {
					t.Fatalf("%+v: added %v", turn, !want)
				}
				if !want {
					refused++
				} else if added++; rng.IntN(2) == 0 {
					d.Undo(first)
				} else {
					if n.After[from] == nil {
						n.After[from] = map[routingtest.Hop]bool{}
					}
					n.After[from][to] = true
				}
			}
		}
	}
	if added < 100 || refused < 100 {
		t.Errorf("%d turns were added and %d refused: too few", added, refused)
	}
}

// TestRises: turns that lead to higher numbers close no loop, however many there are.
func TestRises(t *testing.T) {
	const seed = 10
	rng := rand.New(rand.NewPCG(seed, 1))
	rises := 0
	for _, spec := range []string{"fattree:k=4", "mesh:dims=4x4,hosts=1", "torus:dims=4x3,hosts=1"} {
		s := routingtest.NewSubnet(t, spec, minhop.Route)
		r, n := find(t, s, BetweenHosts, nil), s.Search(true)
		for range 1000 {
			turn, from, to := someTurn(s, rng, 1)
			if !r.Rises(turn, to.Switch) {
				if r.Loop == nil && n.After[from][to] {
					t.Fatalf("%s: packets make %+v, which does not rise", spec, turn)
				}
				continue
			}
			rises++
			if n.After[from] == nil {
				n.After[from] = map[routingtest.Hop]bool{}
			}
			n.After[from][to] = true
			if r.Rises(turn, to.Switch+1) || r.Rises(Turn{SL: 1, Switch: turn.Switch, Port: turn.Port, Next: turn.Next},
				to.Switch) {
				t.Fatalf("%s: %+v rises to another switch, or on a lane that is not known", spec, turn)
			}
		}
		if r.Loop == nil && n.HasLoop() {
			t.Errorf("%s: turns that rise close a loop", spec)
		}
	}
	if rises < 100 {
		t.Errorf("%d turns rise: too few", rises)
	}
}

// TestRisesToNoPort: a turn to a port that no switch has does not rise, and one that only dropped packets could make
// makes nobody wait.
func TestRisesToNoPort(t *testing.T) {
	s := routingtest.NewSubnet(t, "torus:dims=5x5,hosts=1", lash.New(lash.Settings{}))
	s.Maps = &routing.Maps{Of: make([][]*routing.SLToVL, len(s.Topo.Ports))}
	for p := range s.Maps.Of {
		s.Maps.Of[p] = []*routing.SLToVL{{0: 0, 1: routing.DropVL, 2: 2, 3: 3}}
	}
	r := find(t, s, BetweenHosts, nil)
	graph := routing.NewGraph(s.Topo)
	if r.Rises(Turn{Switch: topo.SwitchIdx(graph.Len()), Next: 1}, 0) {
		t.Error("a turn at no switch rises")
	}
	for at := range topo.SwitchIdx(graph.Len()) {
		peers, ports := graph.Edges(at)
		for e, to := range peers {
			back, next := graph.Edges(to)
			for port := r.graph.ports; port < 256; port++ {
				if r.Rises(Turn{Switch: at, Port: ports[e], Next: uint8(port)}, to) {
					t.Fatalf("switch %d by port %d, then port %d of switch %d, rises", at, ports[e], port, to)
				}
			}
			for i := range back {
				if turn := (Turn{SL: 1, Switch: at, Port: ports[e], Next: next[i]}); !r.Rises(turn, to) {
					t.Fatalf("%+v has no packets, and does not rise", turn)
				}
			}
		}
	}
}

// TestCovers: a report proves its own tables also where entries are missing, and no others: not with another
// entry, another cabling, or hosts at a switch that had none.
func TestCovers(t *testing.T) {
	s := routingtest.NewSubnet(t, "fattree:k=4", minhop.Route)
	r := find(t, s, BetweenHosts, nil)
	covers := func(s *routingtest.Subnet) bool {
		return nil != r.Covering(
			In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables)})
	}
	less := s.Changed()
	for sw := range less.Tables.LFT {
		less.Tables.LFT[sw][1+sw] = routing.NoPath
	}
	if !covers(s) || !covers(less) {
		t.Error("its own tables are not covered")
	}
	var host mad.LID
	for lid, p := range s.LIDs.Owner {
		if _, port := routing.Home(s.Topo, p); port != 0 {
			host = mad.LID(lid)
		}
	}
	home, _ := routing.Home(s.Topo, s.LIDs.Owner[host])
	at := (home + 1) % topo.SwitchIdx(len(s.Topo.Switches))
	_, ports := routing.NewGraph(s.Topo).Edges(at)
	other := s.Changed()
	if other.Tables.LFT[at][host] = ports[0]; ports[0] == s.Tables.LFT[at][host] {
		other.Tables.LFT[at][host] = ports[1]
	}
	if covers(other) {
		t.Error("another entry is covered")
	}
	turned := *s
	turned.Topo = swapped(s.Topo, s.Topo.Port(s.Topo.Switches[0], s.Tables.LFT[0][host]))
	if covers(&turned) {
		t.Error("another cabling is covered")
	}
	unresponsive := *s
	unresponsive.Topo = &topo.Topo{}
	*unresponsive.Topo = *s.Topo
	unresponsive.Topo.Nodes = slices.Clone(s.Topo.Nodes)
	for n := range unresponsive.Topo.Nodes {
		node := &unresponsive.Topo.Nodes[n]
		node.Aggregation = node.Type != mad.Switch && s.Topo.SwitchOf(node.First+1) == home
	}
	if r = find(t, &unresponsive, BetweenHosts, nil); covers(s) {
		t.Error("packets from another switch are covered")
	}
}

// swapped is a subnet in which the cable of a port and another one between switches have changed ends.
func swapped(t *topo.Topo, p topo.PortIdx) *topo.Topo {
	s := *t
	s.Ports = slices.Clone(t.Ports)
	for i := range s.Ports {
		q := topo.PortIdx(i)
		a, b := s.Ports[p].Peer, s.Ports[q].Peer
		if q == p || q == a || b == topo.None || !s.IsSwitchPort(q) || !s.IsSwitchPort(b) ||
			s.Ports[b].Node == s.Ports[a].Node {
			continue
		}
		s.Ports[p].Peer, s.Ports[b].Peer, s.Ports[q].Peer, s.Ports[a].Peer = b, p, a, q
		return &s
	}
	return nil
}
