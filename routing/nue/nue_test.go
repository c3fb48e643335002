package nue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// TestPromise: with any number of lanes every pair is connected, and there is no credit loop: between
// hosts, or if switches are included, at all. LIDs have holes, and some end ports are routers.
func TestPromise(t *testing.T) {
	seeds := 10
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 500
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		for _, form := range []string{
			"random:switches=20,degree=3,hosts=2,seed=%d", "random:switches=30,degree=5,hosts=1,seed=%d",
			"torus:dims=4x4,hosts=2,missing-links=10%%,seed=%d",
			"mesh:dims=3x3x3,hosts=1,missing-links=5%%,seed=%d", "fattree:k=4,missing-links=10%%,seed=%d",
			"dragonfly:missing-links=10%%,seed=%d",
			"hypercube:missing-links=10%%,seed=%d",
		} {
			in := routingtest.Problem(t, fmt.Sprintf(form, seed))
			for n := range in.Topo.Nodes {
				if node := &in.Topo.Nodes[n]; node.Type == mad.CA && rng.IntN(8) == 0 {
					node.Type = mad.Router
				}
			}
			in.LIDs = holes(in, rng)
			s := Settings{MaxVLs: uint8(rng.IntN(9)), QoS: true, Switches: rng.IntN(2) == 0}
			tables, err := New(s)(t.Context(), in)
			if err != nil {
				t.Fatalf(form+" %+v: %v", seed, s, err)
			}
			mustKeep(t, in, tables, s)
		}
	}
}

// holes are random LIDs and LMCs, with some between them that nobody has.
func holes(in routing.In, rng *rand.Rand) *topo.LIDs {
	base, lmc := make([]mad.LID, len(in.Topo.Ports)), make([]uint8, len(in.Topo.Ports))
	next := mad.LID(1)
	for _, i := range rng.Perm(len(in.Topo.EndPorts)) {
		p := in.Topo.EndPorts[i]
		if in.Topo.Nodes[in.Topo.Ports[p].Node].Type != mad.Switch {
			lmc[p] = uint8(rng.IntN(3))
		}
		next = (next+mad.LID(rng.IntN(5))+3)&^3 + 4
		base[p] = next
	}
	return topo.NewLIDs(base, lmc)
}

func mustKeep(t *testing.T, in routing.In, tables *routing.Tables, s Settings) {
	t.Helper()
	report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
	if err != nil || report.Bad() != 0 {
		t.Fatalf("%+v: %v, %v", s, report, err)
	}
	c := creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: routing.NewForwarding(in.Topo, in.LIDs, tables),
		SLs: tables.SLs}
	if s.Switches {
		c.Traffic = creditloop.All
	}
	if loops, err := creditloop.Find(t.Context(), c); err != nil || loops.Loop != nil {
		t.Fatalf("%+v: %+v, %v", s, loops.Loop, err)
	}
}

// TestRefuses: a subnet in two parts is refused with the names of two switches.
func TestRefuses(t *testing.T) {
	in := routingtest.Problem(t, "mesh:dims=1x3,hosts=1")
	for p := range in.Topo.Ports {
		if port := &in.Topo.Ports[p]; port.Peer != topo.None && in.Topo.Nodes[port.Node].Switch == 0 &&
			in.Topo.SwitchOf(port.Peer) > 0 {
			in.Topo.Ports[port.Peer].Peer, port.Peer = topo.None, topo.None
		}
	}
	if _, err := New(Settings{})(t.Context(), in); err == nil || strings.Count(err.Error(), `"switch-`) != 2 {
		t.Error(err)
	}
}

// TestSmall: subnets of one switch, with and without hosts, and of none.
func TestSmall(t *testing.T) {
	for name, text := range map[string]string{
		"one switch": "switchguid=0x201\nSwitch 8 \"a\"\n[1] \"h1\"[1]\n\ncaguid=0x1000\nHca 1 \"h1\"\n[1] \"a\"[1]\n",
		"no host":    "switchguid=0x201\nSwitch 8 \"a\"\n",
		"two hosts":  "caguid=0x1000\nHca 1 \"h1\"\n[1] \"h2\"[1]\n\ncaguid=0x2000\nHca 1 \"h2\"\n[1] \"h1\"[1]\n",
	} {
		for _, s := range []Settings{{}, {MaxVLs: 0, QoS: true, Switches: true}} {
			in := parse(t, text)
			tables, err := New(s)(t.Context(), in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(in.Topo.Switches) > 0 {
				mustKeep(t, in, tables, s)
			}
		}
	}
}

func parse(t *testing.T, text string) routing.In {
	t.Helper()
	fabric, err := net.Parse("text", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	found, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return routing.In{Topo: found, LIDs: topo.SequentialLIDs(found, 0)}
}

// TestLanes: routes get as many lanes as the least link has, and as the operator permits.
func TestLanes(t *testing.T) {
	in := routingtest.Problem(t, "torus:dims=4x4,hosts=2")
	in.Lanes = make([]uint8, len(in.Topo.Ports))
	for p := range in.Lanes {
		in.Lanes[p] = 8
	}
	in.Lanes[in.Topo.Port(in.Topo.Switches[0], 1)] = 4
	for _, c := range []struct {
		Settings
		want int
	}{{Settings{QoS: true}, 4}, {Settings{QoS: true, MaxVLs: 8}, 4}, {Settings{QoS: true, MaxVLs: 2}, 2},
		{Settings{MaxVLs: 2}, 1}} {
		tables, err := New(c.Settings)(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got := tables.SLs; c.want == 1 && got != nil || c.want > 1 && got.Count != c.want {
			t.Errorf("%+v: %+v, want %d lanes", c.Settings, got, c.want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if tables, err := New(Settings{})(ctx, routingtest.Problem(t, "fattree:k=4")); err != context.Canceled ||
		tables != nil {
		t.Error(tables, err)
	}
}

// TestOrder: a dependency is refused exactly when it closes a circle, while others come and go.
func TestOrder(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 1))
	refused := 0
	for i := range 20 {
		l := newLayer(t.Context(),
			newNetwork(routingtest.Problem(t, fmt.Sprintf("random:switches=12,degree=4,hosts=1,seed=%d", i)), false),
			true)
		l.order.reset()
		for range 2000 {
			c := int32(rng.IntN(len(l.to)))
			v := l.to[c]
			on := l.first[v] + int32(rng.IntN(int(l.first[v+1]-l.first[v])))
			switch e := l.dependency(c, on); {
			case l.state[e] == blocked:
			case l.state[e] == used:
				l.state[e] = unused
			case l.order.reaches(on, c) == l.order.add(c, on):
				t.Fatalf("seed %d: %d on %d", seed, c, on)
			case l.order.reaches(on, c):
				refused++
			default:
				l.state[e] = used
			}
		}
		for c := range l.to {
			l.order.each(int32(c), func(d int32) {
				if l.order.number[c] >= l.order.number[d] {
					t.Fatalf("%d does not come before %d", c, d)
				}
			})
		}
	}
	if refused == 0 {
		t.Error("no circle happened")
	}
}

func BenchmarkNue(b *testing.B) {
	for _, spec := range []string{"fattree:k=16", "fattree:k=16,missing-links=5%", "torus:dims=6x6x6,hosts=1"} {
		b.Run(spec, func(b *testing.B) {
			in := routingtest.Problem(b, spec)
			for b.Loop() {
				if _, err := New(Settings{})(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
