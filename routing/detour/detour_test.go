package detour

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/minhop"
	"ibsm/routing/nue"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/topo"
)

// TestNothingLost: whatever entries a random fabric lacks, with lanes enough all switches get their ways, without a
// credit loop, and no path in order gets another SL.
func TestNothingLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	odd, several := 0, 0
	for seed := range 40 {
		s := routingtest.NewSubnet(t, fmt.Sprintf("random:switches=16,degree=3,hosts=1,seed=%d", seed),
			nue.New(nue.Settings{MaxVLs: 1, QoS: true, Switches: true}))
		n := len(s.Tables.LFT)
		in := In{Topo: s.Topo, LIDs: s.LIDs, Rows: s.Tables.LFT, SLs: 15, Odd: make([]bool, n*n)}
		for range 20 {
			spoil(&in, rng)
		}
		found, err := Complete(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		sls := found.SLs
		s.Tables.SLs = routing.SLsBySwitch(s.Topo, s.LIDs, sls)
		report, err := verify.Check(t.Context(), 0, s.Topo, s.LIDs, s.Tables, nil)
		if err != nil || report.Bad() > 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		loops, err := creditloop.Find(t.Context(),
			creditloop.In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: report.Forwarding(), SLs: s.Tables.SLs,
				Traffic: creditloop.All})
		if err != nil || loops.Loop != nil {
			t.Fatalf("%+v, %v", loops.Loop, err)
		}
		for i := range sls {
			for j := range sls {
				if sls[i][j] != sls[j][i] {
					t.Fatalf("SL %d from %d to %d, %d back", sls[i][j], i, j, sls[j][i])
				}
				if sls[i][j] > 0 {
					odd++
					if !in.Odd[i*n+j] && !in.Odd[j*n+i] {
						t.Fatalf("SL %d from %d to %d, whose paths keep the order", sls[i][j], i, j)
					}
				}
			}
		}
		if s.Tables.SLs.Count > 1 {
			several++
		}
	}
	if odd == 0 || several == 0 {
		t.Errorf("%d paths with other SLs, in %d subnets", odd, several)
	}
}

// spoil takes the way of a switch to another away, and with it all ways that lead over it, or gives it any other.
func spoil(in *In, rng *rand.Rand) {
	g, n := newGraph(*in), len(in.Rows)
	at, to := topo.SwitchIdx(rng.IntN(n)), topo.SwitchIdx(rng.IntN(n))
	if at == to || in.Rows[at][g.homes[to][0]] == routing.NoPath {
		return
	}
	port := uint8(routing.NoPath)
	if rng.IntN(2) == 0 {
		for p := uint8(1); p < routing.NoPath; p++ {
			if c := g.channel[int(at)<<8|int(p)]; c >= 0 && rng.IntN(2) == 0 && !g.leads(g.next[c], at, to) {
				port = p
			}
		}
	}
	for s := range topo.SwitchIdx(n) {
		if !g.leads(s, at, to) {
			continue
		}
		in.Odd[int(s)*n+int(to)] = true
		if port == routing.NoPath && s != at {
			defer g.set(s, to, port)
		}
	}
	g.set(at, to, port)
}

// leads reports whether packets from a switch to another come by one, or do not arrive.
func (g *graph) leads(from, by, to topo.SwitchIdx) bool {
	return slices.ContainsFunc(g.homes[to], func(lid mad.LID) bool {
		at := from
		for at != to {
			port := g.Rows[at][lid]
			if at == by || port == routing.NoPath {
				return true
			}
			at = g.next[g.channel[int(at)<<8|int(port)]]
		}
		return false
	})
}

// TestNoRoom: two rings of paths with one SL are refused, with the names of two switches.
func TestNoRoom(t *testing.T) {
	s := routingtest.NewSubnet(t, "torus:dims=5,hosts=1", minhop.Route)
	n := len(s.Tables.LFT)
	in := In{Topo: s.Topo, LIDs: s.LIDs, Rows: s.Tables.LFT, SLs: 1, Odd: slices.Repeat([]bool{true}, n*n)}
	if _, err := Complete(t.Context(), in); !errors.Is(err, ErrNoRoom) {
		t.Error(err)
	}
	in.SLs = 2
	found, err := Complete(t.Context(), in)
	if err != nil || routing.SLsBySwitch(s.Topo, s.LIDs, found.SLs).Count != 2 {
		t.Errorf("%v, %v", found, err)
	}
	if in.Odd = make([]bool, n*n); !errors.Is(second(Complete(t.Context(), in)), nil) {
		t.Error("nothing is odd, but there is an error")
	}
	in.Odd[1], in.SLs = true, 15
	if _, err := Complete(t.Context(), in); !errors.Is(err, ErrNoRoom) {
		t.Errorf("the loop of paths in order: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
