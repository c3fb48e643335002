package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// fate is what happens while the mastership is handed over.
type fate int

const (
	fateless  fate = iota
	oldDies        // at a random moment
	newDies        // at a random moment
	orderLost      // HANDOVER does not come
	numOfFates
)

// A manager that ranks higher comes while clients join and leave and packets are lost. It
// is handed the mastership, and nothing that was acknowledged is lost, by whomever; nobody
// is asked to register again. If one of the two dies meanwhile, the other has what was
// acknowledged 100 ms before, or asks those that may have lost something.
func TestHandoverLosesNothing(t *testing.T) {
	asked := map[fate]int{}
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			what := fate(seed % uint64(numOfFates))
			asked[what] += handoverUnderLoad(t, seed, what)
		})
	}
	if asked[fateless]+asked[orderLost] > 0 {
		t.Errorf("clients were asked to register again: %v", asked)
	}
	t.Logf("clients that were asked to register again: %d where the old master died, %d where the new one did",
		asked[oldDies], asked[newDies])
}

func handoverUnderLoad(t *testing.T, seed uint64, what fate) (asked int) {
	rng := rand.New(rand.NewPCG(seed, 0x4a4d))
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: rng.Uint64(), Latency: pick(rng, latency, 2*time.Millisecond)})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.add(host(n, 0), low)
	t.Cleanup(first.dump)
	b.pass(settling)
	clients := b.clients(rng, 1, 2, 3, 4, 5, 7)
	b.Fabric.SetFaults(fabric.Faults{Loss: pick(rng, 0, 0.01, 0.05), Duplicate: pick(rng, 0, 0.05), Reorder: 0.05,
		ReorderBy: time.Millisecond})
	b.ask(clients, b.Fabric.Now()+10*time.Second, true)
	for _, c := range clients {
		c.TakeReregister()
	}
	second := b.add(host(n, 6), high)
	t.Cleanup(second.dump)
	if what == orderLost {
		second.Heard = loseOrders(second, b.Fabric.Now()+10*time.Second)
	}
	survivor := second
	switch what {
	case oldDies, newDies:
		b.ask(clients, b.Fabric.Now()+
			time.Duration(rng.Int64N(int64(pick(rng, 40*time.Millisecond, 200*time.Millisecond, 2*time.Second)))), true)
		victim := first
		if what == newDies {
			victim, survivor = second, first
		}
		killed, before := b.Fabric.Now(), first.Registrar().State()
		if second.View != nil {
			before = second.Registrar().State()
		}
		b.Kill(victim.Manager)
		b.pass(2 * time.Minute)
		var kept []*client
		for _, c := range clients {
			if c.TakeReregister() {
				asked++
			} else {
				kept = append(kept, c)
			}
		}
		b.mustHaveInherited(survivor.Registrar().State(), before, killed, kept)
	default:
		b.ask(clients, b.Fabric.Now()+20*time.Second, true)
		b.Fabric.SetFaults(fabric.Faults{})
		b.ask(clients, b.Fabric.Now()+time.Minute, false)
		b.mustHold(survivor, clients)
		for _, c := range clients {
			if c.TakeReregister() {
				asked++
			}
		}
		if first.last() != smp.Standby {
			t.Errorf("the lower is %v", first.last())
		}
	}
	if survivor.last() != smp.Master || survivor.View == nil {
		t.Errorf("the manager that is left is %v", survivor.last())
	}
	return asked
}

// loseOrders loses HANDOVER for some time.
func loseOrders(m *watched, until time.Duration) func([]mad.Datagram) {
	return func(received []mad.Datagram) {
		for i := range received {
			p := &received[i].Packet
			if m.harness.Fabric.Now() < until && p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodSet {
				received[i] = mad.Datagram{}
			}
		}
	}
}

// One that never mirrors, as its m_key is another, is handed the mastership all the same,
// ten seconds later; then clients are asked.
func TestHandoverWithoutMirror(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	high.Registrar.Mirror.MKey = 7
	first := b.add(host(n, 0), low)
	b.pass(settling)
	clients := b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2)
	for _, c := range clients {
		c.TakeReregister()
	}
	began := b.Fabric.Now()
	second := b.add(host(n, 6), high)
	t.Cleanup(second.dump)
	if !b.Run(began+settling, func() bool { return second.last() == smp.Master }) {
		t.Fatal("the higher is not handed the mastership")
	}
	if took := b.Fabric.Now() - began; took < 9*time.Second || took > 12*time.Second {
		t.Errorf("it is handed the mastership after %v", took)
	}
	if first.says("does not mirror") != 1 {
		t.Error("the old master does not say that there is no mirror")
	}
	b.pass(settling)
	for i, c := range clients {
		if !c.TakeReregister() {
			t.Errorf("client %d was not asked to register again", i)
		}
	}
}

// One that is not of our own kind is handed the mastership at once.
func TestHandoverToOthers(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.add(host(n, 0), low)
	t.Cleanup(first.dump)
	b.pass(settling)
	plain := rival{plain: true, m: b.add(host(n, 6), high)}
	plain.m.OnAction = func(now time.Duration, a manager.Action) {
		plain.m.took(now, a)
		if s, ok := a.(manager.Send); ok {
			for i := range s.Datagrams {
				plain.blind(&s.Datagrams[i].Packet)
			}
		}
	}
	b.pass(2 * time.Second)
	if first.last() != smp.Standby || plain.m.last() != smp.Master {
		t.Fatalf("the lower is %v, the higher %v", first.last(), plain.m.last())
	}
}
