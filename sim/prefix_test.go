package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net/nettest"
)

// TestSubnetPrefix: another subnet prefix, after a restart or by a standby that has another one, is written to all
// ports, as OpenSM does at its start; what clients have registered stays, under their new GIDs, and they are asked to
// register again.
func TestSubnetPrefix(t *testing.T) {
	const site mad.Prefix = 0xfec0000000000008
	for name, standby := range map[string]bool{"restart": false, "takeover": true} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 0x9ef1))
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			first, second := registrarConfig(), registrarConfig()
			first.Elect.Priority, second.Elect.Priority = 9, 3
			second.Sweep.Settings.SubnetPrefix = sweep.Given(site)
			disk := sim.NewDisk(time.Millisecond)
			m := b.addKept(host(n, 0), first, disk)
			next := m
			if standby {
				next = b.addKept(host(n, 6), second, sim.NewDisk(time.Millisecond))
			}
			b.pass(settling)
			clients := b.clients(rng, 1, 2, 3, 4, 5, 7)
			b.ask(clients, b.Fabric.Now()+10*time.Second, true)
			b.ask(clients, b.Fabric.Now()+time.Minute, false)
			b.mustHold(m, clients)
			for _, c := range clients {
				c.TakeReregister()
			}
			b.Kill(m.Manager)
			if !standby {
				next = b.addKept(host(n, 0), second, disk)
			}
			if !b.Run(b.Fabric.Now()+settling, func() bool { return next.View != nil && next.last() == smp.Master }) {
				t.Fatal("no manager is master")
			}
			b.pass(settling)
			for i, c := range clients {
				info := b.Fabric.PortInfo(c.At())
				if p := info.GidPrefix(); p != site {
					t.Errorf("client %d has prefix %v", i, p)
				}
				if !c.TakeReregister() {
					t.Errorf("client %d was not asked to register again", i)
				}
				c.gid = mad.MakeGID(site, c.gid.GUID())
			}
			b.mustHold(next, clients)
			mustHavePrefix(t, next.Registrar().State(), site)
		})
	}
}

// mustHavePrefix fails the test if a registration has a GID with another prefix.
func mustHavePrefix(t *testing.T, s *registry.State, want mad.Prefix) {
	t.Helper()
	var wrong []string
	for c := range s.Changes() {
		switch c := c.(type) {
		case registry.PutMember:
			if c.Port.Prefix() != want {
				wrong = append(wrong, fmt.Sprintf("member %v", c.Port))
			}
		case registry.PutSubscription:
			if c.Subscriber.Prefix() != want {
				wrong = append(wrong, fmt.Sprintf("subscriber %v", c.Subscriber))
			}
		}
	}
	if counts := s.Counts(); len(wrong) > 0 || counts.Members == 0 || counts.Subscriptions == 0 {
		t.Errorf("%+v, of which have another prefix: %v", counts, wrong)
	}
}
