package certificate

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// numbers are a certificate that a test may corrupt.
type numbers map[routingtest.Hop]int32

// in is the check of a subnet by some numbers.
func in(s *routingtest.Subnet, hosts bool, n numbers) In {
	lanes := s.Lanes
	if lanes != nil { // of ports for which it is not known it is that of the peer
		lanes = make([]uint8, len(s.Lanes))
		for p := range lanes {
			if lanes[p] = s.Lanes[p]; lanes[p] == 0 && s.Topo.Ports[p].Peer != topo.None {
				lanes[p] = s.Lanes[s.Topo.Ports[p].Peer]
			}
		}
	}
	return In{
		Topo: s.Topo, LIDs: s.LIDs, Tables: s.Tables, Maps: s.Maps, Groups: s.Groups, Hosts: hosts, Lanes: lanes,
		Number: func(sw topo.SwitchIdx, port, lane uint8) int32 {
			return n[routingtest.Hop{Switch: sw, Port: port, Lane: lane}]
		},
	}
}

// prove finds the numbers of a subnet without a credit loop; nil if it has one.
func prove(tb testing.TB, s *routingtest.Subnet, hosts bool) numbers {
	traffic := creditloop.All
	if hosts {
		traffic = creditloop.BetweenHosts
	}
	r, err := creditloop.Find(tb.Context(), creditloop.In{
		Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables), SLs: s.Tables.SLs,
		Maps:      s.Maps,
		Multicast: s.Groups, Traffic: traffic, Lanes: s.Lanes,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if r.Loop != nil {
		return nil
	}
	n := numbers{}
	for sw, node := range s.Topo.Switches {
		for port := uint8(1); port <= s.Topo.Nodes[node].NumPorts; port++ {
			for lane := range uint8(15) {
				n[routingtest.Hop{Switch: topo.SwitchIdx(sw), Port: port, Lane: lane}] = r.Number(topo.SwitchIdx(sw),
					port, lane)
			}
		}
	}
	return n
}

// rises reports whether the numbers rise with every dependency that the naive search has found.
func (n numbers) rises(found *routingtest.Naive) bool {
	for from, after := range found.After {
		for to := range after {
			if n[from] >= n[to] {
				return false
			}
		}
	}
	return true
}

// TestCorrupted: certificates of random subnets are good; those with a number that is too high or too
// low for any packet are not, and the same after an entry, an SL or a mapping table has been changed.
func TestCorrupted(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 1))
	var subnets []*routingtest.Subnet
	for _, spec := range []string{"fattree:k=4", "torus:dims=4x3,hosts=1", "mesh:dims=1x5,hosts=2",
		"random:switches=10,degree=3,hosts=1"} {
		subnets = append(subnets, routingtest.NewSubnet(t, spec, minhop.Route))
	}
	count := 100
	if os.Getenv("IBSM_PROOF") != "" {
		count = 5000
	}
	var good, corrupted, harmless, spoilt, still int
	for good < count {
		s, hosts := subnets[rng.IntN(len(subnets))].Changed(), rng.IntN(2) == 0
		s.Vary(rng)
		n := prove(t, s, hosts)
		if n == nil {
			continue
		}
		found := s.Search(hosts)
		if err := Check(t.Context(), in(s, hosts, n)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		good++
		for _, from := range sorted(found) {
			was := n[from]
			n[from] = rng.Int32N(int32(len(n)))
			if rng.IntN(2) == 0 {
				n[from] = math.MaxInt32
			}
			err := Check(t.Context(), in(s, hosts, n))
			if rises := n.rises(found); rises != (err == nil) {
				t.Fatalf("seed %d: number %d instead of %d at %+v, before %v: %v", seed, n[from], was, from,
					found.After[from], err)
			}
			if err == nil {
				harmless++
			} else {
				mustHold(t, found, err)
				corrupted++
			}
			n[from] = was
		}
		s = s.Changed()
		s.Spoil(rng)
		err := Check(t.Context(), in(s, hosts, n))
		if found = s.Search(hosts); n.rises(found) != (err == nil) {
			t.Fatalf("seed %d: after a change: %v", seed, err)
		}
		if err == nil {
			still++
		} else {
			mustHold(t, found, err)
			spoilt++
		}
	}
	t.Logf("seed %d: %d certificates; with another number %d of them bad, %d good; after a change of what they prove %d bad, %d good", seed, good, corrupted, harmless, spoilt, still)
	if corrupted == 0 || spoilt == 0 || still == 0 {
		t.Error("some case did not happen")
	}
}

// sorted are the channels from which packets go on.
func sorted(found *routingtest.Naive) []routingtest.Hop {
	return slices.SortedFunc(maps.Keys(found.After), func(a, b routingtest.Hop) int {
		return cmp.Or(cmp.Compare(a.Switch, b.Switch), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Lane, b.Lane))
	})
}

// mustHold fails the test unless some packets take the two channels of a violation.
func mustHold(t *testing.T, found *routingtest.Naive, err error) {
	t.Helper()
	var v *Violation
	if !errors.As(err, &v) || v.To.Number > v.From.Number {
		t.Fatal(err)
	}
	hop := func(s Step) routingtest.Hop { return routingtest.Hop{Switch: s.Switch, Port: s.Port, Lane: s.Lane} }
	if !found.After[hop(v.From)][hop(v.To)] {
		t.Errorf("no packets go as in: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	s := routingtest.NewSubnet(t, "fattree:k=4", minhop.Route)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Check(ctx, in(s, true, prove(t, s, true))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLowest: of several violations that of the lowest LID is returned.
func TestLowest(t *testing.T) {
	s := routingtest.NewSubnet(t, "fattree:k=4", minhop.Route)
	err := Check(t.Context(), in(s, true, numbers{}))
	var v *Violation
	if !errors.As(err, &v) {
		t.Fatal(err)
	}
	for lid := mad.LID(1); lid < v.Dest; lid++ {
		n := s.SearchSome(true, func(p routingtest.Packet, _ topo.SwitchIdx) bool { return p.To == lid })
		if len(n.After) > 0 {
			t.Errorf("%v: LID %v has dependencies, too", err, lid)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, spec := range []string{"fattree:k=24", "fattree:k=36"} {
		b.Run(spec, func(b *testing.B) {
			s := routingtest.NewSubnet(b, spec, minhop.Route)
			r, err := creditloop.Find(b.Context(),
				creditloop.In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables)})
			if err != nil || r.Loop != nil {
				b.Fatal(r, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := Check(b.Context(), In{Topo: s.Topo, LIDs: s.LIDs, Tables: s.Tables, Hosts: true,
					Number: r.Number}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
