package layers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/lash"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

func assign(tb testing.TB, s *routingtest.Subnet, lanes int, hosts bool) *Result {
	tb.Helper()
	r, err := Assign(tb.Context(), In{s.Topo, s.LIDs, routing.NewForwarding(s.Topo, s.LIDs, s.Tables), lanes, hosts, 0})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Rings of more than four switches need two lanes, and trees one.
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		spec string
		want int
	}{
		{"fattree:k=4", 1}, {"fattree:k=8", 1}, {"mesh:dims=1x6,hosts=2", 1}, {"torus:dims=5,hosts=1", 2},
		{"torus:dims=9,hosts=2", 2},
	} {
		s := routingtest.NewSubnet(t, c.spec, minhop.Route)
		r := assign(t, s, 15, true)
		if r.Needed != c.want || (r.SLs == nil) != (r.Needed == 1) || r.OneWay {
			t.Errorf("%s: %+v", c.spec, r)
		}
		if r := assign(t, s, 1, true); r.SLs != nil || r.Needed != c.want {
			t.Errorf("%s: with one lane: %+v", c.spec, r)
		}
	}
}

// TestRandom: on random tables the lanes have no credit loop, one is enough exactly where a naive search
// finds none, and both directions between two switches have the same SL.
func TestRandom(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 1))
	count := 60
	if os.Getenv("IBSM_PROOF") != "" {
		count = 3000
	}
	var subnets []*routingtest.Subnet
	for _, spec := range []string{
		"fattree:k=4", "fattree:k=6,hosts=1", "torus:dims=4x3,hosts=2", "torus:dims=5x4,hosts=1",
		"mesh:dims=4x4,hosts=1", "random:switches=14,degree=4,hosts=1", "torus:dims=3x3x3,hosts=1", "dragonfly",
	} {
		subnets = append(subnets, routingtest.NewSubnet(t, spec, minhop.Route))
	}
	var one, several, tooMany, oneWay, most int
	for range count {
		s, hosts := subnets[rng.IntN(len(subnets))].Changed(), rng.IntN(2) == 0
		for range rng.IntN(20) { // routes to LIDs that take another way at a switch, some of them in circles
			sw := rng.IntN(len(s.Tables.LFT))
			s.Tables.LFT[sw][1+rng.IntN(int(s.LIDs.Top))] = uint8(
				1 + rng.IntN(int(s.Topo.Nodes[s.Topo.Switches[sw]].NumPorts)))
		}
		arriving, tracer := s.Changed(), routing.NewTracer(s.Topo, s.LIDs)
		for lid := range arriving.Tables.LFT[0] {
			for from := range arriving.Tables.LFT {
				if loops(s, tracer, from, lid) {
					arriving.Tables.LFT[from][lid] = routing.NoPath
				}
			}
		}
		lanes := []int{1, 2, 4, 8, 15}[rng.IntN(5)]
		r := assign(t, s, lanes, hosts)
		sls, needed := r.SLs, r.Needed
		if (sls == nil) != (needed == 1 || needed > lanes) {
			t.Fatalf("seed %d: of %d lanes %d needed, SLs %v", seed, lanes, needed, sls)
		}
		if naive := arriving.Search(hosts); naive.HasLoop() != (needed > 1) {
			t.Fatalf("seed %d: %d lanes needed", seed, needed)
		}
		arriving.Tables.SLs = sls
		if sls != nil && arriving.Search(hosts).HasLoop() {
			t.Fatalf("seed %d: a lane has a loop", seed)
		}
		if sls != nil && sls.Count != needed {
			t.Errorf("seed %d: %d lanes needed, SLs below %d", seed, needed, sls.Count)
		}
		for from := range s.LIDs.Owner {
			for to := range s.LIDs.Owner {
				if a, b := sls.Of(mad.LID(from), mad.LID(to)), sls.Of(mad.LID(to), mad.LID(from)); a != b && !r.OneWay {
					t.Fatalf("seed %d: SL %d from LID %d to %d, and %d back", seed, a, from, to, b)
				}
			}
		}
		if r.OneWay {
			oneWay++
		}
		switch most = max(most, needed); {
		case needed == 1:
			one++
		case needed > lanes:
			tooMany++
		default:
			several++
		}
	}
	t.Logf("seed %d: %d with one lane, %d with more, %d of them one way, %d with too many, up to %d", seed, one,
		several, oneWay, tooMany, most)
	if one == 0 || several == 0 || tooMany == 0 || oneWay == 0 {
		t.Error("some case did not happen")
	}
}

// loops reports whether packets from a switch to a LID go round in a circle.
func loops(s *routingtest.Subnet, tracer *routing.Tracer, from, lid int) bool {
	at := topo.SwitchIdx(from)
	for range s.Topo.Switches {
		port := s.Tables.LFT[at][lid]
		if at = tracer.Next(at, port); at == topo.None {
			return false
		}
	}
	return true
}

// TestFew: in a ring less than half of the pairs leave the first lane.
func TestFew(t *testing.T) {
	s := routingtest.NewSubnet(t, "torus:dims=29,hosts=2", minhop.Route)
	r := assign(t, s, 15, true)
	if r.Needed != 2 || r.OneWay {
		t.Fatalf("%+v", r)
	}
	moved, pairs := 0, 0
	for _, row := range r.SLs.Rows {
		for _, sl := range row {
			if pairs++; sl > 0 {
				moved++
			}
		}
	}
	t.Logf("%d of %d pairs have an SL other than 0", moved, pairs)
	if moved*2 > pairs {
		t.Errorf("%d of %d pairs have an SL other than 0", moved, pairs)
	}
}

// TestLash: the tables of lash need no more lanes than lash has for them.
func TestLash(t *testing.T) {
	for _, spec := range []string{"torus:dims=5x5,hosts=1", "torus:dims=4x4x4,hosts=1",
		"random:switches=40,degree=4,hosts=1,seed=5", "dragonfly", "hyperx"} {
		s := routingtest.NewSubnet(t, spec, lash.New(lash.Settings{}))
		if r := assign(t, s, 15, false); r.Needed > s.Tables.SLs.Count || r.OneWay {
			t.Errorf("%s: %d lanes needed, lash %d", spec, r.Needed, s.Tables.SLs.Count)
		}
	}
}

// TestWorkers: the SLs do not depend on the number of processors.
func TestWorkers(t *testing.T) {
	s := routingtest.NewSubnet(t, "torus:dims=5x4x3,hosts=2", minhop.Route)
	in := In{s.Topo, s.LIDs, routing.NewForwarding(s.Topo, s.LIDs, s.Tables), 15, true, 1}
	a, err := Assign(t.Context(), in)
	in.Workers = 8
	b, err2 := Assign(t.Context(), in)
	if err != nil || err2 != nil || a.SLs == nil || !reflect.DeepEqual(a, b) {
		t.Error(a, b, err, err2)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Assign(ctx, in); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkAssign(b *testing.B) {
	for _, spec := range []string{"fattree:k=36", "fattree:k=36,missing-links=2%", "torus:dims=6x6x6,hosts=4",
		"torus:dims=9x9x9,hosts=16"} {
		b.Run(spec, func(b *testing.B) {
			s := routingtest.NewSubnet(b, spec, minhop.Route)
			var r *Result
			for b.Loop() {
				r = assign(b, s, 15, true)
			}
			b.ReportMetric(float64(r.Needed), "lanes")
		})
	}
}

// TestOnCycle: a pair of switches is one to move exactly if one of its paths has an edge in a circle,
// also where the path leads into one that has been followed before.
func TestOnCycle(t *testing.T) {
	for _, spec := range []string{"fattree:k=8,missing-links=10%", "random:switches=40,degree=3,hosts=1",
		"torus:dims=5x4,hosts=1"} {
		s := routingtest.NewSubnet(t, spec, minhop.Route)
		g := newGraph(In{s.Topo, s.LIDs, routing.NewForwarding(s.Topo, s.LIDs, s.Tables), 15, false, 0})
		if err := g.follow(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.findCircles()
		sets, err := g.onCycle(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var count [2]int
		for _, from := range g.sources {
			for home, lids := range g.homes {
				want := false
				for _, lid := range lids {
					for c := g.channel(from, lid); c >= 0; {
						next := g.channel(int32(g.next[c]), lid)
						want = want || next >= 0 && g.edge(c, next) >= 0
						c = next
					}
				}
				if sets[from].has(home) != want {
					t.Fatalf("%s: from switch %d to switch %d: %v", spec, from, home, !want)
				}
				if want {
					count[1]++
				} else {
					count[0]++
				}
			}
		}
		if count[0] == 0 || count[1] == 0 {
			t.Errorf("%s: %d without, %d with an edge in a circle", spec, count[0], count[1])
		}
	}
}

// TestWide: a ring of switches needs two lanes whatever ports its cables are at.
func TestWide(t *testing.T) {
	for _, ports := range [][2]int{{1, 2}, {62, 63}, {63, 64}, {64, 65}, {127, 128}, {253, 254}} {
		var text strings.Builder
		for s := range 6 {
			fmt.Fprintf(&text,
				"switchguid=%#x\nSwitch 254 \"s%d\"\n[3] \"h%d\"[1]\n[%d] \"s%d\"[%d]\n[%d] \"s%d\"[%d]\n\n", 0x201+s,
				s, s, ports[0], (s+1)%6, ports[1], ports[1], (s+5)%6, ports[0])
			fmt.Fprintf(&text, "caguid=%#x\nHca 1 \"h%d\"\n[1] \"s%d\"[3]\n\n", 0x1000+s*16, s, s)
		}
		n, err := net.Parse("ring", []byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		found, err := netwalk.Topo(n, net.NoEnd)
		if err != nil {
			t.Fatal(err)
		}
		s := &routingtest.Subnet{Topo: found, LIDs: topo.SequentialLIDs(found, 0)}
		if s.Tables, err = minhop.Route(t.Context(), routing.In{Topo: found, LIDs: s.LIDs}); err != nil {
			t.Fatal(err)
		}
		if r := assign(t, s, 15, true); r.Needed != 2 {
			t.Errorf("cables at ports %v: %d lanes", ports, r.Needed)
		}
	}
}
