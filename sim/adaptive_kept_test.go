package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// arWorld is a fat tree of NVIDIA's switches, and the tables that they took.
type arWorld struct {
	*harness
	switches []int32
	written  map[int32]bool // switches that were sent a block of their table
	lanes    map[int32]bool // switches that were sent a table of lanes
	onSet    func(fabric.Set)
}

func newARWorld(t *testing.T, spec string, caps fabric.Caps) *arWorld {
	w := &arWorld{written: map[int32]bool{}, lanes: map[int32]bool{}}
	n := nettest.Generate(t, spec)
	w.harness = newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
		if w.onSet != nil {
			w.onSet(s)
		}
		if s.Attr == smp.AttrLinearForwardingTable {
			w.written[s.Node] = true
		}
		if s.Attr == smp.AttrSLtoVLMappingTable || s.Attr == smp.AttrVLArbitrationTable {
			w.lanes[s.Node] = true
		}
	}, Caps: func(_ int32, node *net.Node, c *fabric.Caps) {
		if node.Type == mad.Switch {
			c.NVIDIA, c.AR, c.NoFallback, c.PrivateLFTs = true, max(caps.AR, fabric.AROff), caps.NoFallback,
				caps.PrivateLFTs
		}
	}})
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch {
			w.switches = append(w.switches, int32(i))
		}
	}
	return w
}

// on has another manager turn adaptive routing on at every so many switches.
func (w *arWorld) on(each int) (nodes []int32) {
	for i, n := range w.switches {
		if each > 0 && i%each == each-1 && w.Fabric.Powered(n) {
			w.Fabric.AdaptiveOn(n, i%2 == 0)
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// mustCarry fails the test unless every port is up and every pair arrives, whatever ports of
// their groups switches choose.
func (w *arWorld) mustCarry() {
	w.Helper()
	if at, bad := w.Fabric.FirstNotActive(); bad {
		w.Errorf("port %v is not Active", at)
	}
	lost := 0
	for range 5 {
		w.probe(func(format string, args ...any) {
			if lost++; lost <= 3 {
				w.Errorf(format, args...)
			}
		})
	}
}

// mustKeep fails the test unless exactly those switches of some forward by their groups that took no block of a table,
// have not rebooted, and whose groups are not said to be stale.
func (w *arWorld) mustKeep(m *watched, among []int32) (kept int) {
	w.Helper()
	for _, n := range among {
		guid := w.net.Nodes[n].GUID
		at := m.View.Topo.FindNode(guid)
		if at == topo.None {
			continue // no cable leads there
		}
		is := w.Fabric.AdaptiveRoutes(n)
		if is && w.written[n] {
			w.Errorf("switch %d took a block, and adaptive routing is on", n)
		}
		if is {
			kept++
		}
		if believed := m.View.Topo.Nodes[at].AR; (believed == 3) != is {
			w.Errorf("switch %d: adaptive routing is %v, the view says %d", n, is, believed)
		}
		faulty := false
		for _, f := range m.View.Findings {
			faulty = faulty || f.Node == guid && f.Kind == finding.NotAdaptive
		}
		if why := w.whyOff(m, n); !is && !w.written[n] && !strings.Contains(why, "its groups may no longer lead") &&
			!strings.Contains(why, "a link had been lost before") {
			w.Errorf("switch %d took no block: %q", n, why)
		}
		if faulty == is {
			w.Errorf("switch %d: adaptive routing is %v, no longer adaptive is %v", n, is, faulty)
		}
	}
	return kept
}

// TestAdaptiveRoutingIsKept: with adaptive routing on at none, one, half and all switches,
// whether a Set of the forwarding table turns it off or is refused, every port comes up and
// every pair arrives; a switch whose routes do not change keeps it.
func TestAdaptiveRoutingIsKept(t *testing.T) {
	const spec = "fattree:k=4"
	for _, noFallback := range []bool{false, true} {
		for _, each := range []int{0, 20, 2, 1} {
			caps := fabric.Caps{NoFallback: noFallback}
			name := func(s string) string { return fmt.Sprintf("%s each %d no_fallback %v", s, each, noFallback) }
			t.Run(name("cold"), func(t *testing.T) { arCold(t, spec, each, caps) })
			t.Run(name("taken over"), func(t *testing.T) { arTakenOver(t, spec, each, caps) })
			t.Run(name("later"), func(t *testing.T) { arLater(t, spec, each, caps) })
		}
	}
}

// arCold: no manager has been there, but switches have it on, with groups for no LID.
func arCold(t *testing.T, spec string, each int, caps fabric.Caps) {
	w := newARWorld(t, spec, caps)
	on := w.on(each)
	m := w.comeUp(minhopConfig())
	w.mustCarry()
	if kept := w.mustKeep(m, on); kept > 0 {
		t.Errorf("%d switches keep it, and all tables were written", kept)
	}
	m.mustRest()
}

// arTakenOver: another manager has turned it on. A takeover changes nothing; then a link is
// lost, comes back, a host moves, and a switch goes and comes back.
func arTakenOver(t *testing.T, spec string, each int, caps fabric.Caps) {
	w := newARWorld(t, spec, caps)
	w.comeUp(minhopConfig()).retire()
	on := w.on(each)
	clear(w.written)
	m := w.add(host(w.net, 1), minhopConfig())
	t.Cleanup(m.dump)
	w.pass(settling)
	w.mustCarry()
	if kept := w.mustKeep(m, on); kept != len(on) || len(w.written) > 0 {
		t.Fatalf("of %d switches %d keep it after a takeover, %d tables were written", len(on), kept, len(w.written))
	}
	for _, sw := range []int32{w.switches[0], w.switches[len(w.switches)-1]} {
		w.Fabric.LinkDown(uplink(w.net, sw))
		w.pass(settling)
		w.mustCarry()
		w.mustKeep(m, on)
		w.Fabric.LinkUp(uplink(w.net, sw))
		w.pass(settling)
		w.mustCarry()
		w.mustKeep(m, on)
	}
	w.Fabric.Reboot(w.switches[3])
	w.pass(settling)
	w.mustCarry()
	m.mustRest()
}

// arLater: a running manager finds it on, at a switch that is plugged in and at others where
// another manager has turned it on.
func arLater(t *testing.T, spec string, each int, caps fabric.Caps) {
	w := newARWorld(t, spec, caps)
	late := w.switches[1]
	w.Fabric.NodeDown(late)
	m := w.comeUp(minhopConfig())
	on := w.on(each)
	clear(w.written)
	m.sweep(manager.Heavy)
	w.mustCarry()
	if kept := w.mustKeep(m, on); kept != len(on) {
		t.Fatalf("of %d switches %d keep it", len(on), kept)
	}
	w.Fabric.NodeUp(late)
	if each > 0 {
		w.Fabric.AdaptiveOn(late, true)
		on = append(on, late)
	}
	w.pass(settling)
	w.mustCarry()
	w.mustKeep(m, on)
	m.mustRest()
}

// TestPrivateTables: while a switch forwards by private tables, its own is not written, and
// the rest of the subnet comes up.
func TestPrivateTables(t *testing.T) {
	w := newARWorld(t, "fattree:k=4", fabric.Caps{PrivateLFTs: true})
	newcomer := host(w.net, 9)
	w.Fabric.NodeDown(newcomer.Node)
	w.comeUp(minhopConfig()).retire()
	private := w.switches[:3]
	for _, n := range private {
		w.Fabric.PrivateLFTsOn(n)
	}
	clear(w.written)
	m := w.add(host(w.net, 1), minhopConfig())
	t.Cleanup(m.dump)
	w.pass(settling)
	w.mustCarry()
	w.Fabric.NodeUp(newcomer.Node)
	w.pass(settling)
	if at, bad := w.Fabric.FirstNotActive(); bad {
		t.Errorf("port %v is not Active", at)
	}
	for _, n := range w.switches {
		if slices.Contains(private, n) == w.written[n] {
			t.Errorf("switch %d: its table was written: %v", n, w.written[n])
		}
	}
	if m.says("it uses private forwarding tables") != len(private) {
		t.Error("the log does not name each switch once")
	}
	m.mustRest()
}

func (w *arWorld) vls(at net.End) uint8 {
	info := w.Fabric.PortInfo(at)
	return info.OperationalVLs()
}

// TestPrivateTablesKeepLanes: lanes of a switch that forwards by private tables are left alone, and reported where they
// should be others. The other end of a link that comes up has as many lanes.
func TestPrivateTablesKeepLanes(t *testing.T) {
	w := newARWorld(t, "fattree:k=4", fabric.Caps{PrivateLFTs: true})
	w.comeUp(minhopConfig()).retire()
	private, at := w.switches[2], uplink(w.net, w.switches[2])
	w.Fabric.PrivateLFTsOn(private)
	w.Fabric.LinkDown(at)
	w.Fabric.LinkUp(at)
	was := map[net.End]uint8{}
	for num := range w.Fabric.NumPorts(private) {
		at := net.End{Node: private, Port: num + 1}
		was[at] = w.vls(at)
	}
	clear(w.lanes)
	cfg := laneConfig(0, 7)
	cfg.Sweep.Settings.MaxOpVLs = sweep.Given[uint8](2)
	m := w.add(host(w.net, 1), cfg)
	t.Cleanup(m.dump)
	w.pass(settling)
	w.mustCarry()
	if w.lanes[private] || len(w.lanes) < len(w.switches)-1 {
		t.Errorf("lanes were written at %v", w.lanes)
	}
	for at, vls := range was {
		if is := w.vls(at); is != vls {
			t.Errorf("port %v: OperationalVLs %d has become %d", at, vls, is)
		}
	}
	if near, far := was[at], w.vls(w.Fabric.Peer(at)); near != far || near <= 2 {
		t.Errorf("the link at %v has OperationalVLs %d and %d", at, near, far)
	}
	guid, reported := w.net.Nodes[private].GUID, 0
	for _, f := range m.View.Findings {
		if f.Node == guid && f.Kind == finding.PrivateLanesPort {
			reported++
		}
	}
	if reported < int(w.Fabric.NumPorts(private)) {
		t.Errorf("%d ports are reported", reported)
	}
	where := fmt.Sprintf("%s:%d", w.net.Nodes[private].Desc, at.Port)
	if d := ctltest.Diagnose(t, server.Show(m.View), where, ""); !d.Works ||
		!ctltest.HasReason(d, "refused", "SLtoVLMappingTable") ||
		!ctltest.HasReason(d, "private tables", "VLs of the switch are not written") {
		t.Errorf("%+v", d)
	}
	if m.says("VL settings of the switch are not as configured") != 1 {
		t.Error("the log does not name the switch once")
	}
	m.mustRest()
}

// TestAdaptiveRoutingLosesLinks: with adaptive routing on at some switches, links are lost one
// after another. Groups that were right once must not lead packets in circles.
func TestAdaptiveRoutingLosesLinks(t *testing.T) {
	kept, unwritten := 0, 0
	for _, spec := range []string{"torus:dims=4x4,hosts=1", "torus:dims=3x3x3,hosts=1", "fattree:k=6,hosts=1"} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(spec, " seed ", seed), func(t *testing.T) {
				kept, unwritten = arLosesLinks(t, spec, seed, false, kept, unwritten)
			})
		}
	}
	t.Logf("of %d switches whose tables did not change %d kept adaptive routing", unwritten, kept)
	if kept < unwritten*68/100 { // it is 298 of 427
		t.Errorf("of %d switches whose tables did not change %d kept adaptive routing", unwritten, kept)
	}
}

// TestAdaptiveRoutingLosesLinksBetweenPauses: the same where the manager's own port loses its link after each loss. The
// groups that a loss left are those of the subnet before it, also after that.
func TestAdaptiveRoutingLosesLinksBetweenPauses(t *testing.T) {
	for _, spec := range []string{"torus:dims=4x4,hosts=1", "torus:dims=3x3x3,hosts=1"} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(spec, " seed ", seed), func(t *testing.T) { arLosesLinks(t, spec, seed, true, 0, 0) })
		}
	}
}

// arLosesLinks takes six links away, one after another. It adds to how many switches keep adaptive routing and how many
// take no block.
func arLosesLinks(t *testing.T, spec string, seed uint64, pauses bool, kept, unwritten int) (int, int) {
	rng := rand.New(rand.NewPCG(seed, 5))
	w := newARWorld(t, spec, fabric.Caps{NoFallback: seed%2 == 0})
	w.comeUp(minhopConfig()).retire()
	on := w.on(1 + int(seed)%3)
	clear(w.written)
	m := w.add(host(w.net, 1), minhopConfig())
	t.Cleanup(m.dump)
	w.pass(settling)
	for range 6 {
		sw := w.switches[rng.IntN(len(w.switches))]
		at := net.End{Node: sw, Port: uint8(1 + rng.IntN(int(w.Fabric.NumPorts(sw))))}
		if peer := w.Fabric.Peer(at); peer == net.NoEnd || w.Fabric.NodeType(peer.Node) != mad.Switch {
			continue
		}
		w.Fabric.LinkDown(at)
		w.pass(settling)
		w.mustCarry()
		kept += w.mustKeep(m, on)
		for _, n := range on {
			if !w.written[n] {
				unwritten++
			}
		}
		if pauses {
			own := host(w.net, 1)
			w.Fabric.LinkDown(own)
			w.pass(settling)
			w.Fabric.LinkUp(own)
			w.pass(settling)
			w.mustCarry()
		}
	}
	return kept, unwritten
}
