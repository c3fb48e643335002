package sweep

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
)

// TestShortest: paths of min-hop are shortest ones, to switches and to hosts.
func TestShortest(t *testing.T) {
	b := newHarness(t, "fattree:k=4", Config{Engines: engines.Chain{engines.MinHop}})
	out := b.heavy()
	g := newGroups(out.SweepPlan)
	hops, err := routing.NewHops(t.Context(), 0, g.graph)
	if err != nil {
		t.Fatal(err)
	}
	here := make([]topo.SwitchIdx, len(g.seen.Switches))
	for i := range here {
		here[i] = topo.SwitchIdx(i)
	}
	f, trace := out.Report.Forwarding(), routing.NewTrace(len(out.Topo.Switches))
	for l, owner := range out.LIDs.Owner {
		if owner == topo.None {
			continue
		}
		f.Tracer.Block(f.Rows, l/routing.BlockSize, routing.WholeBlock, trace)
		if !g.shortest(hops, trace.Fates(mad.LID(l)), here, mad.LID(l)) {
			t.Errorf("LID %d of a %v: its paths are no shortest ones", l, out.Topo.Nodes[out.Topo.Ports[owner].Node].Type)
		}
		// From a leaf there is a longer way to the leaf itself and its hosts.
		fates := slices.Clone(trace.Fates(mad.LID(l)))
		for s := range fates {
			if topo.SwitchIdx(s) != g.seen.Home(mad.LID(l)) {
				fates[s] += 2
				break
			}
		}
		if g.shortest(hops, fates, here, mad.LID(l)) {
			t.Errorf("LID %d: a path that is two links longer is a shortest one", l)
		}
	}
}

// TestLooksAgain: a look at groups that goes by the last one finds what one without it does.
func TestLooksAgain(t *testing.T) {
	found := 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 3))
		b := newHarness(t, []string{"fattree:k=4", "torus:dims=4x4", "torus:dims=3x5"}[seed%3], Config{Engines: engines.Chain{engines.MinHop}})
		links := b.links()
		var down []net.End
		flip := func(links ...net.End) {
			for _, at := range links {
				if i := slices.Index(down, at); i >= 0 {
					b.fabric.LinkUp(at)
					down = slices.Delete(down, i, i+1)
				} else {
					b.fabric.LinkDown(at)
					down = append(down, at)
				}
			}
			b.fabric.Advance(b.fabric.Now() + time.Second)
		}
		rng.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		flip(links[:4]...)
		b.heavy()
		flip(links[:4]...) // groups use these links, tables of the manager before do not
		b.Sweeper = New(b.cfg)
		out := b.heavy()
		g := newGroups(out.SweepPlan)
		var last *looked
		stale := map[mad.GUID]bool{}
		for step := range 12 {
			byTable := step == 1 // of a subnet that stays for a moment as it is
			switch {
			case step < 2:
			case rng.IntN(4) == 0:
				flip(links[rng.IntN(len(links))])
			case rng.IntN(3) == 0:
				b.Reroute()
			default:
				byTable = rng.IntN(2) == 0
			}
			out = b.heavy()
			var kept []topo.SwitchIdx
			for i, n := range out.Topo.Switches {
				if guid := out.Topo.Nodes[n].GUID; !stale[guid] && slices.Contains(g.seen.Switches, guid) {
					kept = append(kept, topo.SwitchIdx(i))
				}
			}
			now := &looked{out.Report.Forwarding(), byTable}
			all := g.stale(context.Background(), 1, out.SweepPlan, kept, nil, now)
			some := g.stale(context.Background(), 2, out.SweepPlan, kept, last, now)
			if !slices.Equal(all, some) {
				t.Fatalf("seed %d, step %d: %v are stale, by the last look %v", seed, step, all, some)
			}
			found += len(all)
			for _, s := range all {
				stale[out.Topo.Nodes[out.Topo.Switches[s]].GUID] = true
			}
			last = now
		}
	}
	if t.Log(found, "are stale"); found == 0 {
		t.Error("no groups have become stale")
	}
}
