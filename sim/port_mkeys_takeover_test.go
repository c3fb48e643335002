package sim_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/plan"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// keptWithout is kept, without anything about one node.
func (b *harness) keptWithout(at, gone net.End) manager.Config {
	cfg := portMKeys(1)
	cfg.Sweep.Restored = b.kept(at)
	guid := b.Fabric.PortGUID(gone)
	delete(cfg.Sweep.Restored.MKeys, guid)
	maps.DeleteFunc(cfg.Sweep.Restored.Behind, func(_, far plan.Key) bool { return far.Node == guid })
	return cfg
}

// takesOver is how long a standby takes to bring the subnet up after the master has gone.
func (b *harness) takesOver(first, standby *watched) time.Duration {
	b.Helper()
	if standby.last() != smp.Standby {
		b.Fatalf("it is no standby: %v", standby.states)
	}
	began := b.Fabric.Now()
	first.retire()
	if b.Run(began+20*time.Minute, func() bool { return len(standby.ups) > 0 }); len(standby.ups) == 0 {
		b.Fatalf("the standby did not take over: %v", standby.states)
	}
	return b.Fabric.Now() - began
}

// A standby reads counters and remembers M_Keys by the same walk.
func TestPortMKeysCounters(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(portMKeys(1))
	cfg := portMKeys(1)
	cfg.Counters.Interval = time.Minute
	cfg.Sweep.Restored = b.kept(host(n, 5))
	standby := b.add(host(n, 5), cfg)
	found := 0
	standby.OnAction = func(now time.Duration, a manager.Action) {
		if s, is := a.(manager.StoodBy); is {
			found = len(s.View.Topo.Nodes)
		}
		standby.took(now, a)
	}
	b.pass(time.Minute)
	if found != len(n.Nodes) {
		t.Errorf("it reads the counters of %d nodes of %d", found, len(n.Nodes))
	}
	b.takesOver(first, standby)
	b.mustHoldPortMKeys(1)
	b.mustBeWhole(standby)
}

// A node that does not answer, and never has, delays no takeover, and no restart, whether it is known by the last walk
// or is missing in the files.
func TestPortMKeysUnresponsiveNode(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, known := range []string{"by a walk", "by files"} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		unresponsive := host(n, 9)
		b.Fabric.SetUnresponsive(unresponsive.Node, true)
		first := b.comeUp(portMKeys(1))
		cfg := b.keptWithout(host(n, 5), unresponsive)
		standby := (*watched)(nil)
		took := time.Duration(0)
		if known == "by a walk" {
			standby = b.add(host(n, 5), cfg)
			b.pass(time.Minute)
			took = b.takesOver(first, standby)
		} else {
			first.retire()
			standby = b.add(host(n, 5), cfg)
			began := b.Fabric.Now()
			b.Run(began+20*time.Minute, func() bool { return len(standby.ups) > 0 })
			took = b.Fabric.Now() - began
		}
		if waits := standby.says("nodes do not answer to any known M_Key"); took > 20*time.Second || waits > 0 {
			t.Errorf("known %s: it was master after %v, and waited %d times: %v", known, took, waits, standby.states)
		}
	}
}

// A run of one sweep that finds nothing but its own node ends.
func TestPortMKeysOnceAlone(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	forever := portMKeys(1)
	forever.Sweep.Settings.MKeyLease.Value = 0
	b.comeUp(forever).retire()
	cfg := forever
	cfg.Once = true
	cfg.Sweep.Restored.Port = b.Fabric.PortGUID(host(n, 5))
	m := b.add(host(n, 5), cfg)
	b.pass(10 * time.Minute)
	if !slices.Contains(m.states, smp.Master) {
		t.Errorf("after ten minutes it was %v", m.states)
	}
}

// After a rotation a standby takes over with few wrong M_Keys, as fast as before.
func TestPortMKeysRotatedTakeover(t *testing.T) {
	for _, spec := range []string{"fattree:k=4", "fattree:k=8"} {
		n := nettest.Generate(t, spec)
		b := newHarness(t, n, fabric.Config{Seed: 1})
		first := b.comeUp(portMKeys(1))
		cfg := portMKeys(1)
		cfg.Sweep.Restored = b.kept(host(n, 5))
		standby := b.add(host(n, 5), cfg)
		b.pass(time.Minute)
		b.Configure(first.Manager, portMKeys(2))
		b.Configure(standby.Manager, portMKeys(2))
		b.pass(5 * time.Minute)
		b.mustHoldPortMKeys(2)
		refused := b.refusals()
		took := b.takesOver(first, standby)
		refused = b.refusals() - refused
		if took > 2*time.Second || refused > 10 {
			t.Errorf("%s: after %v, with %d SMPs refused", spec, took, refused)
		}
		b.mustHoldPortMKeys(2)
	}
}

// After rotations, of each of which a heavy sweep is the only one, the master still knows its standby, which has all
// registrations: it reads its own port again when a request shows another M_Key.
func TestPortMKeysRotatedStandby(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	config := func(number uint32) manager.Config {
		cfg := portMKeys(number)
		cfg.Elect.SMKey, cfg.Registrar.Mirror.SMKey = 0xa11ce, 0xa11ce
		return cfg
	}
	first := b.comeUp(config(1))
	cfg := config(1)
	cfg.Sweep.Restored = b.kept(host(n, 5))
	standby := b.add(host(n, 5), cfg)
	b.pass(settling)
	for number := uint32(2); number < 7; number++ {
		if number%3 != 0 { // it learns late of some
			b.Configure(standby.Manager, config(number))
		}
		b.Configure(first.Manager, config(number))
		b.pass(settling)
		b.mustHoldPortMKeys(number)
		if sms := first.View.SMs; len(sms) != 2 || sms[1].GUID != b.Fabric.PortGUID(host(n, 5)) {
			t.Fatalf("number %d: the master knows the managers %v", number, sms)
		}
		b.Configure(standby.Manager, config(number))
	}
	if late := standby.says("may be incomplete"); late != 0 {
		t.Errorf("the standby says %d times that it may lack registrations", late)
	}
	if took := b.takesOver(first, standby); took > 2*time.Second {
		t.Errorf("it took over after %v", took)
	}
}

// A standby that hears nothing for a moment keeps its master.
func TestPortMKeysLostPoll(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.comeUp(portMKeys(1))
	cfg := portMKeys(1)
	cfg.Sweep.Restored = b.kept(host(n, 5))
	standby := b.add(host(n, 5), cfg)
	b.pass(time.Minute)
	states, refused := len(standby.states), b.refusals()
	for phase := range time.Duration(20) {
		standby.Station.SetLoss(1)
		b.pass(1200 * time.Millisecond)
		standby.Station.SetLoss(0)
		b.pass(30*time.Second + phase*100*time.Millisecond)
	}
	if len(standby.states) > states || b.refusals() > refused {
		t.Errorf("it was %v, %d SMPs were refused", standby.states[states:], b.refusals()-refused)
	}
}

// Of two managers that see most of the subnet no more, and wait for its M_Keys, the higher one becomes master.
func TestPortMKeysTwoWait(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(portMKeys(1))
	first.retire()
	for node := range n.Nodes {
		if b.tier(int32(node)) == 2 {
			b.Fabric.SetUnresponsive(int32(node), true)
		}
	}
	var all []*watched
	for _, i := range []int{5, 7} {
		cfg := portMKeys(1)
		cfg.Sweep.Restored = b.kept(host(n, i))
		m := b.add(host(n, i), cfg)
		t.Cleanup(m.dump)
		all = append(all, m)
	}
	b.pass(time.Minute)
	for _, m := range all {
		if m.last() != smp.Discovering || m.says("nodes do not answer to any known M_Key") != 1 {
			t.Fatalf("after a minute one is %v, and has said %d times why", m.last(),
				m.says("nodes do not answer to any known M_Key"))
		}
	}
	b.pass(5 * time.Minute)
	masters := 0
	for _, m := range all {
		if slices.Contains(m.states, smp.Master) {
			masters++
		}
	}
	if masters != 1 {
		t.Errorf("they were %v and %v", all[0].states, all[1].states)
	}
}

// tier is how far a switch of a fat tree is from hosts, in switches: 0 for leaves; -1 for what is no switch.
func (b *harness) tier(node int32) int {
	if b.net.Nodes[node].Type != mad.Switch {
		return -1
	}
	least := 2
	for at := range b.Fabric.Ports() {
		if peer := b.Fabric.Peer(at); at.Node == node && peer != net.NoEnd {
			if b.net.Nodes[peer.Node].Type != mad.Switch {
				return 0
			}
			for far := range b.Fabric.Ports() {
				if end := b.Fabric.Peer(far); far.Node == peer.Node && end != net.NoEnd &&
					b.net.Nodes[end.Node].Type != mad.Switch {
					least = 1
				}
			}
		}
	}
	return least
}

// On the way back ports lose the m_key that the configuration had set.
func TestPortMKeysExplicitBack(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := portMKeys(1)
	s := &cfg.Sweep.Settings
	s.MKeyPerPort, s.MKey.Value = false, 0x1234
	m := b.comeUp(cfg)
	b.mustHoldMKey(0x1234, 2, 60)
	s.MKey.Value, s.MKeyProtect.Value, s.MKeyLease.Value = 0, 0, 0
	s.PortMKeys = s.PortMKeys.Beside(0, 0x1234)
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	b.mustHoldMKey(0, 0, 0)
}

// A standby that gets security tenants by a reload knows the subnet from its last walk, whether the master gets it
// before or after: no port is opened to it, and it stays a standby.
func TestPortMKeysOnStandby(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, after := range []time.Duration{-time.Minute, 0, time.Minute} { // the master
		t.Run(after.String(), func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			before := minhopConfig() // with a keys_file alone
			before.Sweep.Settings.MKey, before.Sweep.Settings.MKeyProtect = sweep.Given(mad.MKey(subnetSecret.MKey())),
				sweep.Given(uint8(1))
			before.Elect.SMKey = 0x5ec1
			first := b.comeUp(before)
			before.Sweep.Restored.Port = b.Fabric.PortGUID(host(n, 5))
			standby := b.add(host(n, 5), before)
			b.pass(settling)
			reload := func(w *watched, restored sweep.Restored) {
				cfg := portMKeys(1)
				cfg.Sweep.Restored, cfg.Elect.SMKey = restored, before.Elect.SMKey
				b.Configure(w.Manager, cfg)
			}
			if states := len(standby.states); after < 0 {
				reload(standby, before.Sweep.Restored)
				b.pass(-after)
				if len(standby.states) > states {
					t.Errorf("before the master has it, it has been %v", standby.states[states:])
				}
			}
			reload(first, sweep.Restored{})
			b.pass(after)
			states := len(standby.states)
			if after >= 0 {
				reload(standby, before.Sweep.Restored)
			}
			b.pass(5 * time.Minute)
			if opened := first.says("admitting a standby"); opened > 0 || standby.last() != smp.Standby ||
				len(standby.states)-states > 4 {
				t.Errorf("it has been %v, and ports were opened to it %d times", standby.states[states:], opened)
			}
			b.mustHoldPortMKeys(1)
			b.mustBeWhole(first)
		})
	}
}

// A standby with security tenants beside a master that has the keys_file alone, and so one M_Key at protection level 1,
// stays a standby: an SMInfo without the SM_Key is the answer to a wrong M_Key, and the next one is tried.
func TestPortMKeysBesideOne(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Sweep.Settings.MKey, cfg.Sweep.Settings.MKeyProtect,
		cfg.Elect.SMKey = sweep.Given(mad.MKey(subnetSecret.MKey())), sweep.Given(uint8(1)), 0x5ec1
	first := b.comeUp(cfg)
	tenants := portMKeys(1)
	tenants.Elect.SMKey = cfg.Elect.SMKey
	tenants.Sweep.Restored.Port = b.Fabric.PortGUID(host(n, 5))
	standby := b.add(host(n, 5), tenants)
	t.Cleanup(standby.dump)
	for _, pass := range []time.Duration{time.Second, 5 * time.Minute} {
		b.pass(pass)
		if len(standby.states) > 2 || standby.last() != smp.Standby {
			t.Fatalf("it has been in %d states, and is %v", len(standby.states), standby.last())
		}
	}
	b.Configure(first.Manager, tenants)
	b.pass(5 * time.Minute)
	if standby.last() != smp.Standby || slices.Contains(standby.states, smp.Master) {
		t.Errorf("after the master got it, the standby is %v", standby.last())
	}
	b.mustHoldPortMKeys(1)
	if took := b.takesOver(first, standby); took > 20*time.Second {
		t.Errorf("it has taken over after %v", took)
	}
}
