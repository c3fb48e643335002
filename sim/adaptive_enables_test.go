package sim_test

import (
	"fmt"
	"testing"

	"ibsm/sim/fabric"
	"ibsm/sweep/routes"
)

// enables are the bits of ARInfo that say what is on, by NVIDIA's header: in byte 3 adaptive routing 0x01, fast
// recovery 0x10 and routing notifications 0x20; in byte 22 pFRN 0x10, weighted hash-based forwarding 0x40 and
// hash-based forwarding 0x80.
func (w *arWorld) enables(n int32) [2]byte {
	info := w.Fabric.ARInfo(n)
	return [2]byte{info[3] & 0x31, info[22] & 0xd0}
}

// TestAdaptiveRoutingEnables: what depends on adaptive routing goes off with it. In keep that is where this manager
// ended it; disable clears whatever is on, also where adaptive routing itself is off.
func TestAdaptiveRoutingEnables(t *testing.T) {
	for _, noFallback := range []bool{false, true} {
		for _, mode := range []routes.ARMode{routes.KeepAR, routes.DisableAR} {
			t.Run(fmt.Sprint("no_fallback ", noFallback, " mode ", mode), func(t *testing.T) {
				arEnables(t, noFallback, mode)
			})
		}
	}
}

func arEnables(t *testing.T, noFallback bool, mode routes.ARMode) {
	w := newARWorld(t, "fattree:k=4", fabric.Caps{NoFallback: noFallback})
	w.comeUp(minhopConfig()).retire()
	w.on(1)
	// another manager ended adaptive routing there, and nothing else
	for _, n := range []int32{w.switches[2], w.switches[5]} {
		w.Fabric.FallBack(n)
	}
	foreign := w.switches[5]
	was := map[int32][2]byte{}
	for _, n := range w.switches {
		was[n] = w.enables(n)
	}
	if off := was[foreign][0]&1 == 0; off == noFallback || was[foreign][0]&0x30 != 0x30 || was[foreign][1]&0x10 == 0 {
		t.Fatalf("a Set of the forwarding table leaves %x", was[foreign])
	}
	clear(w.written)
	m := w.add(host(w.net, 1), minhopConfig())
	t.Cleanup(m.dump)
	w.pass(settling)
	w.Fabric.LinkDown(uplink(w.net, w.switches[0]))
	w.pass(settling)
	kept, ended := 0, 0
	for _, n := range w.switches {
		switch is := w.enables(n); {
		case is == was[n] && !w.written[n]:
			kept++
		case is == [2]byte{}:
			ended++
		default:
			t.Errorf("switch %d: %x has become %x, its table was written: %v", n, was[n], is, w.written[n])
		}
	}
	if kept == 0 || ended == 0 {
		t.Errorf("%d switches keep adaptive routing, %d have lost it", kept, ended)
	}
	if m.mustRest(); mode == routes.KeepAR {
		return
	}
	m.retire()
	cfg := minhopConfig()
	cfg.Sweep.Settings.AR = mode
	m = w.add(host(w.net, 2), cfg)
	t.Cleanup(m.dump)
	w.pass(settling)
	for _, n := range w.switches {
		if is := w.enables(n); is != ([2]byte{}) {
			t.Errorf("switch %d: disable leaves %x", n, is)
		}
	}
	w.mustCarry()
	m.mustRest()
}
