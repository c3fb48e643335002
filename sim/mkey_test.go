package sim_test

import (
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

// When the M_Key is changed no port is shown a wrong one, whatever else changes with it:
// the ports of a switch have one key (IBA 14.2.4), and it becomes another in the middle.
func TestOtherMKey(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, protect := range []uint8{0, 1, 2, 3} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x77))
		cfg.Sweep.Settings.MKeyProtect = sweep.Given(protect)
		m := b.comeUp(cfg)
		for _, key := range []mad.MKey{0x78, 0} {
			before := b.Fabric.Stats().Drops[fabric.DropMKey]
			cfg.Sweep.Settings.MKey = sweep.Given(key)
			cfg.Sweep.Settings.HOQLife = sweep.Given(uint8(9 + key%2))
			b.Configure(m.Manager, cfg)
			b.pass(settling)
			if refused := b.Fabric.Stats().Drops[fabric.DropMKey] - before; refused > 0 || m.says("no answer") > 0 {
				t.Errorf("protection %d, M_Key %v: %d SMPs refused", protect, key, refused)
			}
			for at := range b.Fabric.EndPorts() {
				if pi := b.Fabric.PortInfo(at); pi.PortState() > smp.PortDown && pi.MKey() != key {
					t.Errorf("protection %d: port %v has M_Key %v, want %v", protect, at, pi.MKey(), key)
				}
			}
			b.mustBeWhole(m)
		}
	}
}

// A manager that begins with another m_key than the ports have finds them by what OpenSM's
// files know, whatever their protection; and where the files are wrong, by m_key.
func TestMKeyFromFiles(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, c := range []struct {
		name           string
		ports, m, file mad.MKey // what ports have, m_key, and what guid2mkey says
		alone, up      bool     // whether m_key_lookup is off, and the subnet is found
		keysOnly       bool     // there is no file of neighbors
	}{
		{"another m_key", 0x77, 0x78, 0x77, false, true, false},
		{"an old file", 0x78, 0x78, 0x77, false, true, false},
		{"no file", 0x77, 0x78, 0, false, false, false},
		{"no lookup", 0x77, 0x78, 0x77, true, false, false},
		{"no lookup, an old file", 0x78, 0x78, 0x77, true, true, false},
		{"an old file, no neighbors", 0x78, 0x78, 0x77, false, true, true},
	} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Sweep.Settings.MKey = sweep.Given(c.ports)
		cfg.Sweep.Settings.MKeyProtect = sweep.Given(uint8(2))
		first := b.comeUp(cfg)
		b.Kill(first.Manager)
		cfg.Sweep.Settings.MKey, cfg.Sweep.Settings.NoMKeyLookup = sweep.Given(c.m), c.alone
		if c.file != 0 {
			cfg.Sweep.Restored = b.keptKeys(c.file)
		}
		if c.keysOnly {
			cfg.Sweep.Restored.Behind = nil
		}
		before := b.Fabric.Stats().Drops[fabric.DropMKey]
		m := b.add(firstHost(n), cfg)
		b.pass(settling)
		if up := len(m.ups) > 0; up != c.up {
			t.Errorf("%s: up is %v", c.name, up)
			continue
		}
		if !c.up {
			continue
		}
		if refused := b.Fabric.Stats().Drops[fabric.DropMKey] - before; refused > 0 && c.ports == c.file {
			t.Errorf("%s: %d SMPs refused", c.name, refused)
		}
		for _, at := range b.endPorts() {
			if pi := b.Fabric.PortInfo(at); pi.MKey() != c.m {
				t.Errorf("%s: port %v has M_Key %v", c.name, at, pi.MKey())
			}
		}
		b.mustBeWhole(m)
	}
}

// keptKeys are guid2mkey, with one key for all, and neighbors of the fabric.
func (b *harness) keptKeys(key mad.MKey) (k sweep.Restored) {
	k.MKeys, k.Behind = map[mad.GUID]mad.MKey{}, map[plan.Key]plan.Key{}
	agent := func(at net.End) mad.GUID {
		if b.net.Nodes[at.Node].Type == mad.Switch {
			at.Port = 0
		}
		return b.Fabric.PortGUID(at)
	}
	for at := range b.Fabric.EndPorts() {
		k.MKeys[b.Fabric.PortGUID(at)] = key
	}
	for at := range b.Fabric.Ports() {
		if peer := b.Fabric.Peer(at); peer != net.NoEnd {
			k.Behind[plan.Key{Node: agent(at), Port: at.Port}] = plan.Key{Node: agent(peer), Port: peer.Port}
		}
	}
	k.Port = b.Fabric.PortGUID(firstHost(b.net))
	return k
}

// Control packets are taken from a sender that shows the M_Key that our own port has now, not the one
// it had when it was walked.
func TestControlByMKey(t *testing.T) {
	b := newHarness(t, nettest.Generate(t, "fattree:k=4"), fabric.Config{Seed: 1})
	cfg := minhopConfig()
	m := b.comeUp(cfg)
	answered := false
	m.OnAction = func(now time.Duration, a manager.Action) {
		m.took(now, a)
		if s, is := a.(manager.Send); is {
			for i := range s.Datagrams {
				p := &s.Datagrams[i].Packet
				answered = answered || p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGetResp
			}
		}
	}
	show := func(key mad.MKey) bool {
		var d mad.Datagram
		d.LID = 9
		d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrSMInfo, smp.ControlDisable)
		d.Packet.SetMKey(key)
		answered = false
		b.Deliver(m.Manager, d)
		return answered
	}
	for _, key := range []mad.MKey{0x77, 0x78} {
		cfg.Sweep.Settings.MKey = sweep.Given(key)
		b.Configure(m.Manager, cfg)
		b.pass(settling)
		if !show(key) || show(key-1) || show(0) {
			t.Errorf("with M_Key %v: answers %v, to another one %v, to none %v", key, show(key), show(key-1), show(0))
		}
	}
}

// Where answers are lost while the M_Key is changed, and nodes are left out of walks because
// of it, every port gets the new one in the end.
func TestOtherMKeyUnderLoss(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for seed := uint64(1); seed <= 6; seed++ {
		for _, protect := range []uint8{0, 1, 2} {
			b := newHarness(t, n, fabric.Config{Seed: seed})
			cfg := minhopConfig()
			cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x77))
			cfg.Sweep.Settings.MKeyProtect = sweep.Given(protect)
			m := b.comeUp(cfg)
			b.Fabric.SetFaults(fabric.Faults{Loss: 0.2})
			cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x78))
			cfg.Sweep.Settings.HOQLife = sweep.Given(uint8(9))
			b.Configure(m.Manager, cfg)
			b.pass(20 * time.Second)
			b.Fabric.Reboot(3)
			b.Fabric.Reboot(host(n, 4).Node)
			b.pass(20 * time.Second)
			b.Fabric.SetFaults(fabric.Faults{})
			b.pass(2 * time.Minute)
			for _, at := range b.endPorts() {
				if pi := b.Fabric.PortInfo(at); pi.MKey() != 0x78 {
					t.Errorf("seed %d, protection %d: port %v has M_Key %v", seed, protect, at, pi.MKey())
				}
			}
			b.mustBeWhole(m)
		}
	}
}

// Traps have M_Key 0 (o14-1), those of our own node SLID 0 as well. A TrapRepress shows the M_Key of
// the agent: each trap is sent once, and nothing counts as a violation.
func TestTrapsUnderMKey(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, protect := range []uint8{0, 1, 2, 3} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x77))
		cfg.Sweep.Settings.MKeyProtect = sweep.Given(protect)
		cfg.Sweep.Settings.MKeyLease = sweep.Given(uint16(60))
		m := b.comeUp(cfg)
		traps := func() uint64 {
			return b.Fabric.Stats().SMPs[fabric.Kind{Method: mad.MethodTrap, Attr: smp.AttrNotice}]
		}
		for _, c := range []struct {
			name  string
			do    func()
			wants uint64 // traps
		}{
			{"the link of a host goes down", func() { b.Fabric.LinkDown(host(n, 5)) }, 1},
			{"and comes up", func() { b.Fabric.LinkUp(host(n, 5)) }, 1},
			{"a host is renamed", func() { b.Fabric.SetNodeDescription(host(n, 3).Node, "other") }, 1},
			{"our own host is renamed", func() { b.Fabric.SetNodeDescription(firstHost(n).Node, "own") }, 1},
		} {
			before, refused := traps(), b.Fabric.Stats().Drops[fabric.DropMKey]
			c.do()
			b.pass(settling)
			if sent := traps() - before; sent != c.wants {
				t.Errorf("protection %d, %s: %d traps, want %d", protect, c.name, sent, c.wants)
			}
			if refused := b.Fabric.Stats().Drops[fabric.DropMKey] - refused; refused > 0 {
				t.Errorf("protection %d, %s: %d SMPs refused", protect, c.name, refused)
			}
		}
		for at := range b.Fabric.EndPorts() {
			if pi := b.Fabric.PortInfo(at); pi.MKeyViolations() > 0 {
				t.Errorf("protection %d: %d M_Key violations at port %v", protect, pi.MKeyViolations(), at)
			}
		}
		b.mustBeWhole(m)
	}
}

// A manager without m_key that takes over a subnet with M_Keys shows no port another one, also before it has published
// a view. A trap is repeated until then.
func TestTrapsWhileTakingOver(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x77))
	b.comeUp(cfg).retire()
	b.ComputeTime = time.Second
	m := b.add(firstHost(n), minhopConfig()) // traps go to the LID of the one before
	t.Cleanup(m.dump)
	for m.last() != smp.Master {
		b.pass(10 * time.Millisecond)
	}
	if len(m.ups) > 0 {
		t.Fatal("it is up at once")
	}
	traps := func() uint64 { return b.Fabric.Stats().SMPs[fabric.Kind{Method: mad.MethodTrap, Attr: smp.AttrNotice}] }
	before, refused := traps(), b.refusals()
	b.Fabric.SetNodeDescription(host(n, 3).Node, "other")
	b.pass(500 * time.Millisecond)
	if len(m.ups) > 0 || traps() == before {
		t.Errorf("%d traps before it is up", traps()-before)
	}
	b.pass(settling)
	m.mustKnowName(host(n, 3).Node, "other")
	if refused := b.refusals() - refused; refused > 0 {
		t.Errorf("%d SMPs refused", refused)
	}
	sent := traps()
	if b.pass(settling); traps() != sent {
		t.Errorf("the trap is still repeated: %d", traps()-sent)
	}
	b.mustBeWhole(m)
}

// A TrapRepress goes where the trap came from, to our own LID in place of 0. To an LID that nobody is known to have it
// shows no M_Key, and none is sent while there are M_Keys: one is configured, or another manager has set them.
func TestRepressShowsMKey(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, key := range []mad.MKey{0, 0x77} {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		if key != 0 {
			cfg.Sweep.Settings.MKey = sweep.Given(key)
		}
		m := b.comeUp(cfg)
		own, other := b.Fabric.PortInfo(firstHost(n)), b.Fabric.PortInfo(host(n, 5))
		const unknown = mad.LID(0x1234)
		for _, c := range []struct {
			from, to mad.LID
			sent     bool
		}{{0, own.LID(), true}, {other.LID(), other.LID(), true}, {unknown, unknown, key == 0}} {
			var replies []mad.Datagram
			m.OnAction = func(now time.Duration, a manager.Action) {
				m.took(now, a)
				if s, is := a.(manager.Send); is {
					for i := range s.Datagrams {
						if s.Datagrams[i].Packet.Method() == mad.MethodTrapRepress {
							replies = append(replies, s.Datagrams[i])
						}
					}
				}
			}
			d := trapOf(smp.TrapBadPKey, c.to, 9)
			d.LID = c.from
			b.Deliver(m.Manager, d)
			switch {
			case len(replies) != 1 && c.sent || len(replies) > 0 && !c.sent:
				t.Errorf("M_Key %v: %d TrapRepress to LID %v, want one: %v", key, len(replies), c.from, c.sent)
			case c.sent && (replies[0].LID != c.to || replies[0].Packet.MKey() != key || replies[0].Packet.TID() != 9):
				t.Errorf("M_Key %v: TrapRepress %v to LID %v with M_Key %v, want LID %v", key, replies[0].Packet.TID(),
					replies[0].LID, replies[0].Packet.MKey(), c.to)
			}
		}
	}
}

// A host's port that somebody without its M_Key attacks again and again keeps its protection as
// long as a manager runs, whether it sends traps or not.
func TestAttackedPortStaysProtected(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	victim := host(n, 5)
	for _, traps := range []bool{true, false} {
		b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, c *fabric.Caps) {
			if i == victim.Node && !traps {
				c.CapabilityMask &^= smp.IsTrapSupported
			}
		}})
		cfg := minhopConfig()
		cfg.SweepInterval = 5 * time.Second
		cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x77))
		cfg.Sweep.Settings.MKeyProtect = sweep.Given(uint8(2))
		cfg.Sweep.Settings.MKeyLease = sweep.Given(uint16(10))
		m := b.comeUp(cfg)
		attacker, err := b.Fabric.Attach(host(n, 2))
		if err != nil {
			t.Fatal(err)
		}
		info := b.Fabric.PortInfo(victim)
		for second := range 60 {
			d := mad.Datagram{Addr: mad.Addr{LID: info.LID()}}
			d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrPortInfo, 0)
			d.Packet.SetMKey(0xbad)
			attacker.Send([]mad.Datagram{d})
			b.pass(time.Second)
			now := b.Fabric.PortInfo(victim)
			if now.MKeyProtectBits() != 2 || now.MKey() != 0x77 {
				t.Fatalf("traps %v: after %d s the port has M_Key %v, protection %d", traps, second+1, now.MKey(),
					now.MKeyProtectBits())
			}
		}
		if now := b.Fabric.PortInfo(victim); now.MKeyViolations() < 60 {
			t.Errorf("traps %v: %d M_Key violations", traps, now.MKeyViolations())
		}
		b.mustBeWhole(m)
	}
}
