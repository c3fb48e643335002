package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// cables are the links between switches, by one end of each.
func (w *arWorld) cables() (ends []net.End) {
	for _, sw := range w.switches {
		for num := range w.Fabric.NumPorts(sw) {
			at := net.End{Node: sw, Port: num + 1}
			if peer := w.Fabric.Peer(at); peer != net.NoEnd && w.Fabric.NodeType(peer.Node) == mad.Switch &&
				(at.Node < peer.Node || at.Node == peer.Node && at.Port < peer.Port) {
				ends = append(ends, at)
			}
		}
	}
	return ends
}

// TestAdaptiveRoutingLostBefore: links are lost while no manager runs, and adaptive routing is on. Which ports groups
// have is not known then: they must not lead packets in circles for ever.
func TestAdaptiveRoutingLostBefore(t *testing.T) {
	for _, spec := range []string{"fattree:k=4", "torus:dims=4x4,hosts=1"} {
		for _, noFallback := range []bool{false, true} {
			caps := fabric.Caps{NoFallback: noFallback}
			cables := newARWorld(t, spec, caps).cables()
			for i := -1; i < len(cables); i++ {
				lost := cables[max(i, 0):max(i+1, 0)]
				if i >= 0 && i%4 == 3 { // several
					lost = append(append([]net.End{}, lost...), cables[(i*7+5)%len(cables)])
				}
				t.Run(fmt.Sprint(spec, " no_fallback ", noFallback, " lost ", lost), func(t *testing.T) {
					arLostBefore(t, spec, caps, lost)
				})
			}
		}
	}
}

func arLostBefore(t *testing.T, spec string, caps fabric.Caps, lost []net.End) {
	w := newARWorld(t, spec, caps)
	w.comeUp(minhopConfig()).retire()
	on := w.on(1)
	clear(w.written)
	for _, at := range lost {
		w.Fabric.LinkDown(at)
	}
	m := w.add(host(w.net, 1), minhopConfig())
	t.Cleanup(m.dump)
	w.pass(settling)
	w.mustCarry()
	kept := w.mustKeep(m, on)
	if want := len(on); len(lost) == 0 && kept != want {
		t.Errorf("of %d switches %d keep it, and no link is lost", want, kept)
	}
	for _, n := range on {
		if why := w.whyOff(m, n); len(lost) > 0 && !w.written[n] && why != "" &&
			!strings.Contains(why, "a link had been lost before") {
			t.Errorf("switch %d: %q", n, why)
		}
	}
	m.mustRest()
}

// whyOff is what the view says of a switch that has lost adaptive routing.
func (w *arWorld) whyOff(m *watched, n int32) string {
	for _, f := range m.View.Findings {
		if f.Kind == finding.NotAdaptive && f.Node == w.net.Nodes[n].GUID {
			return f.Detail
		}
	}
	return ""
}

// TestNoLongerAdaptive: a switch that has lost adaptive routing is reported with the reason.
func TestNoLongerAdaptive(t *testing.T) {
	w := newARWorld(t, "torus:dims=3x3x3,hosts=1", fabric.Caps{})
	w.comeUp(minhopConfig()).retire()
	on := w.on(1)
	clear(w.written)
	m := w.add(host(w.net, 1), minhopConfig())
	t.Cleanup(m.dump)
	w.pass(settling)
	for _, at := range w.cables()[:1] {
		w.Fabric.LinkDown(at)
		w.pass(settling)
	}
	want := map[int32]string{}
	var kept []int32
	for _, n := range on {
		switch {
		case w.Fabric.AdaptiveRoutes(n):
			kept = append(kept, n)
		case w.written[n]:
			want[n] = "its forwarding table was written"
		default:
			want[n] = "its groups may no longer lead to their destinations"
		}
	}
	rebooted, other := kept[0], kept[slices.IndexFunc(kept[1:], func(n int32) bool {
		return w.enables(n)[1]&0x80 == 0
	})+1]
	w.Fabric.Reboot(rebooted)
	w.Fabric.FallBack(other)
	w.pass(settling)
	m.sweep(manager.Heavy)
	want[rebooted] = "this manager did not turn it off"
	want[other] = want[rebooted]
	count := map[string]int{}
	for _, n := range on {
		if why := w.whyOff(m, n); (why == "") != (want[n] == "") || !strings.Contains(why, want[n]) {
			t.Errorf("switch %d: %q, want %q", n, why, want[n])
		}
		count[want[n]]++
	}
	for reason, n := range count {
		if reason != "" && m.says("adaptive routing is now off at a switch", reason) != n {
			t.Errorf("the log does not name %d switches once: %s", n, reason)
		}
	}
	if len(count) != 4 {
		t.Errorf("the reasons are %v", count)
	}
}

// TestAdaptiveRoutingOfAnotherManager: the process of a manager is stopped. Meanwhile another one is master, links come
// up, and groups of that subnet are written, with tables that lead over the new links or that do not. When the process
// goes on, the groups are taken for what they are: switches keep them, and no packet circulates after links are lost.
func TestAdaptiveRoutingOfAnotherManager(t *testing.T) {
	for _, spec := range []string{"torus:dims=4x4,hosts=1", "torus:dims=3x3x3,hosts=1"} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(spec, " seed ", seed), func(t *testing.T) { arOfAnother(t, spec, seed) })
		}
	}
}

func arOfAnother(t *testing.T, spec string, seed uint64) {
	w := newARWorld(t, spec, fabric.Caps{NoFallback: seed%2 == 0})
	cables := w.cables()
	rand.New(rand.NewPCG(seed, 5)).Shuffle(len(cables), func(i, j int) { cables[i], cables[j] = cables[j], cables[i] })
	added, lost := cables[:4], cables[4:10]
	for _, at := range added {
		w.Fabric.LinkDown(at)
	}
	w.comeUp(minhopConfig()).retire()
	w.on(1)
	cfg := minhopConfig()
	cfg.Elect.Priority = 9
	m := w.add(host(w.net, 1), cfg)
	t.Cleanup(m.dump)
	w.pass(settling)
	other := w.add(host(w.net, 3), minhopConfig())
	w.pass(settling)
	m.Asleep = w.Fabric.Now() + 10*time.Minute
	w.pass(time.Minute)
	for _, at := range added {
		w.Fabric.LinkUp(at)
	}
	w.pass(time.Minute)
	if seed%4 < 2 {
		w.Ask(other.Manager, manager.Reroute)
		w.pass(time.Minute)
	}
	if other.last() != smp.Master {
		t.Fatalf("no test: the other manager is %v", other.last())
	}
	on := w.on(1)
	clear(w.written)
	other.retire()
	w.pass(m.Asleep - w.Fabric.Now() + settling)
	w.mustCarry()
	if kept := w.mustKeep(m, on); m.last() != smp.Master || kept != len(on) {
		t.Errorf("the manager is %v, %d of %d switches keep adaptive routing", m.last(), kept, len(on))
	}
	for _, at := range lost {
		w.Fabric.LinkDown(at)
		w.pass(settling)
		w.mustCarry()
		w.mustKeep(m, on)
	}
}

// TestAdaptiveRoutingAfterReboots: tables lead by longer paths than groups, because links came up that they do not use,
// and switches lose adaptive routing one after another, by a reboot or by somebody else. No packet circulates between
// their tables and the groups of others.
func TestAdaptiveRoutingAfterReboots(t *testing.T) {
	for _, spec := range []string{"torus:dims=4x4,hosts=1", "torus:dims=3x3x3,hosts=1"} {
		for seed := range uint64(4) {
			for _, reboots := range []bool{false, true} {
				t.Run(fmt.Sprint(spec, " seed ", seed, " reboots ", reboots), func(t *testing.T) {
					arAfterReboots(t, spec, seed, reboots)
				})
			}
		}
	}
}

func arAfterReboots(t *testing.T, spec string, seed uint64, reboots bool) {
	w := newARWorld(t, spec, fabric.Caps{NoFallback: seed%2 == 0})
	cables := w.cables()
	rand.New(rand.NewPCG(seed, 5)).Shuffle(len(cables), func(i, j int) { cables[i], cables[j] = cables[j], cables[i] })
	for _, at := range cables[:4] {
		w.Fabric.LinkDown(at)
	}
	w.comeUp(minhopConfig()).retire()
	for _, at := range cables[:4] {
		w.Fabric.LinkUp(at)
	}
	on := w.on(1)
	clear(w.written)
	m := w.add(host(w.net, 1), minhopConfig())
	t.Cleanup(m.dump)
	w.pass(settling)
	w.mustCarry()
	if kept := w.mustKeep(m, on); kept != len(on) {
		t.Errorf("%d of %d switches keep adaptive routing though nothing happens", kept, len(on))
	}
	for i, sw := range w.switches {
		if i%3 != 0 {
			continue
		}
		if reboots {
			w.Fabric.Reboot(sw)
		} else {
			w.Fabric.FallBack(sw)
		}
		w.pass(settling)
		m.sweep(manager.Heavy)
		w.pass(settling)
		w.mustCarry()
	}
}

// TestAdaptiveRoutingPausedInProgram: the manager's own port loses its link when some of the tables are written that
// repair a loss. What it finds after that is its own, and switches keep adaptive routing.
func TestAdaptiveRoutingPausedInProgram(t *testing.T) {
	kept := 0
	for _, spec := range []string{"torus:dims=4x4,hosts=1", "torus:dims=3x3x3,hosts=1"} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(spec, " seed ", seed), func(t *testing.T) { kept += arPausedInProgram(t, spec, seed) })
		}
	}
	t.Logf("%d keep it", kept)
	if kept < keptInProgram {
		t.Errorf("%d keep it, want %d", kept, keptInProgram)
	}
}

// keptInProgram is how many switches have to keep adaptive routing, in all rounds together. It is 177, and 111 where
// groups are forgotten.
const keptInProgram = 150

// arPausedInProgram takes three links away, one after another, and adds up how many switches keep adaptive routing.
func arPausedInProgram(t *testing.T, spec string, seed uint64) (kept int) {
	rng := rand.New(rand.NewPCG(seed, 5))
	w := newARWorld(t, spec, fabric.Caps{NoFallback: seed%2 == 0})
	w.comeUp(minhopConfig()).retire()
	on := w.on(1)
	m := w.add(host(w.net, 1), minhopConfig())
	t.Cleanup(m.dump)
	w.pass(settling)
	cables, own := w.cables(), host(w.net, 1)
	for range 3 {
		sets, most := 0, 1+rng.IntN(8)
		w.onSet = func(s fabric.Set) {
			if s.Attr == smp.AttrLinearForwardingTable {
				sets++
			}
		}
		w.Fabric.LinkDown(cables[rng.IntN(len(cables))])
		w.Run(w.Fabric.Now()+5*time.Second, func() bool { return sets >= most })
		w.Fabric.LinkDown(own)
		w.pass(settling)
		w.Fabric.LinkUp(own)
		w.pass(settling)
		w.mustCarry()
		for _, n := range on {
			if w.Fabric.AdaptiveRoutes(n) {
				kept++
			}
		}
	}
	return kept
}
