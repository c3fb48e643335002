package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// With drop_event_subscriptions a standby that takes over knows of no subscription of the
// master's and asks all to register again, as OpenSM does on leaving STANDBY; their groups
// stay. Without, nobody is asked.
func TestSubscriptionsEndWithTheirMaster(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		t.Run(fmt.Sprint(dropped), func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			high, low := registrarConfig(), registrarConfig()
			high.Elect.Priority, low.Elect.Priority = 9, 3
			high.Registrar.DropSubscriptions, low.Registrar.DropSubscriptions = dropped, dropped
			first, second := b.add(host(n, 0), high), b.add(host(n, 6), low)
			t.Cleanup(second.dump)
			b.pass(settling)
			clients := b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2, 3, 4)
			b.ask(clients, b.Fabric.Now()+10*time.Second, true)
			b.ask(clients, b.Fabric.Now()+5*time.Second, false)
			for _, c := range clients {
				c.TakeReregister()
			}
			before := first.Registrar().State().Counts()
			if before.Subscriptions == 0 || before.Members == 0 {
				t.Fatalf("only %+v is registered", before)
			}
			b.Kill(first.Manager)
			b.pass(2 * time.Minute)
			if second.last() != smp.Master {
				t.Fatalf("the second is %v", second.last())
			}
			want := before
			if dropped {
				want.Subscriptions = 0
			}
			if got := second.Registrar().State().Counts(); got != want {
				t.Errorf("%+v is registered, want %+v", got, want)
			}
			for _, c := range clients {
				if asked := c.TakeReregister(); asked != dropped {
					t.Errorf("%v was asked to register again: %t", c.At(), asked)
				}
			}
		})
	}
}
