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
)

// When the M_Key is changed no port is shown a wrong one, whatever else changes with it:
// the ports of a switch have one key (IBA 14.2.4), and it becomes another in the middle.
func TestOtherMKey(t *testing.T) {
	n := generate(t, "fattree:k=4")
	for _, protect := range []uint8{0, 1, 2, 3} {
		b := newBed(t, n, fabric.Config{Seed: 1})
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
	n := generate(t, "fattree:k=4")
	for _, c := range []struct {
		name           string
		ports, m, file mad.MKey // what ports have, m_key, and what guid2mkey says
		alone, up      bool     // whether m_key_lookup is off, and the subnet is found
	}{
		{"another m_key", 0x77, 0x78, 0x77, false, true},
		{"an old file", 0x78, 0x78, 0x77, false, true},
		{"no file", 0x77, 0x78, 0, false, false},
		{"no lookup", 0x77, 0x78, 0x77, true, false},
		{"no lookup, an old file", 0x78, 0x78, 0x77, true, true},
	} {
		b := newBed(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.Sweep.Settings.MKey = sweep.Given(c.ports)
		cfg.Sweep.Settings.MKeyProtect = sweep.Given(uint8(2))
		first := b.comeUp(cfg)
		b.Kill(first.Manager)
		cfg.Sweep.Settings.MKey, cfg.Sweep.Settings.NoMKeyLookup = sweep.Given(c.m), c.alone
		if c.file != 0 {
			cfg.Sweep.Restored = b.keptKeys(c.file)
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
func (b *bed) keptKeys(key mad.MKey) (k sweep.Restored) {
	k.MKeys, k.Behind = map[mad.GUID]mad.MKey{}, map[plan.Key]mad.GUID{}
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
			k.Behind[plan.Key{Node: agent(at), Port: at.Port}] = agent(peer)
		}
	}
	k.Port = b.Fabric.PortGUID(firstHost(b.net))
	return k
}

// Control packets are taken from who shows the M_Key that our own port has now, not the one
// it had when it was walked.
func TestControlByMKey(t *testing.T) {
	b := newBed(t, generate(t, "fattree:k=4"), fabric.Config{Seed: 1})
	cfg := minhopConfig()
	m := b.comeUp(cfg)
	answered := false
	m.Told = func(now time.Duration, a manager.Action) {
		m.told(now, a)
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
	n := generate(t, "fattree:k=4")
	for seed := uint64(1); seed <= 6; seed++ {
		for _, protect := range []uint8{0, 1, 2} {
			b := newBed(t, n, fabric.Config{Seed: seed})
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
