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

// The dependencies of packets are those of the packets from each source to each LID, in a subnet with several blocks of
// LIDs; also where each switch may have the tables of before; of all LIDs, and of few in each block; on one SL, and on
// several.
func TestFlood(t *testing.T) {
	const seed = 10
	rng := rand.New(rand.NewPCG(seed, 1))
	s := routingtest.NewSubnet(t, "fattree:k=8", minhop.Route)
	var sls *routing.SLs
	for round := range 12 {
		var before *Rules
		if round%2 == 1 {
			was := *s.Tables
			before = &Rules{Forwarding: routing.NewForwarding(s.Topo, s.LIDs, &was), SLs: sls}
			s = s.Changed()
		}
		if sls = nil; round%3 > 0 {
			rows := make([][]uint8, len(s.Topo.Switches))
			for i := range rows {
				rows[i] = make([]uint8, len(rows))
				for j := range rows[i] {
					rows[i][j] = uint8(rng.IntN(3))
				}
			}
			sls = routing.SLsBySwitch(s.Topo, s.LIDs, rows)
		}
		for range 1000 {
			s.Spoil(rng)
		}
		in := In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables), SLs: sls,
			Before: before}
		g, want := newGraph(in), newGraph(in)
		if blocks := len(want.dests) / routing.BlockSize; g.sls > 1 != (sls != nil || before != nil &&
			before.SLs != nil) || blocks < 3 {
			t.Fatalf("packets have %d SLs, and there are %d blocks", g.sls, blocks)
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
			came := map[[2]int]bool{} // by channel and SL: packets to the LID have passed it
			for i := range want.sources {
				for sl := range want.sls {
					if want.slsOf(&want.sources[i], lid)>>sl&1 == 0 {
						continue
					}
					for _, c := range want.leaving(want.sources[i].at, lid) {
						want.floodFrom(c, lid, sl, came)
					}
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

// floodFrom follows packets to a LID that pass a channel on an SL.
func (g *graph) floodFrom(c, lid, sl int, came map[[2]int]bool) {
	if came[[2]int{c, sl}] {
		return
	}
	came[[2]int{c, sl}] = true
	for _, next := range g.leaving(g.next[c], lid) {
		g.depend(c, 1<<sl, uint8(next%g.ports))
		g.floodFrom(next, lid, sl, came)
	}
}
