package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// snapshot is what a fabric holds that data depends upon, by what it is of.
func (b *harness) snapshot() map[string]string {
	s := map[string]string{}
	for at := range b.Fabric.Ports() {
		pi := b.Fabric.PortInfo(at)
		s[fmt.Sprint(at)] = fmt.Sprintf(
			"%v LID %d LMC %d prefix %v MTU %v VLs %d HOQ %d time-out %d M_Key %v/%d keys %v", pi.PortState(), pi.LID(),
			pi.LMC(),
			pi.GidPrefix(), pi.NeighborMTU(), pi.OperationalVLs(), pi.HOQLife(), pi.SubnetTimeOut(), pi.MKey(),
			pi.MKeyProtectBits(), b.Fabric.PKeys(at))
		if at.Port == 0 {
			info := b.Fabric.SwitchInfo(at.Node)
			s[fmt.Sprint("switch ", at.Node)] = fmt.Sprintf("top %d life %d %v", info.LinearFDBTop(),
				info.LifeTimeValue(), b.Fabric.LFT(at.Node))
		}
	}
	return s
}

// mustBeAsBefore fails the test where a snapshot differs from the fabric.
func (b *harness) mustBeAsBefore(before map[string]string) {
	b.Helper()
	after := b.snapshot()
	for k, was := range before {
		if after[k] != was {
			b.Errorf("%s was %s, is %s", k, was, after[k])
		}
	}
}

// retire kills a manager and lets the wire run empty.
func (w *watched) retire() {
	w.harness.Kill(w.Manager)
	w.harness.pass(time.Second)
}

// A new manager takes a fabric over as it stands, wherever it sits.
func TestTakeover(t *testing.T) {
	for _, at := range []int{0, 5} {
		t.Run(fmt.Sprint("host ", at), func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=8,levels=2,missing-links=3")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			first := b.comeUp(minhopConfig())
			b.age(first)
			first.retire()
			before := b.snapshot()
			m := b.add(host(n, at), minhopConfig())
			t.Cleanup(m.dump)
			b.pass(settling)
			b.mustBeWhole(m)
			b.mustBeAsBefore(before)
			if at == 0 && len(m.ups) > 0 && m.ups[0].Sets[smp.AttrLinearForwardingTable]+
				m.ups[0].Sets[smp.AttrSwitchInfo] > 0 {
				t.Error("Sets of a takeover:", m.ups[0].SetsText())
			}
			if m.sweep(manager.Heavy).Sets[smp.AttrPortInfo] > 0 {
				t.Error("a sweep after a takeover sets ports")
			}
		})
	}
}

// age makes links and nodes come and go, so that the routes are not those of a
// fabric that has just come up.
func (b *harness) age(m *watched) {
	for i := range 6 {
		at := uplink(b.net, int32(i))
		b.Fabric.LinkDown(at)
		b.pass(2 * time.Second)
		if i%2 == 0 {
			b.Fabric.LinkUp(at)
		}
		b.pass(2 * time.Second)
	}
	b.Fabric.Reboot(2)
	b.Fabric.NodeDown(host(b.net, 7).Node)
	m.sweep(manager.Heavy)
	b.pass(settling)
}

// A host that does not answer while a fabric is taken over still uses its LID: nobody
// else gets it, and its routes stay, as long as a missing node is waited for.
func TestTakeoverWithUnresponsiveHost(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	newcomer, unresponsive := host(n, 2), host(n, 9)
	b.Fabric.NodeDown(newcomer.Node)
	first := b.comeUp(minhopConfig())
	first.retire()
	b.Fabric.SetUnresponsive(unresponsive.Node, true)
	b.Fabric.NodeUp(newcomer.Node)
	before := b.Fabric.PortInfo(unresponsive)
	cfg := minhopConfig()
	cfg.SweepInterval = 0
	m := b.add(host(n, 0), cfg)
	t.Cleanup(m.dump)
	b.pass(5 * time.Second)
	got := b.Fabric.PortInfo(newcomer)
	if got.LID() == 0 || got.LID() == before.LID() {
		t.Errorf("the newcomer has LID %d, the unresponsive host LID %d", got.LID(), before.LID())
	}
	for _, from := range b.endPorts() {
		if _, end := b.Fabric.Probe(from, before.LID(), mad.DefaultPKey, 0, nil); end != fabric.Delivered {
			t.Errorf("data from %v to the unresponsive host: %v", from, end)
		}
	}
	b.Fabric.SetUnresponsive(unresponsive.Node, false)
	m.sweep(manager.Heavy)
	b.pass(5 * time.Second)
	b.mustBeWhole(m)
	if after := b.Fabric.PortInfo(unresponsive); after.LID() != before.LID() {
		t.Errorf("it had LID %d and has %d", before.LID(), after.LID())
	}
}

// While a master's own port has no link another one may become master: what it left in the
// switches is read, not what was there before.
func TestIsolatedMaster(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(minhopConfig())
	second := b.add(host(n, 9), minhopConfig())
	b.pass(settling)
	b.Fabric.LinkDown(firstHost(n))
	b.pass(3 * settling)
	if second.last() != smp.Master {
		t.Fatal("the second manager is", second.last())
	}
	b.pass(settling) // its routes have none to the first
	second.retire()
	b.Fabric.LinkUp(firstHost(n))
	b.pass(settling)
	b.mustBeWhole(first)
}

// odd are settings that are nobody's default.
func odd() sweep.Settings {
	return sweep.Settings{
		SubnetPrefix: sweep.Given(mad.Prefix(0xfec0000000000007)), LMC: sweep.Given[uint8](1),
		SubnetTimeOut:  sweep.Given[uint8](17),
		PacketLifeTime: sweep.Given[uint8](15), MaxOpVLs: sweep.Given[uint8](2), HOQLife: sweep.Given[uint8](14),
		LeafHOQLife: sweep.Given[uint8](12),
	}
}

// What the operator has not configured is taken from the fabric, also for what comes
// up later.
func TestTakeoverAdopts(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	downs := 0
	b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
		if info := smp.PortInfo(s.Data); s.Attr == smp.AttrPortInfo && info.PortState() == smp.PortDown {
			downs++
		}
	}})
	cfg := minhopConfig()
	cfg.Sweep.Settings = odd()
	late, newcomer := uplink(n, 1), host(n, 9)
	b.Fabric.LinkDown(late)
	b.Fabric.NodeDown(newcomer.Node)
	first := b.comeUp(cfg)
	first.retire()
	before := b.snapshot()

	m := b.add(host(n, 0), minhopConfig())
	t.Cleanup(m.dump)
	b.pass(settling)
	b.mustBeAsBefore(before)

	b.Fabric.LinkUp(late)
	b.Fabric.NodeUp(newcomer.Node)
	b.pass(settling)
	b.mustBeWhole(m)
	b.mustBeOdd(late, b.Fabric.Peer(late), newcomer, b.Fabric.Peer(newcomer))
	if downs > 0 {
		t.Errorf("%d links were reset", downs)
	}
}

// A link that carries traffic keeps its lanes even where the operator wants others: to
// change them it would have to be reset. New links get what is wanted.
func TestActiveLinksKeepLanes(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	newcomer := host(n, 9)
	b.Fabric.NodeDown(newcomer.Node)
	b.comeUp(minhopConfig()).retire()
	before := b.Fabric.PortInfo(host(n, 3))
	cfg := minhopConfig()
	cfg.Sweep.Settings.MaxOpVLs = sweep.Given[uint8](1)
	m := b.add(host(n, 0), cfg)
	t.Cleanup(m.dump)
	b.pass(settling)
	b.Fabric.NodeUp(newcomer.Node)
	b.pass(settling)
	b.mustBeWhole(m)
	if after := b.Fabric.PortInfo(host(n, 3)); after.OperationalVLs() != before.OperationalVLs() ||
		before.OperationalVLs() == 1 {
		t.Errorf("an ACTIVE link had VLs %d and has %d", before.OperationalVLs(), after.OperationalVLs())
	}
	for _, at := range []net.End{newcomer, b.Fabric.Peer(newcomer)} {
		if pi := b.Fabric.PortInfo(at); pi.OperationalVLs() != 1 {
			t.Errorf("port %v of a new link has VLs %d", at, pi.OperationalVLs())
		}
	}
}

// mustBeOdd fails the test where ports do not hold the odd settings.
func (b *harness) mustBeOdd(ports ...net.End) {
	b.Helper()
	want := odd()
	for _, at := range ports {
		pi := b.Fabric.PortInfo(at)
		if pi.OperationalVLs() != want.MaxOpVLs.Value {
			b.Errorf("port %v has VLs %d", at, pi.OperationalVLs())
		}
		if b.Fabric.NodeType(at.Node) == mad.Switch {
			hoq := want.HOQLife.Value
			if b.Fabric.NodeType(b.Fabric.Peer(at).Node) != mad.Switch {
				hoq = want.LeafHOQLife.Value
			}
			if pi.HOQLife() != hoq {
				b.Errorf("port %v has HOQLife %d, want %d", at, pi.HOQLife(), hoq)
			}
			if info := b.Fabric.SwitchInfo(at.Node); info.LifeTimeValue() != want.PacketLifeTime.Value {
				b.Errorf("switch %d has LifeTimeValue %d", at.Node, info.LifeTimeValue())
			}
			continue
		}
		if pi.GidPrefix() != want.SubnetPrefix.Value || pi.LMC() != want.LMC.Value ||
			pi.SubnetTimeOut() != want.SubnetTimeOut.Value {
			b.Errorf("port %v has prefix %v, LMC %d, time-out %d", at, pi.GidPrefix(), pi.LMC(), pi.SubnetTimeOut())
		}
	}
}

// An M_Key that is not ours stays where it is: at protection 0 and 1 the fabric can
// be read, and the manager that does not know the key takes none away.
func TestForeignMKey(t *testing.T) {
	for _, protect := range []uint8{0, 1} {
		t.Run(fmt.Sprint("protect ", protect), func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			cfg := minhopConfig()
			cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x1234567890abcdef))
			cfg.Sweep.Settings.MKeyProtect = sweep.Given(protect)
			first := b.comeUp(cfg)
			b.mustBeWhole(first)
			first.retire()
			before := b.snapshot()
			m := b.add(host(n, 1), minhopConfig())
			t.Cleanup(m.dump)
			b.pass(settling)
			b.mustBeAsBefore(before)
			if len(m.ups) == 0 {
				t.Error("the subnet did not come up")
			}
		})
	}
}
