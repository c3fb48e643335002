package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sa/mirror"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// foreign makes a manager one of another kind for its standbys: it does not see by what
// they ask whether it is of theirs, and is not asked by the exchange between managers.
func foreign(received []mad.Datagram) {
	for i := range received {
		if p := &received[i].Packet; p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet {
			clear(p.Data()[56:])
		}
	}
}

// When a master of another kind dies, its standby goes on with what it has read by SA
// queries, on the same MLIDs. If it asks nobody to register again, it has all that was
// acknowledged when its last reading may have begun.
func TestStandbyOfAnotherKind(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			rng := rand.New(rand.NewPCG(seed, 0xf0e1))
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: rng.Uint64()})
			high, low := registrarConfig(), registrarConfig()
			high.Elect.Priority, low.Elect.Priority = 9, 3
			high.SAKey, low.Registrar.Mirror.SAKey = 1, 1
			low.Elect.PollInterval, low.Elect.PollRetries = 500*time.Millisecond, 1
			first := b.add(host(n, 0), high)
			first.Heard = foreign
			second := b.addKept(host(n, 6), low, sim.NewDisk(time.Millisecond))
			t.Cleanup(second.dump)
			t.Cleanup(first.dump)
			b.pass(settling)
			if first.last() != smp.Master || second.last() != smp.Standby ||
				second.says("INFO", "of the master by SA queries") != 1 {
				t.Fatalf("the higher is %v, the lower %v", first.last(), second.last())
			}
			clients := b.clients(rng, 1, 2, 3, 4, 5, 7)
			loss := pick(rng, 0, 0, 0.02)
			b.Fabric.SetFaults(fabric.Faults{Loss: loss})
			b.ask(clients, b.Fabric.Now()+10*time.Second, true)
			b.ask(clients, b.Fabric.Now()+6*time.Second, false)
			b.Run(b.Fabric.Now()+time.Duration(rng.Int64N(int64(time.Second))), nil)
			for _, c := range clients {
				c.TakeReregister()
			}
			killed, before := b.Fabric.Now(), first.Registrar().State()
			b.Kill(first.Manager)
			if !b.Run(killed+settling, func() bool { return second.View != nil }) {
				t.Fatal("the second manager does not take over")
			}
			b.Run(b.Fabric.Now()+time.Millisecond, nil) // its registrar learns of that
			if st := second.Registrar().MirrorStats().Reader; st.Readings < 5 {
				t.Errorf("%+v", st)
			}
			asked := false
			for _, c := range clients {
				asked = c.TakeReregister() || asked
			}
			if !asked {
				b.mustHaveInheritedSince(mirror.ReadSlack, second.Registrar().State(), before, killed, clients)
			} else if loss == 0 && second.says("WARN", "may be incomplete") > 0 {
				t.Error("the mirror is doubted where nothing is lost")
			}
			b.Fabric.SetFaults(fabric.Faults{})
			b.ask(clients, b.Fabric.Now()+10*time.Second, true)
			b.ask(clients, b.Fabric.Now()+10*time.Second, false)
			b.mustHold(second, clients)
		})
	}
}

// TestLeaveEndsSubscriptions: a standby that is asked to end has no subscription with a master of another kind any
// more.
func TestLeaveEndsSubscriptions(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	high.SAKey, low.Registrar.Mirror.SAKey = 1, 1
	first := b.add(host(n, 0), high)
	first.Heard = foreign
	second := b.addKept(host(n, 6), low, sim.NewDisk(time.Millisecond))
	b.pass(settling)
	subscriptions := func() int { return first.Registrar().State().Counts().Subscriptions }
	if subscriptions() == 0 {
		t.Fatalf("the standby, which is %v, has no subscriptions", second.last())
	}
	b.Leave(second.Manager)
	b.pass(settling)
	if n := subscriptions(); n != 0 {
		t.Errorf("the standby has left %d subscriptions", n)
	}
}

// A master that is not ibsm dies so that only polls show it: the requests that
// have no answer meanwhile do not make dirty what was read before.
func TestStandbyOfTheUnresponsive(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	high.SAKey, low.Registrar.Mirror.SAKey = 1, 1
	low.Elect.PollInterval, low.Elect.PollRetries = 2*time.Second, 8
	first := b.add(host(n, 0), high)
	first.Heard = foreign
	second := b.add(host(n, 6), low)
	t.Cleanup(second.dump)
	b.pass(settling)
	clients := b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2, 3)
	b.ask(clients, b.Fabric.Now()+10*time.Second, true)
	b.ask(clients, b.Fabric.Now()+5*time.Second, false)
	for _, c := range clients {
		c.TakeReregister()
	}
	before, stopped := first.Registrar().State(), b.Fabric.Now()
	first.Asleep = stopped + time.Hour
	if !b.Run(stopped+5*time.Minute, func() bool { return second.View != nil }) {
		t.Fatal("the second manager does not take over")
	}
	if took := b.Fabric.Now() - stopped; took < 10*time.Second {
		t.Errorf("it took over after %v, too soon for a question to be given up", took)
	}
	b.Run(b.Fabric.Now()+time.Millisecond, nil)
	b.mustHaveInheritedSince(mirror.ReadSlack, second.Registrar().State(), before, stopped, clients)
	b.mustAskNobody(clients)
}

// A standby whose port is not shown everything says so, and has clients register again.
func TestStandbyIncomplete(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	high.SAKey, low.Registrar.Mirror.SAKey = 1, 1
	low.Registrar.Mirror.Keys = []mad.PKey{mad.DefaultPKey, 0x8005}
	first := b.add(host(n, 0), high)
	first.Heard = foreign
	second := b.add(host(n, 6), low)
	t.Cleanup(second.dump)
	b.pass(settling)
	if logged := second.says("WARN", "may be incomplete"); logged != 1 {
		t.Errorf("logged %d times", logged)
	}
	clients := b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2)
	b.ask(clients, b.Fabric.Now()+10*time.Second, true)
	b.ask(clients, b.Fabric.Now()+5*time.Second, false)
	for _, c := range clients {
		c.TakeReregister()
	}
	before := first.Registrar().State()
	b.Kill(first.Manager)
	killed := b.Fabric.Now()
	b.pass(2 * time.Minute)
	b.mustHaveInheritedSince(mirror.ReadSlack, second.Registrar().State(), before, killed, clients)
	for i, c := range clients {
		if !c.TakeReregister() {
			t.Errorf("client %d was not asked to register again", i)
		}
	}
}
