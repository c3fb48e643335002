package sim_test

import (
	"fmt"
	"testing"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// cables are the links between switches, by one end of each.
func (w *arWorld) cables() (ends []net.End) {
	for _, sw := range w.switches {
		for num := range w.Fabric.NumPorts(sw) {
			at := net.End{Node: sw, Port: num + 1}
			if peer := w.Fabric.Peer(at); peer != net.NoEnd && w.Fabric.NodeType(peer.Node) == mad.Switch && (at.Node < peer.Node || at.Node == peer.Node && at.Port < peer.Port) {
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
				t.Run(fmt.Sprint(spec, " no_fallback ", noFallback, " lost ", lost), func(t *testing.T) { arLostBefore(t, spec, caps, lost) })
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
	m.mustRest()
}
