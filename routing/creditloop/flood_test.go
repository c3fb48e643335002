package creditloop

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// The dependencies of packets with one SL are those of the packets from each source to each LID, in a subnet with several blocks of LIDs; also where
// each switch may have the tables of before; of all LIDs, and of few in each block.
func TestFlood(t *testing.T) {
	const seed = 10
	rng := rand.New(rand.NewPCG(seed, 1))
	s := routingtest.NewSubnet(t, "fattree:k=8", minhop.Route)
	for round := range 20 {
		var before *Rules
		if round%2 == 1 {
			was := *s.Tables
			before = &Rules{Forwarding: routing.NewForwarding(s.Topo, s.LIDs, &was)}
			s = s.Changed()
		}
		for range 1000 {
			s.Spoil(rng)
		}
		in := In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables), Before: before}
		g, want := newGraph(in), newGraph(in)
		if blocks := len(want.dests) / routing.BlockSize; !g.alike() || blocks < 3 {
			t.Fatalf("packets have several SLs, or there are only %d blocks", blocks)
		}
		lids := g.Changed(nil)
		for block := range lids {
			if round%4 >= 2 {
				lids[block] &= rng.Uint64() & rng.Uint64() & rng.Uint64()
			}
		}
		if err := g.follow(t.Context(), lids); err != nil {
			t.Fatal(err)
		}
		for lid, is := range want.dests {
			if !is || !lids.Has(lid) {
				continue
			}
			came := map[int]bool{} // by channel: packets to the LID have passed it
			for _, from := range want.sources {
				for _, c := range want.leaving(from.at, lid) {
					want.floodFrom(c, lid, came)
				}
			}
		}
		if !slices.Equal(g.deps, want.deps) {
			t.Fatalf("seed %d, round %d: other dependencies than those of single packets", seed, round)
		}
	}
}

// leaving are the channels to other switches by which packets to a LID leave a switch, by any rules.
func (g *graph) leaving(s topo.SwitchIdx, lid int) (channels []int) {
	for rules := range g.rules {
		if port := g.egress(rules, s, lid); port != routing.NoPath && g.next[int(s)*g.ports+int(port)] >= 0 {
			channels = append(channels, int(s)*g.ports+int(port))
		}
	}
	return channels
}

// floodFrom follows packets to a LID that pass a channel.
func (g *graph) floodFrom(c, lid int, came map[int]bool) {
	if came[c] {
		return
	}
	came[c] = true
	for _, next := range g.leaving(g.next[c], lid) {
		g.depend(c, 1, uint8(next%g.ports))
		g.floodFrom(next, lid, came)
	}
}
