package routes

import (
	"math/rand/v2"
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

// Links that were added, and those that a base lacks, are those of a list, whatever nodes and links come and go.
func TestLinksOfLiving(t *testing.T) {
	count := map[bool]int{}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 5))
		f := newLiving(t, "fattree:k=4")
		links := func(t *topo.Topo) map[link]bool {
			all := map[link]bool{}
			for p := range t.Ports {
				far := t.Ports[p].Peer
				if !t.BetweenSwitches(topo.PortIdx(p)) || t.Ports[p].Unhealthy || t.Ports[far].Unhealthy {
					continue
				}
				from, to := &t.Ports[p], &t.Ports[far]
				all[link{t.Nodes[from.Node].GUID, t.Nodes[to.Node].GUID, from.Num, to.Num}] = true
			}
			return all
		}
		for range 20 {
			was := f.Topo
			f.Damage(rng)
			f.walk(t)
			if p := topo.PortIdx(rng.IntN(len(f.Topo.Ports))); f.Topo.Ports[p].Peer != topo.None && rng.IntN(2) == 0 {
				setUnhealthy(f.Topo, []topo.PortIdx{p}, true)
			}
			before, now := links(was), links(f.Topo)
			added, lacks := false, false
			for l := range now {
				added = added || !before[l]
			}
			for _, l := range linksOf(f.Topo) {
				lacks = lacks || !before[l]
			}
			b := &base{links: linksOf(was)}
			if linksAdded(was, f.Topo) != added || b.lacks(f.Topo) != added || lacks != added {
				t.Fatalf("seed %d: added %v, by a list of all links %v; the base lacks some: %v, by its list %v", seed,
					linksAdded(was, f.Topo), added, b.lacks(f.Topo), lacks)
			}
			count[added]++
		}
	}
	if count[false] == 0 || count[true] == 0 {
		t.Error("some case did not happen")
	}
}
