package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// liarGUID is the GUID by which a liar of the tests calls itself.
const liarGUID = 0x66600

// listener is what a liar has been shown.
type listener struct {
	own   map[mad.MKey]bool // the M_Keys that a liar may be shown: its own, and those of GUIDs that it has made up
	keys  map[mad.MKey]bool // all others
	sets  int               // Sets that were meant for nodes beyond the liar
	asked int               // requests
}

func (l *listener) hear(p *mad.Packet, beyond []uint8) {
	l.asked++
	if key := p.MKey(); key != 0 && !l.own[key] {
		l.keys[key] = true
	}
	if p.Method() == mad.MethodSet && len(beyond) > 0 {
		l.sets++
	}
}

// listen prepares what a liar at a port may be shown, in the subnet of portMKeys(1): also the m_key, which no port has,
// but not the key by which a manager asks to be let in.
func (b *harness) listen(at net.End, others ...mad.GUID) *listener {
	ports := subnetSecret.Ports(1)
	l := &listener{own: map[mad.MKey]bool{mad.MKey(subnetSecret.MKey()): true}, keys: map[mad.MKey]bool{}}
	for _, guid := range append(others, b.Fabric.PortGUID(at)) {
		l.own[mad.MKey(ports.Of(uint64(guid)))] = true
	}
	return l
}

// nodesBut are all nodes but two.
func nodesBut(n *net.Net, a, b net.End) (others []int32) {
	for i := range int32(len(n.Nodes)) {
		if i != a.Node && i != b.Node {
			others = append(others, i)
		}
	}
	return others
}

// pretendAll has a host say that it is a switch, behind whose ports are the nodes.
func (b *harness) pretendAll(liar net.End, hears func(*mad.Packet, []uint8), nodes ...int32) {
	lie := &fabric.Lie{Self: fabric.SwitchClaim(liarGUID, uint8(len(nodes)+1)), Behind: map[uint8]fabric.Claim{},
		Heard: hears}
	for i, node := range nodes {
		lie.Behind[uint8(i+2)] = b.Fabric.ClaimOf(node, 1)
	}
	b.Fabric.SetLie(liar.Node, lie)
}

// A host says that it is a switch, and that all other nodes are behind it. Their links have not been down: so each
// stays where it is, and the host is shown no M_Key of theirs, whatever is known of the subnet, and however near it is.
func TestLiarClaimsAll(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, near := range []int{1, 5, 15} {
		t.Run(fmt.Sprintf("host %d", near), func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			m := b.comeUp(portMKeys(1))
			liar := host(n, near)
			others := nodesBut(n, liar, firstHost(n))
			heard := b.listen(liar, liarGUID)
			b.pretendAll(liar, heard.hear, others...)
			peer := b.Fabric.Peer(liar)
			b.Fabric.LinkDown(peer)
			b.pass(time.Second)
			b.Fabric.LinkUp(peer)
			b.pass(3 * time.Minute)
			if heard.asked == 0 {
				t.Fatal("nobody asked the liar")
			}
			if len(heard.keys) > 0 || heard.sets > 0 {
				t.Errorf("the liar was shown %d M_Keys of others, and %d Sets", len(heard.keys), heard.sets)
			}
			b.mustKnow(m, len(others)+1)
		})
	}
}

// A manager that starts while a liar claims the nodes of others is shown where they are by its own store, or by that of
// OpenSM. Without one it asks those first whose links are up: the port of the liar, which nobody has brought up since
// it lies, comes last.
func TestLiarRestart(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, store := range []string{"links", "none"} {
		t.Run(store, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			first := b.comeUp(portMKeys(1))
			cfg := portMKeys(1)
			if store == "links" {
				cfg.Sweep.Restored = b.kept(firstHost(n))
			}
			liar := host(n, 1)
			others := nodesBut(n, liar, firstHost(n))
			first.retire()
			heard := b.listen(liar, liarGUID)
			ports := subnetSecret.Ports(1)
			heard.own[mad.MKey(ports.Knock())] = true // who knows no types of nodes asks everybody to let it in
			b.pretendAll(liar, heard.hear, others...)
			peer := b.Fabric.Peer(liar)
			b.Fabric.LinkDown(peer)
			b.Fabric.LinkUp(peer)
			m := b.add(firstHost(n), cfg)
			t.Cleanup(m.dump)
			b.pass(10 * time.Minute)
			if heard.asked == 0 {
				t.Fatal("nobody asked the liar")
			}
			if len(heard.keys) > 0 || heard.sets > 0 {
				t.Errorf("the liar was shown %d M_Keys of others, and %d Sets", len(heard.keys), heard.sets)
			}
			b.mustKnow(m, len(others)+1)
		})
	}
}

// mustKnow fails the test unless the manager knows all the nodes of the fabric, or the first so many, where they are.
func (b *harness) mustKnow(m *watched, count int) {
	b.Helper()
	known, t := 0, m.View.Topo
	for i := range b.net.Nodes {
		at := net.End{Node: int32(i), Port: 1}
		info, far := b.Fabric.NodeInfo(at), b.Fabric.NodeInfo(b.Fabric.Peer(at))
		if p := t.FindNodePort(info.NodeGUID(), at.Port); p >= 0 && t.Ports[p].Peer >= 0 &&
			t.Nodes[t.Ports[t.Ports[p].Peer].Node].GUID == far.NodeGUID() {
			known++
		}
	}
	if known < count {
		b.Errorf("the manager knows %d nodes where they are, of %d", known, count)
	}
}

// A host says that it is a switch of 254 ports, and that behind each of them is another one, without end. The subnet
// comes up all the same, and nobody else notices: another host's reboot is handled in about the time that it takes
// without the liar. Each walk takes in 4096 further ports of the branch; where its port led to an adapter before, the
// first walk alone does.
func TestLiarEndless(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	const perWalk = 4096/255 + 1 // switches
	never := runEndless(t, n, "never")
	t.Logf("without a liar: a reboot takes %v", never.reboot)
	for _, c := range []struct {
		when   string
		slower time.Duration
		nodes  func(sweeps int) int // of those that are not there
	}{
		{"later", 2, func(int) int { return perWalk }},
		{"at the start", 10, func(sweeps int) int { return (perWalk + 1) * sweeps }}, // one more is asked already
	} {
		t.Run(c.when, func(t *testing.T) {
			got := runEndless(t, n, c.when)
			t.Logf("a reboot takes %v; %d nodes after %d sweeps, %d findings", got.reboot, got.nodes, got.sweeps,
				got.findings)
			if got.reboot > c.slower*never.reboot {
				t.Errorf("a reboot takes %v, without the liar %v", got.reboot, never.reboot)
			}
			if most := len(n.Nodes) + c.nodes(got.sweeps); got.nodes > most {
				t.Errorf("%d nodes are known, want at most %d", got.nodes, most)
			}
			if got.findings > 10 {
				t.Errorf("%d findings", got.findings)
			}
		})
	}
}

// endlessRun is what a run with an endless liar comes to.
type endlessRun struct {
	reboot                  time.Duration // of another host, the longest of three, until it is ACTIVE
	nodes, sweeps, findings int           // known at its end
}

// runEndless makes a host an endless liar at some time, and measures how the reboots of another one are handled.
func runEndless(t *testing.T, n *net.Net, when string) (r endlessRun) {
	b := newHarness(t, n, fabric.Config{Seed: 1})
	liar, other := host(n, 5), host(n, 9)
	lie := &fabric.Lie{Self: fabric.SwitchClaim(liarGUID, 254), Endless: true}
	if when == "at the start" {
		b.Fabric.SetLie(liar.Node, lie)
	}
	m := b.comeUp(minhopConfig())
	if when == "later" {
		b.Fabric.SetLie(liar.Node, lie)
		peer := b.Fabric.Peer(liar)
		b.Fabric.LinkDown(peer)
		b.pass(time.Second)
		b.Fabric.LinkUp(peer)
		b.pass(time.Minute)
	}
	for range 3 {
		b.Fabric.Reboot(other.Node)
		began := b.Fabric.Now()
		active := func() bool {
			info := b.Fabric.PortInfo(other)
			return info.PortState() == smp.PortActive
		}
		if !b.Run(began+settling, active) {
			t.Fatalf("the other host is not ACTIVE within %v", settling)
		}
		r.reboot = max(r.reboot, b.Fabric.Now()-began)
		b.pass(time.Minute)
	}
	r.nodes, r.sweeps, r.findings = len(m.View.Topo.Nodes), len(m.ups), len(m.View.Findings)
	return r
}

// A host says that it is the node of the manager, and answers Get(SMInfo) with what a master would. A manager with a
// secret that starts becomes master all the same, and raises an alarm; so does a standby whose master has ended.
func TestLiarIsManager(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, takesOver := range []bool{false, true} {
		t.Run(fmt.Sprintf("takeover %v", takesOver), func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			cfg := minhopConfig()
			cfg.Elect.SMKey = 0x5ec4e7
			at := firstHost(n)
			first := b.comeUp(cfg)
			if takesOver {
				at = host(n, 7)
			}
			lie := &fabric.Lie{Self: b.Fabric.ClaimOf(at.Node, 1)}
			lie.Self.SM = &smp.SMInfo{}
			lie.Self.SM.SetGUID(b.Fabric.PortGUID(at))
			lie.Self.SM.SetSMState(smp.Master)
			lie.Self.SM.SetPriority(15)
			lie.Self.SM.SetSMKey(1)
			b.Fabric.SetLie(host(n, 5).Node, lie)
			m := first
			if takesOver {
				m = b.add(at, cfg)
				b.pass(10 * time.Second)
				b.Kill(first.Manager)
			} else {
				b.Kill(first.Manager)
				m = b.add(at, cfg)
			}
			t.Cleanup(m.dump)
			b.pass(2 * time.Minute)
			if len(m.ups) == 0 || m.says("ALARM") == 0 {
				t.Errorf("up %d times, %d alarms", len(m.ups), m.says("ALARM"))
			}
		})
	}
}
