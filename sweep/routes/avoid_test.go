package routes

import (
	"slices"
	"testing"

	"ibsm/topo"
)

// TestLack: a credit loop is worse than a refusal, and no routes are worse than all.
func TestLack(t *testing.T) {
	order := []lack{{}, {refusals: 2}, {unreached: 1}, {loop: 1}, {loop: 1, unreached: 3}, {routes: 1}}
	for i := range order {
		for j := range order {
			if got := order[i].compare(order[j]); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%+v and %+v: %d", order[i], order[j], got)
			}
		}
	}
}

// TestLinksAdded: a link between switches that is new, or can be used again, is added; one that routes avoid is not.
func TestLinksAdded(t *testing.T) {
	f := newLiving(t, "fattree:k=4")
	whole := f.Topo
	f.Cut(f.Cables(false)[0])
	f.walk(t)
	without := f.Topo
	if !linksAdded(without, whole) || linksAdded(whole, without) || linksAdded(whole, whole) {
		t.Error("a link was added, in this order and no other")
	}
	f.Restore(0)
	f.walk(t)
	lost := func(p topo.Port) bool { return p.Num > 0 && p.Peer == topo.None }
	p := topo.PortIdx(slices.IndexFunc(without.Ports, lost))
	if setUnhealthy(f.Topo, []topo.PortIdx{p}, true); linksAdded(without, f.Topo) || !linksAdded(f.Topo, whole) {
		t.Error("a link that routes avoid is not added before they may use it")
	}
}
