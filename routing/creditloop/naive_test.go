package creditloop

import (
	"math/rand/v2"
	"os"
	"testing"

	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// find searches a subnet, as it is or with that of before.
func find(tb testing.TB, s *routingtest.Subnet, traffic Traffic, since *Report) *Report {
	tb.Helper()
	in := In{
		Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables), SLs: s.Tables.SLs,
		Maps:      s.Maps,
		Multicast: s.Groups, Traffic: traffic, Lanes: s.Lanes, Turns: s.Turns, Since: since,
	}
	if b := s.Before; b != nil {
		in.Before = &Rules{routing.NewForwarding(b.Topo, b.LIDs, b.Tables), b.Tables.SLs, b.Maps}
	}
	r, err := Find(tb.Context(), in)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// mustHold fails the test unless each packet that a report names goes as it says.
func mustHold(t *testing.T, s *routingtest.Subnet, traffic Traffic, r *Report) {
	t.Helper()
	goes := func(f Flow) (sent bool, n *routingtest.Naive) {
		n = s.SearchSome(traffic == BetweenHosts, func(p routingtest.Packet, sw topo.SwitchIdx) bool {
			match := p == (routingtest.Packet{From: f.SourceLID, To: f.Dest, SL: f.SL}) &&
				(f.Source == topo.None || f.Source == sw)
			sent = sent || match
			return match
		})
		return sent, n
	}
	for i, c := range r.Loop {
		to := r.Loop[(i+1)%len(r.Loop)]
		sent, n := goes(c.Flow)
		if !sent || !n.After[routingtest.Hop{Switch: c.Switch, Port: c.Port, Lane: c.Lane}][routingtest.Hop{
			Switch: to.Switch, Port: to.Port, Lane: to.Lane,
		}] {
			t.Errorf("%+v: sent %v, and does not go on to %+v", c, sent, to)
		}
	}
	for _, f := range r.Findings {
		if sent, n := goes(f.Flow); !sent ||
			!n.Stops[routingtest.Stop{Kind: routingtest.StopKind(f.Kind), Port: f.Port, SL: f.SL, VL: f.VL}] {
			t.Errorf("%+v: sent %v, stopped %v", f, sent, n.Stops)
		}
	}
}

// mustProve fails the test unless the numbers of a report without a loop ascend on every way.
func mustProve(t *testing.T, n *routingtest.Naive, r *Report) {
	t.Helper()
	if r.Loop != nil {
		return
	}
	for from, after := range n.After {
		for to := range after {
			if a, b := r.Number(from.Switch, from.Port, from.Lane), r.Number(to.Switch, to.Port, to.Lane); a >= b {
				t.Fatalf("from %+v to %+v: number %d, then %d", from, to, a, b)
			}
		}
	}
}

// compare fails the test unless the search finds what the naive one does.
func compare(t *testing.T, s *routingtest.Subnet, traffic Traffic, since *Report) *Report {
	t.Helper()
	r, n := find(t, s, traffic, since), s.Search(traffic == BetweenHosts)
	mustHold(t, s, traffic, r)
	if loop := n.HasLoop(); loop != (r.Loop != nil) {
		t.Fatalf("traffic %d: found %+v; the naive search: %v", traffic, r.Loop, loop)
	}
	if (len(r.Findings) == 0) != (len(n.Stops) == 0) || len(r.Findings) < min(len(n.Stops), MaxFindings) &&
		s.Before == nil {
		t.Fatalf("traffic %d: found %+v; the naive search: %v", traffic, r.Findings, n.Stops)
	}
	mustProve(t, n, r)
	return r
}

// cases is how many random subnets are searched.
func cases() int {
	if os.Getenv("IBSM_PROOF") != "" {
		return 10_000
	}
	return 300
}

// TestNaive compares with the naive search on random tables, SLs, mapping tables, lanes and groups,
// and with what was found before one of them was spoilt.
func TestNaive(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 1))
	var subnets []*routingtest.Subnet
	for _, spec := range []string{"fattree:k=4", "torus:dims=4x3,hosts=1", "mesh:dims=1x5,hosts=2",
		"random:switches=10,degree=3,hosts=1", "torus:dims=5,hosts=1", "fattree:k=4,sharp=on"} {
		subnets = append(subnets, routingtest.NewSubnet(t, spec, minhop.Route))
	}
	var free, loops, kept, findings int
	for done := 0; done < cases(); {
		s := subnets[rng.IntN(len(subnets))].Changed()
		s.Vary(rng)
		var last [2]*Report
		for range 4 {
			for _, traffic := range []Traffic{BetweenHosts, All} {
				r := compare(t, s, traffic, last[traffic])
				findings += len(r.Findings)
				switch {
				case r.Loop != nil:
					loops++
				case last[traffic] != nil && last[traffic].number != nil && &last[traffic].number[0] == &r.number[0]:
					kept++
				default:
					free++
				}
				last[traffic] = r
				done++
			}
			s = s.Changed()
			s.Spoil(rng)
		}
	}
	t.Logf("seed %d: %d without a loop, %d with one, %d without by the numbers of before; %d findings", seed, free,
		loops, kept, findings)
	if free == 0 || loops == 0 || kept == 0 || findings == 0 {
		t.Error("some case did not happen")
	}
}

// TestNaiveBefore does the same for switches that have the tables of before or new ones.
func TestNaiveBefore(t *testing.T) {
	const seed = 8
	rng := rand.New(rand.NewPCG(seed, 1))
	var free, loops int
	for _, spec := range []string{"fattree:k=4", "torus:dims=4x3,hosts=1", "mesh:dims=1x5,hosts=2"} {
		base := routingtest.NewSubnet(t, spec, minhop.Route)
		for range cases() / 12 {
			s := base.Changed()
			s.Vary(rng)
			s.Before = s.Changed()
			for range 1 + rng.IntN(4) {
				s.Before.Spoil(rng)
			}
			for _, traffic := range []Traffic{BetweenHosts, All} {
				if compare(t, s, traffic, nil).Loop != nil {
					loops++
				} else {
					free++
				}
			}
		}
	}
	t.Logf("seed %d: %d without a loop, %d with one", seed, free, loops)
	if free == 0 || loops == 0 {
		t.Error("some case did not happen")
	}
}
