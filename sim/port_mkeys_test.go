package sim_test

import (
	"bytes"
	"testing"
	"time"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/plan"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// subnetSecret is the secret of the managers of the tests.
var subnetSecret = func() keys.Secret {
	s, err := keys.New(bytes.NewReader([]byte("a secret for tests, of 32 bytes.")))
	if err != nil {
		panic(err)
	}
	return s
}()

// portMKeys is minhopConfig with an M_Key for each port, by a number, as with security tenants.
func portMKeys(number uint32) manager.Config {
	cfg := minhopConfig()
	s := &cfg.Sweep.Settings
	s.MKey, s.MKeyProtect, s.MKeyLease = sweep.Given(mad.MKey(subnetSecret.MKey())), sweep.Given(uint8(2)), sweep.Given(uint16(60))
	s.PortMKeys, s.MKeyPerPort = subnetSecret.Ports(number), true
	return cfg
}

// agentGUID is the GUID of the port whose agent manages a port.
func (b *harness) agentGUID(at net.End) mad.GUID {
	if b.net.Nodes[at.Node].Type == mad.Switch {
		at.Port = 0
	}
	return b.Fabric.PortGUID(at)
}

// kept are guid2mkey and neighbors of the fabric as it is now, and the GUID of a manager's port.
func (b *harness) kept(at net.End) (k sweep.Restored) {
	k.MKeys, k.Behind, k.Port = map[mad.GUID]mad.MKey{}, map[plan.Key]mad.GUID{}, b.Fabric.PortGUID(at)
	for at := range b.Fabric.EndPorts() {
		pi := b.Fabric.PortInfo(at)
		k.MKeys[b.Fabric.PortGUID(at)] = pi.MKey()
	}
	for at := range b.Fabric.Ports() {
		if peer := b.Fabric.Peer(at); peer != net.NoEnd {
			k.Behind[plan.Key{Node: b.agentGUID(at), Port: at.Port}] = b.agentGUID(peer)
		}
	}
	return k
}

// mustHoldPortMKeys fails the test where a port that is up has another M_Key than its own of a number, or another protection or
// lease.
func (b *harness) mustHoldPortMKeys(number uint32) {
	b.Helper()
	p := subnetSecret.Ports(number)
	wrong := 0
	for _, at := range b.endPorts() {
		pi := b.Fabric.PortInfo(at)
		if key := mad.MKey(p.Of(uint64(b.Fabric.PortGUID(at)))); pi.MKey() != key || pi.MKeyProtectBits() != 2 || pi.MKeyLeasePeriod() != 60 {
			if wrong++; wrong < 5 {
				b.Errorf("port %v has M_Key %v, protection %d, lease %d s; its key of number %d is %v", at, pi.MKey(), pi.MKeyProtectBits(), pi.MKeyLeasePeriod(), number, key)
			}
		}
	}
	if wrong > 0 {
		b.Errorf("%d ports are not protected as they should be", wrong)
	}
}

// refusals are the SMPs that agents have refused for their M_Key.
func (b *harness) refusals() uint64 { return b.Fabric.Stats().Drops[fabric.DropMKey] }

// A cold fabric comes up with an M_Key for each port. Another manager with the secret, and with the files of the first, goes on
// with it, and so does a standby, without one wrong key. One whose store has lost the M_Keys, but not the links, tries no more than
// their own.
func TestPortMKeys(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(portMKeys(1))
	t.Cleanup(first.dump)
	b.mustHoldPortMKeys(1)
	b.mustBeWhole(first)
	b.pass(3 * time.Minute)
	if refused := b.refusals(); refused > 0 {
		t.Errorf("%d SMPs refused", refused)
	}
	first.retire()
	before := b.snapshot()
	for _, files := range []string{"all", "links"} {
		cfg := portMKeys(1)
		cfg.Sweep.Restored = b.kept(firstHost(n))
		if files == "links" {
			cfg.Sweep.Restored.MKeys = nil
		}
		m := b.add(firstHost(n), cfg)
		t.Cleanup(m.dump)
		b.pass(settling)
		if len(m.ups) == 0 || b.refusals() > 0 {
			t.Fatalf("files %s: it came up %d times, %d SMPs were refused", files, len(m.ups), b.refusals())
		}
		b.mustHoldPortMKeys(1)
		b.mustBeWhole(m)
		b.mustBeAsBefore(before)
		m.retire()
	}
}

// A standby with the secret takes over a fabric whose ports have M_Keys of their own, without one wrong key.
func TestPortMKeysTakeover(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(portMKeys(1))
	cfg := portMKeys(1)
	cfg.Sweep.Restored = b.kept(host(n, 5))
	cfg.Sweep.Restored.MKeys = nil
	standby := b.add(host(n, 5), cfg)
	t.Cleanup(standby.dump)
	b.pass(settling)
	if got := standby.last(); got != smp.Standby {
		t.Fatalf("the second manager is %v", got)
	}
	before := b.snapshot()
	first.retire()
	b.pass(2 * settling)
	if len(standby.ups) == 0 {
		t.Fatal("the standby did not take over")
	}
	b.mustHoldPortMKeys(1)
	b.mustBeWhole(standby)
	if refused := b.refusals(); refused > 0 {
		t.Errorf("%d SMPs refused", refused)
	}
	for at, is := range b.snapshot() { // but for the LID of the master
		if before[at] != is {
			t.Errorf("%s was %s, is %s", at, before[at], is)
		}
	}
}
