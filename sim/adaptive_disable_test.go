package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sweep/routes"
	"ibsm/topo/net"
)

// flow is from an end port to a LID.
type flow struct {
	from net.End
	to   mad.LID
}

// arrives reports whether packets of a flow arrive, whatever ports of their groups switches choose.
func (w *arWorld) arrives(f flow, times int) bool {
	var hops []fabric.Hop
	for range times {
		var end fabric.Drop
		if hops, end = w.Fabric.Probe(f.from, f.to, mad.DefaultPKey, 0, hops[:0]); end != fabric.Delivered {
			return false
		}
	}
	return true
}

// flows are those that arrive.
func (w *arWorld) flows() (all []flow) {
	ports := w.endPorts()
	for _, from := range ports {
		for _, to := range ports {
			info := w.Fabric.PortInfo(to)
			if f := (flow{from, info.LID()}); from != to && w.arrives(f, 64) {
				all = append(all, f)
			}
		}
	}
	return all
}

// TestAdaptiveRoutingIsDisabledInOrder: disable turns adaptive routing off at switches that carry traffic by their
// groups. Where no table has to be repaired, no packet is lost at any moment. A switch whose table leads into a lost
// link keeps its groups until its table is repaired: no packet is lost if it takes the Set, and for a round trip if it
// refuses it at first.
func TestAdaptiveRoutingIsDisabledInOrder(t *testing.T) {
	for _, noFallback := range []bool{false, true} {
		for _, lost := range []int{-1, 0, 1, 2, 3, 9, 17} {
			t.Run(fmt.Sprint("no_fallback ", noFallback, " lost ", lost), func(t *testing.T) {
				arDisabled(t, noFallback, lost)
			})
		}
	}
}

func arDisabled(t *testing.T, noFallback bool, lost int) {
	var changed bool
	w := newARWorld(t, "fattree:k=4", fabric.Caps{NoFallback: noFallback})
	w.onSet = func(s fabric.Set) {
		changed = changed || s.Attr == smp.AttrLinearForwardingTable || s.Attr == smp.AttrARInfo
	}
	w.comeUp(minhopConfig()).retire()
	w.on(1)
	if lost >= 0 {
		w.Fabric.LinkDown(w.cables()[lost])
	}
	flows := w.flows()
	changed = false
	cfg := minhopConfig()
	cfg.Sweep.Settings.AR = routes.DisableAR
	m := w.add(host(w.net, 1), cfg)
	t.Cleanup(m.dump)
	since, longest, states := map[flow]time.Duration{}, time.Duration(0), 0
	w.Run(w.Fabric.Now()+settling, func() bool {
		if !changed {
			return false
		}
		changed = false
		states++
		for _, f := range flows {
			began, is := since[f]
			switch now := w.Fabric.Now(); {
			case w.arrives(f, 2):
				if is {
					longest = max(longest, now-began)
				}
				delete(since, f)
			case !is:
				since[f] = now
			}
		}
		return false
	})
	t.Logf("%d flows, %d states, none is lost for longer than %v", len(flows), states, longest)
	allowed := time.Duration(0)
	if lost >= 0 && noFallback {
		allowed = 2 * latency // from the Set that turns it off to that of the block, sent again
	}
	if longest > allowed || len(since) > 0 {
		t.Errorf("flows are lost for %v, and %d for good", longest, len(since))
	}
	if states == 0 {
		t.Error("nothing was written")
	}
	for _, n := range w.switches {
		if is := w.enables(n); is != ([2]byte{}) {
			t.Errorf("switch %d: disable leaves %x", n, is)
		}
	}
	w.mustCarry()
	m.mustRest()
}

// TestAdaptiveRoutingIsDisabledCold: nothing is carried before, and a switch gets its table when adaptive routing is
// off there.
func TestAdaptiveRoutingIsDisabledCold(t *testing.T) {
	for _, noFallback := range []bool{false, true} {
		w := newARWorld(t, "fattree:k=4", fabric.Caps{NoFallback: noFallback})
		var early []int32
		w.onSet = func(s fabric.Set) {
			if s.Attr == smp.AttrLinearForwardingTable && w.Fabric.AdaptiveRoutes(s.Node) {
				early = append(early, s.Node)
			}
		}
		w.on(1)
		cfg := minhopConfig()
		cfg.Sweep.Settings.AR = routes.DisableAR
		m := w.comeUp(cfg)
		if len(early) > 0 {
			t.Errorf("tables were written while adaptive routing was on: %v", early)
		}
		for _, n := range w.switches {
			if is := w.enables(n); is != ([2]byte{}) {
				t.Errorf("switch %d: disable leaves %x", n, is)
			}
		}
		w.mustCarry()
		m.mustRest()
	}
}
