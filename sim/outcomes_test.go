package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// What docs/failover.md says of clocks, disks, stores, GUIDs and garbage.

// masterAndStandby are two managers and hosts that have registered something with the
// first, both configured as given.
func masterAndStandby(t *testing.T, high, low manager.Config, disks [2]*sim.Disk) (b *harness, first, second *watched,
	clients []*client) {
	t.Helper()
	n := nettest.Generate(t, "fattree:k=4")
	b = newHarness(t, n, fabric.Config{Seed: 1})
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first = b.addKept(host(n, 0), high, disks[0])
	second = b.addKept(host(n, 6), low, disks[1])
	t.Cleanup(second.dump)
	b.pass(settling)
	clients = b.clients(rand.New(rand.NewPCG(1, 1)), 1, 2, 3, 4)
	b.ask(clients, b.Fabric.Now()+10*time.Second, true)
	b.ask(clients, b.Fabric.Now()+5*time.Second, false)
	for _, c := range clients {
		c.TakeReregister()
	}
	return b, first, second, clients
}

// mustGoOn kills the master, and holds that the standby has everything and asks nobody.
func (b *harness) mustGoOn(first, second *watched, clients []*client) {
	b.Helper()
	before, killed := first.Registrar().State(), b.Fabric.Now()
	b.Kill(first.Manager)
	b.pass(settling)
	if second.last() != smp.Master {
		b.Fatalf("the second is %v", second.last())
	}
	b.mustHaveInherited(second.Registrar().State(), before, killed, clients)
	b.mustAskNobody(clients)
}

// The clocks of two managers may differ by any time.
func TestClocksDiffer(t *testing.T) {
	for _, ahead := range []int64{-1_000_000_000, -3600, 3600, 1_000_000_000} {
		t.Run(fmt.Sprint(ahead, " s"), func(t *testing.T) {
			high, low := registrarConfig(), registrarConfig()
			high.Epoch, high.Registrar.Began = 1_700_000_000, 1_700_000_000
			low.Epoch, low.Registrar.Began = high.Epoch+ahead, high.Epoch+ahead
			b, first, second, clients := masterAndStandby(t, high, low, [2]*sim.Disk{})
			b.mustGoOn(first, second, clients)
		})
	}
}

// A host that has slept, or a time of day that is set forward, has a master ask the others
// before it writes again.
func TestHostSlept(t *testing.T) {
	b, first, second, clients := masterAndStandby(t, registrarConfig(), registrarConfig(), [2]*sim.Disk{})
	b.Sleep(first.Manager, time.Second) // what a busy host may take
	b.pass(time.Second)
	if first.says("querying all other managers before") != 0 {
		t.Error("a second counts as sleep")
	}
	b.Sleep(first.Manager, time.Hour)
	b.pass(settling)
	if first.says("querying all other managers before") != 1 || first.last() != smp.Master ||
		second.last() != smp.Standby {
		t.Errorf("logged %d times, the first is %v", first.says("querying all other managers before"), first.last())
	}
	b.mustAskNobody(clients)
}

// A disk that takes nothing any more, at the master or at the standby, loses nothing while
// the other lives: replies leave late.
func TestDiskFull(t *testing.T) {
	for full, name := range []string{"master", "standby"} {
		t.Run(name, func(t *testing.T) {
			disks := [2]*sim.Disk{sim.NewDisk(time.Millisecond), sim.NewDisk(time.Millisecond)}
			disks[full].WriteTime = 1000 * time.Hour
			b, first, second, clients := masterAndStandby(t, registrarConfig(), registrarConfig(), disks)
			if late := first.Registrar().Stats().Late; (late > 0) != (full == 0) {
				t.Errorf("%d replies left late", late)
			}
			b.mustGoOn(first, second, clients)
		})
	}
}

// The store of a manager that comes back is older than what the master has: the master's
// counts, whether the one that comes back stands by or is handed the mastership.
func TestOldStore(t *testing.T) {
	for _, comesBack := range []int{0, 1} {
		t.Run(fmt.Sprint("manager ", comesBack), func(t *testing.T) {
			disks := [2]*sim.Disk{sim.NewDisk(time.Millisecond), sim.NewDisk(time.Millisecond)}
			high, low := registrarConfig(), registrarConfig()
			b, first, second, clients := masterAndStandby(t, high, low, disks)
			both := [2]*watched{first, second}
			b.Kill(both[comesBack].Manager)
			b.pass(settling)
			old := disks[comesBack].Contents().Registry.Seq()
			b.ask(clients, b.Fabric.Now()+20*time.Second, true)
			b.ask(clients, b.Fabric.Now()+5*time.Second, false)
			b.mustAskNobody(clients)
			high.Elect.Priority, low.Elect.Priority = 9, 3
			cfg := [2]manager.Config{high, low}[comesBack]
			back := b.addKept(both[comesBack].Station.At(), cfg, disks[comesBack])
			t.Cleanup(back.dump)
			b.pass(settling)
			if now := back.Registrar().State(); now.Seq() <= old {
				t.Errorf("it came back with change %d and has %d", old, now.Seq())
			}
			stays := both[1-comesBack]
			if comesBack == 0 { // it has been handed the mastership
				b.mustHold(back, clients)
				b.mustAskNobody(clients)
				return
			}
			b.mustGoOn(stays, back, clients)
			if kept, has := disks[comesBack].Contents().Registry.Freeze(),
				back.Registrar().State(); kept.Seq() != has.Seq() {
				t.Errorf("its store has change %d, it has %d", kept.Seq(), has.Seq())
			}
		})
	}
}

// Whoever sends garbage in the exchange does not harm the other end, whichever of the two it
// is: the master stays master, and a standby that gets nothing whole asks clients to register
// again when it takes over. When the garbage ends, the mirror is whole again.
func TestGarbageInTheExchange(t *testing.T) {
	for liar, name := range []string{"master", "standby"} {
		for _, ends := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ends %t", name, ends), func(t *testing.T) {
				b, first, second, clients := masterAndStandby(t, registrarConfig(), registrarConfig(), [2]*sim.Disk{})
				rng, hears := rand.New(rand.NewPCG(2, 2)), [2]*watched{second, first}[liar]
				hears.Heard = func(received []mad.Datagram) {
					for i := range received {
						if p := &received[i].Packet; p.MgmtClass() == mad.ClassMirror {
							for range 4 { // behind the keys, or there would be nothing to misread
								p[56+rng.IntN(mad.PacketSize-56)] = byte(rng.Uint32())
							}
						}
					}
				}
				b.ask(clients, b.Fabric.Now()+10*time.Second, true)
				b.ask(clients, b.Fabric.Now()+5*time.Second, false)
				if first.last() != smp.Master || second.last() != smp.Standby {
					t.Fatalf("the first is %v, the second %v", first.last(), second.last())
				}
				if ends {
					hears.Heard = nil
					b.pass(10 * time.Second)
					b.mustGoOn(first, second, clients)
					return
				}
				b.Kill(first.Manager)
				b.pass(settling)
				b.mustBeWhole(second)
			})
		}
	}
}

// Of two managers at ports with one GUID the later one does not become master, and writes
// nothing, until the other has gone.
func TestDuplicateGUID(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	a, z := host(n, 0), host(n, 6)
	n.Nodes[z.Node].GUID, n.Nodes[z.Node].Ports[1].GUID = n.Nodes[a.Node].GUID, n.Nodes[a.Node].Ports[1].GUID
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.add(a, registrarConfig())
	b.pass(settling)
	second := b.add(z, registrarConfig())
	t.Cleanup(second.dump)
	writes := 0
	second.OnAction = func(now time.Duration, act manager.Action) {
		second.took(now, act)
		if s, is := act.(manager.Send); is && slices.ContainsFunc(s.Datagrams, func(d mad.Datagram) bool {
			return d.Packet.Method() == mad.MethodSet && d.Packet.AttrID() != smp.AttrSMInfo
		}) {
			writes++
		}
	}
	b.pass(settling)
	if first.last() != smp.Master || second.last() != smp.Discovering || writes > 0 ||
		second.says("ERROR", "has the same GUID") != 1 {
		t.Errorf("the first is %v, the second %v, which wrote %d times and logged it %d times", first.last(),
			second.last(), writes, second.says("has the same GUID"))
	}
	b.Ask(first.Manager, manager.Heavy)
	b.pass(settling)
	if first.last() != smp.Master || first.says("ERROR", "has the same GUID") != 1 {
		t.Errorf("the first is %v, and logged it %d times", first.last(), first.says("has the same GUID"))
	}
	b.Kill(first.Manager)
	b.pass(settling)
	if second.last() != smp.Master {
		t.Errorf("alone, the second is %v", second.last())
	}
}

// Two that are started at once do not both rule.
func TestDuplicateGUIDAtOnce(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := nettest.Generate(t, "fattree:k=4")
		a, z := host(n, 0), host(n, 6)
		n.Nodes[z.Node].GUID, n.Nodes[z.Node].Ports[1].GUID = n.Nodes[a.Node].GUID, n.Nodes[a.Node].Ports[1].GUID
		b := newHarness(t, n, fabric.Config{Seed: seed})
		both := []*watched{b.add(a, registrarConfig())}
		b.pass(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
		both = append(both, b.add(z, registrarConfig()))
		b.pass(settling)
		if both[0].last() == smp.Master && both[1].last() == smp.Master {
			t.Errorf("seed %d: both rule", seed)
		}
		b.Kill(both[seed%2].Manager)
		b.pass(settling)
		if left := both[1-seed%2]; left.last() != smp.Master {
			t.Errorf("seed %d: the one that is left is %v", seed, left.last())
		}
	}
}
