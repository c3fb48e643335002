package sim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// slowly is a latency at which a full walk of a small fabric takes long enough that
// something can happen meanwhile.
const slowly = 10 * time.Millisecond

// knows reports whether the view shows a cable at a port.
func (w *watched) knows(at net.End) bool {
	p := w.View.Topo.FindNode(w.harness.net.Nodes[at.Node].GUID)
	return p != topo.None && w.View.Topo.Ports[w.View.Topo.Port(p, at.Port)].Peer != topo.None
}

// lose takes a link down and returns how long it takes until the view shows it.
func (w *watched) lose(at net.End) time.Duration {
	w.harness.Helper()
	if !w.knows(at) {
		w.harness.Fatal("the link is not there to begin with")
	}
	begun := w.harness.Fabric.Now()
	w.harness.Fabric.LinkDown(at)
	if !w.harness.Run(begun+settling, func() bool { return !w.knows(at) }) {
		w.harness.Fatal("the lost link was never missed")
	}
	return w.harness.Fabric.Now() - begun
}

// lostLinks logs how long it takes to see that a link is lost in a quiet fabric, and
// while something else goes on that disturb begins.
func (w *watched) lostLinks(at net.End, disturb func()) (quiet, disturbed time.Duration) {
	w.harness.Helper()
	quiet = w.lose(at)
	w.harness.Fabric.LinkUp(at)
	w.harness.pass(settling)
	disturb()
	disturbed = w.lose(at)
	w.harness.Fabric.LinkUp(at)
	w.harness.pass(settling)
	return quiet, disturbed
}

// A link that is lost while a full walk goes on, or a plan is made, is seen nearly as soon
// as in a quiet fabric, and what was under way ends all the same.
func TestLinkLostDuringFullWalk(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	for name, kind := range ordered(map[string]manager.Sweep{"heavy": manager.Heavy, "plan": manager.Plan}) {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1, Latency: slowly})
			cfg := minhopConfig()
			cfg.SweepInterval = 0
			m := b.comeUp(cfg)
			ended := 0
			forward := m.OnAction
			m.OnAction = func(now time.Duration, a manager.Action) {
				if p, ok := a.(manager.Planned); ok && p.Err == nil {
					ended++
				}
				forward(now, a)
			}
			whole := b.walks(m)
			quiet, disturbed := m.lostLinks(uplink(n, b.Fabric.Peer(host(n, 7)).Node), func() {
				b.Ask(m.Manager, kind)
				b.pass(whole * 3 / 4) // so that the switch has been asked already
			})
			t.Logf("a full walk takes %v; the lost link is seen after %v, during the walk after %v", whole, quiet,
				disturbed)
			if disturbed > quiet+quiet/2 {
				t.Errorf("a lost link is seen after %v, during a full walk after %v", quiet, disturbed)
			}
			if kind == manager.Plan && ended != 1 {
				t.Errorf("%d plans came of one", ended)
			}
			b.mustBeWhole(m)
		})
	}
}

// walks is how long a full walk takes.
func (b *harness) walks(m *watched) time.Duration {
	b.Helper()
	begun, took := b.Fabric.Now(), time.Duration(0)
	forward := m.OnAction
	m.OnAction = func(now time.Duration, a manager.Action) {
		if t, ok := a.(manager.Task); ok && t.Routes != nil {
			took = now - begun
		}
		forward(now, a)
	}
	m.sweep(manager.Heavy)
	m.OnAction = forward
	return took
}

// Traps that do not end do not keep a full walk from coming to its end, whether links change
// their state or not: what only that walk can see is repaired.
func TestTrapsDuringFullWalk(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	for name, strike := range ordered(map[string]func(b *harness, m *watched, at net.End, i int){
		"nothing but traps": func(b *harness, m *watched, at net.End, i int) {
			sender := b.Fabric.PortInfo(net.End{Node: at.Node})
			b.Deliver(m.Manager, trapOf(smp.TrapLinkState, sender.LID(), i+1))
		},
		"a flapping port": func(b *harness, m *watched, at net.End, i int) {
			if i%20 == 0 {
				b.Fabric.LinkDown(at)
			} else if i%20 == 10 {
				b.Fabric.LinkUp(at)
			}
		},
	}) {
		t.Run(name, func(t *testing.T) {
			strange := false
			b := newHarness(t, n,
				fabric.Config{Seed: 1, Latency: 2 * slowly, Caps: defective(host(n, 40).Node, otherwise(&strange))})
			m := b.comeUp(minhopConfig())
			if whole := b.walks(m); whole < 2*time.Second {
				t.Fatalf("no test: a full walk takes %v, and traps are a second apart", whole)
			}
			strange = true
			b.Ask(m.Manager, manager.Heavy)
			begun, at := b.Fabric.Now(), b.Fabric.Peer(host(n, 7))
			for i := 0; strange && b.Fabric.Now() < begun+settling; i++ {
				strike(b, m, at, i)
				b.pass(20 * time.Millisecond)
			}
			took := b.Fabric.Now() - begun
			t.Logf("the heavy sweep came through after %v", took)
			if strange || took > 15*time.Second {
				t.Errorf("a heavy sweep in a storm of traps has not ended after %v", took)
			}
			b.Fabric.LinkUp(at)
			b.pass(settling)
			b.mustBeWhole(m)
		})
	}
}

// otherwise makes an agent show another value of its PortInfo than it was sent, until
// it is sent it again.
func otherwise(strange *bool) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		status := obey()
		if p.AttrID() == smp.AttrPortInfo && p.Method() == mad.MethodSet {
			*strange = false
		} else if p.AttrID() == smp.AttrPortInfo && *strange {
			(*smp.PortInfo)(p.Data()).SetMasterSMLID(0x77) // as if another manager had written it
		}
		return status, true
	}
}

// A full walk that is given up for a quick one takes with it the changes that it has
// cleared: the quick one finds those of both.
func TestChangesOfAWalkGivenUp(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1, Latency: slowly})
	cfg := minhopConfig()
	cfg.SweepInterval = 0
	m := b.comeUp(cfg)
	first, second := b.Fabric.Peer(host(n, 7)), b.Fabric.Peer(host(n, 90))
	silenced := b.Fabric.PortInfo(net.End{Node: first.Node})
	m.Heard = func(received []mad.Datagram) { // but the trap of the first is lost
		for i := range received {
			p := &received[i].Packet
			if p.Method() == mad.MethodTrap && (*smp.Notice)(p.Data()).LinkState().LID() == silenced.LID() {
				p.SetMethod(mad.MethodTrapRepress)
			}
		}
	}
	whole := b.walks(m)
	b.Fabric.LinkDown(first)
	b.Ask(m.Manager, manager.Heavy)
	b.pass(whole * 3 / 4)
	if !m.knows(first) || !m.knows(second) {
		t.Fatal("no test")
	}
	m.lose(second)
	if m.knows(first) {
		t.Error("the quick walk does not know of a change that the full one has cleared")
	}
	m.Heard = nil
	b.pass(settling)
}

// Whatever happens whenever during full walks, in the end the fabric is whole, and what is
// known of it is what a full walk finds.
func TestFullWalksPutOff(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 8))
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarness(t, n, fabric.Config{Seed: seed, Latency: slowly, TrainTime: 5 * time.Millisecond})
		m := b.comeUp(minhopConfig())
		self := b.Fabric.Peer(firstHost(n))
		for range 20 {
			b.Ask(m.Manager, []manager.Sweep{manager.Heavy, manager.Light, manager.Reroute, manager.Plan}[rng.IntN(4)])
			for range 1 + rng.IntN(4) {
				b.pass(time.Duration(rng.Int64N(int64(400 * time.Millisecond))))
				change(b, rng, self.Node)
			}
			b.pass(10 * time.Second)
			before := m.View
			m.sweep(manager.Heavy)
			if text := difference(before.Topo, m.View.Topo); text != "" {
				t.Fatalf("seed %d: %s", seed, text)
			}
			b.mustBeWhole(m)
		}
	}
}
