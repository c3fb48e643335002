package sim_test

import (
	"testing"
	"time"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/mkeys"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// leaseAttack is a fabric in which somebody without the M_Key writes to some ports again and again. They send no traps,
// and so get no TrapRepress that would end the countdown of their lease.
type leaseAttack struct {
	*harness
	m        *watched
	attacker *fabric.Station
	victims  []net.End
}

// withLease is a manager's configuration with an M_Key that has a lease.
func withLease(lease uint16, interval time.Duration) manager.Config {
	cfg := minhopConfig()
	cfg.SweepInterval = interval
	s := &cfg.Sweep.Settings
	s.MKey, s.MKeyProtect, s.MKeyLease = sweep.Given(mad.MKey(0x77)), sweep.Given(uint8(2)), sweep.Given(lease)
	return cfg
}

// newLeaseAttack is a fabric before the attack, in which a host, a spine and the host of the manager are going to be
// attacked.
func newLeaseAttack(t *testing.T, cfg manager.Config) *leaseAttack {
	n := nettest.Generate(t, "fattree:k=4")
	return newLeaseAttackOn(t, n, cfg, []net.End{host(n, 5), {Node: spine(n)}, firstHost(n)})
}

// newLeaseAttackOn is newLeaseAttack on some fabric and some ports.
func newLeaseAttackOn(t *testing.T, n *net.Net, cfg manager.Config, victims []net.End) *leaseAttack {
	b := newHarness(t, n,
		fabric.Config{Seed: 1, TrainTime: 100 * time.Millisecond, Caps: func(i int32, _ *net.Node, c *fabric.Caps) {
			for _, at := range victims {
				if i == at.Node {
					c.CapabilityMask &^= smp.IsTrapSupported
				}
			}
		}})
	a := &leaseAttack{harness: b, m: b.comeUp(cfg), victims: victims}
	var err error
	if a.attacker, err = b.Fabric.Attach(host(n, 2)); err != nil {
		t.Fatal(err)
	}
	return a
}

// goOn attacks for some time, once a second, and calls each before every second. It fails the test where a port opens.
func (a *leaseAttack) goOn(d time.Duration, each func(second int)) {
	a.Helper()
	for second := range int(d / time.Second) {
		if each != nil {
			each(second)
		}
		for _, at := range a.victims {
			info := a.Fabric.PortInfo(at)
			d := mad.Datagram{Addr: mad.Addr{LID: info.LID()}}
			d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrPortInfo, 0)
			d.Packet.SetMKey(0xbad)
			a.attacker.Send([]mad.Datagram{d})
		}
		a.pass(time.Second)
		for _, at := range a.victims {
			if now := a.Fabric.PortInfo(at); now.MKeyProtectBits() != 2 || now.MKey() != 0x77 {
				a.Fatalf("after %d s port %v has M_Key %v, protection %d", second+1, at, now.MKey(),
					now.MKeyProtectBits())
			}
		}
	}
	for _, at := range a.victims {
		if now := a.Fabric.PortInfo(at); int(now.MKeyViolations()) < int(d/time.Second)/2 {
			a.Errorf("port %v: %d M_Key violations in %v", at, now.MKeyViolations(), d)
		}
	}
}

// A port under attack keeps its protection while the link of another host goes up and down all the time, which has
// quick sweeps made and puts off light ones.
func TestLeasesUnderFlapping(t *testing.T) {
	for _, period := range []int{4, 7} {
		a := newLeaseAttack(t, withLease(30, 10*time.Second))
		flapping := host(a.net, 9)
		a.goOn(300*time.Second, func(second int) {
			switch second % period {
			case 0:
				a.Fabric.LinkDown(flapping)
			case period / 2:
				a.Fabric.LinkUp(flapping)
			}
		})
	}
}

// And where a host does not answer, answers are late, and the lease is the shortest that is accepted.
func TestShortestLease(t *testing.T) {
	c, _ := conf.FromFile("f.conf", []byte("m_key_protection_level 2\nm_key_lease_period 1\ntransaction_timeout 500\n"))
	lease := conf.MKeyLeasePeriod.In(c)
	if lease < 2 || conf.LeaseReads != mkeys.RenewalsPerLease {
		t.Fatalf("a lease of %d s, %d reads, %d renewals", lease, conf.LeaseReads, mkeys.RenewalsPerLease)
	}
	cfg := withLease(lease, 10*time.Second)
	cfg.Txn.Timeout = 500 * time.Millisecond
	a := newLeaseAttack(t, cfg)
	a.Fabric.SetUnresponsive(host(a.net, 9).Node, true)
	a.Fabric.SetFaults(fabric.Faults{Jitter: 200 * time.Millisecond})
	a.goOn(60*time.Second, nil)
	a.Fabric.SetFaults(fabric.Faults{Loss: 0.1})
	a.goOn(60*time.Second, nil)
}

// And where hundreds of other hosts have stopped answering at once, while their links are up.
func TestLeasesBesideUnresponsive(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=14")
	var victims []net.End
	for i := 10; i < 100; i++ {
		victims = append(victims, host(n, i))
	}
	a := newLeaseAttackOn(t, n, withLease(3, 10*time.Second), victims)
	a.goOn(10*time.Second, nil)
	for i := range 300 {
		a.Fabric.SetUnresponsive(host(n, 100+i).Node, true)
	}
	a.goOn(30*time.Second, nil)
}

// And where a link of another host comes and goes, which quick sweeps look at.
func TestLeasesBesideUnresponsiveAndLinks(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=14")
	var victims []net.End
	for i := 10; i < 100; i++ {
		victims = append(victims, host(n, i))
	}
	a := newLeaseAttackOn(t, n, withLease(3, 10*time.Second), victims)
	a.goOn(5*time.Second, nil)
	for i := range 400 {
		a.Fabric.SetUnresponsive(host(n, 100+i).Node, true)
	}
	flapping := host(n, 650)
	a.goOn(30*time.Second, func(second int) {
		if second%2 == 0 {
			a.Fabric.LinkDown(flapping)
		} else {
			a.Fabric.LinkUp(flapping)
		}
	})
}

// And one that has missed a read beside them.
func TestLeasesAfterALostRead(t *testing.T) {
	for _, lease := range []uint16{3, 10} {
		n := nettest.Generate(t, "fattree:k=14")
		victims := []net.End{host(n, 10), host(n, 11)}
		a := newLeaseAttackOn(t, n, withLease(lease, 10*time.Second), victims)
		for i := range 300 {
			a.Fabric.SetUnresponsive(host(n, 100+i).Node, true)
		}
		a.goOn(20*time.Second, nil)
		for range 4 {
			a.Fabric.SetUnresponsive(victims[0].Node, true)
			a.pass(time.Duration(lease) * time.Second * 3 / 7)
			a.Fabric.SetUnresponsive(victims[0].Node, false)
			a.goOn(15*time.Second, nil)
		}
	}
}

// And where the manager makes no sweep of its own accord.
func TestLeasesWithoutSweeps(t *testing.T) {
	a := newLeaseAttack(t, withLease(10, 0))
	a.goOn(100*time.Second, nil)
}

// And where a standby takes over from a master that has been killed, whatever time its routes take.
func TestLeasesAtFailover(t *testing.T) {
	a := newLeaseAttack(t, withLease(15, 10*time.Second))
	standby := a.add(host(a.net, 3), withLease(15, 10*time.Second))
	t.Cleanup(standby.dump)
	a.goOn(30*time.Second, nil)
	if standby.last() != smp.Standby {
		t.Fatalf("the second is %v", standby.last())
	}
	a.ComputeTime = 20 * time.Second
	a.Kill(a.m.Manager)
	a.goOn(60*time.Second, nil)
	if standby.last() != smp.Master || len(standby.ups) == 0 {
		t.Fatalf("the standby is %v", standby.last())
	}
}

// Ports that lose their protection in turn, as those of agents that lie may, cause no more sweeps than traps do.
func TestLeasesLostInTurn(t *testing.T) {
	a := newLeaseAttack(t, withLease(1, 10*time.Second))
	before := a.m.says("INITIATING HEAVY SWEEP")
	for turn := range 300 {
		info := a.Fabric.PortInfo(host(a.net, 4+turn%8))
		d := mad.Datagram{Addr: mad.Addr{LID: info.LID()}}
		d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrPortInfo, 0)
		d.Packet.SetMKey(0x77)
		info.SetPortState(smp.PortNoChange)
		info.SetPortPhysicalState(smp.PhysNoChange)
		info.SetLinkSpeedExtEnabled2(0)
		info.SetMKeyProtectBits(0)
		*d.Packet.Data() = info
		a.attacker.Send([]mad.Datagram{d})
		a.pass(100 * time.Millisecond)
	}
	if sweeps := a.m.says("INITIATING HEAVY SWEEP") - before; sweeps < 10 || sweeps > 50 {
		t.Errorf("%d heavy sweeps in 30 s", sweeps)
	}
}

// TestLeasesOfLostRoutes: where most ports are behind one lost link, the renewals that they do not get any more leave
// room for the sweep that finds another way to them.
func TestLeasesOfLostRoutes(t *testing.T) {
	b := newHarness(t, nettest.Generate(t, "fattree:k=14"), fabric.Config{Seed: 1, TrainTime: 100 * time.Millisecond})
	m := b.comeUp(withLease(3, 10*time.Second))
	behind := map[uint8]int{} // end ports, by the port of our leaf at the beginning of the way to them
	v := m.View.Topo
	for _, p := range v.EndPorts {
		if route, ok := v.RouteTo(p); ok && len(route.Ports()) > 1 {
			behind[route.Ports()[1]]++
		}
	}
	most := uint8(0)
	for num, n := range behind {
		if n > behind[most] || n == behind[most] && num < most {
			most = num
		}
	}
	if behind[most] < len(v.EndPorts)/2 {
		t.Fatalf("no test: %v", behind)
	}
	leaf := b.Fabric.Peer(firstHost(b.net))
	swept := len(m.ups)
	b.Fabric.LinkDown(net.End{Node: leaf.Node, Port: most})
	began := b.Fabric.Now()
	if !b.Run(began+10*time.Second, func() bool { return len(m.ups) > swept }) {
		t.Fatalf("no sweep ends within 10 s: %+v", m.Core.Stats().Txn)
	}
	t.Logf("the sweep ends after %v", b.Fabric.Now()-began)
}
