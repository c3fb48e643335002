package routes

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// groups are those that a manager assumes which finds the tables in force.
func (f *living) groups() *groups {
	in := f.in()
	for i := range in.Switches {
		in.Switches[i].LFT = device.Read(in.Switches[i].Row, nil)
	}
	return newGroups(&in)
}

// TestShortest: paths of min-hop are shortest ones, to switches and to hosts.
func TestShortest(t *testing.T) {
	b := newLiving(t, "fattree:k=4", "minhop")
	out := b.sweep(t)
	g := b.groups()
	hops, err := routing.NewHops(t.Context(), 0, g.graph)
	if err != nil {
		t.Fatal(err)
	}
	here := make([]topo.SwitchIdx, len(g.seen.Switches))
	for i := range here {
		here[i] = topo.SwitchIdx(i)
	}
	f, trace := out.Report.Forwarding(), routing.NewTrace(len(b.Topo.Switches))
	for l, owner := range b.LIDs.Owner {
		if owner == topo.None {
			continue
		}
		f.Tracer.Block(f.Rows, l/routing.BlockSize, routing.WholeBlock, trace)
		if !shortest(hops, trace.Fates(mad.LID(l)), here, g.seen.Home(mad.LID(l))) {
			t.Errorf("LID %d of a %v: its paths are no shortest ones", l,
				b.Topo.Nodes[b.Topo.Ports[owner].Node].Type)
		}
		// From a leaf there is a longer way to the leaf itself and its hosts.
		fates := slices.Clone(trace.Fates(mad.LID(l)))
		for s := range fates {
			if topo.SwitchIdx(s) != g.seen.Home(mad.LID(l)) {
				fates[s] += 2
				break
			}
		}
		if shortest(hops, fates, here, g.seen.Home(mad.LID(l))) {
			t.Errorf("LID %d: a path that is two links longer is a shortest one", l)
		}
	}
}

// TestLooksAgain: a look at groups that goes by the last one finds what one without it does.
func TestLooksAgain(t *testing.T) {
	found := 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 3))
		f := newLiving(t, []string{"fattree:k=4", "torus:dims=4x4", "torus:dims=3x5"}[seed%3], "minhop")
		links := f.Cables(false)
		flip := func(links ...routingtest.Cable) {
			for _, c := range links {
				if i := slices.Index(f.Lost, c); i >= 0 {
					f.Restore(i)
				} else {
					f.Cut(c)
				}
			}
			f.walk(t)
		}
		rng.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		flip(links[:4]...)
		f.sweep(t)
		flip(links[:4]...) // groups use these links, tables of the manager before do not
		f.state, f.prev = State{whose: foundRoutes}, nil
		g := f.groups()
		f.sweep(t)
		var last *looked
		stale := map[mad.GUID]bool{}
		for step := range 12 {
			byTable := step == 1 // of a subnet that stays for a moment as it is
			f.order = KeepsRoutes
			switch {
			case step < 2:
			case rng.IntN(4) == 0:
				flip(links[rng.IntN(len(links))])
			case rng.IntN(3) == 0:
				f.order = ReroutesByAll
			default:
				byTable = rng.IntN(2) == 0
			}
			out := f.sweep(t)
			var kept []topo.SwitchIdx
			for i, n := range f.Topo.Switches {
				if guid := f.Topo.Nodes[n].GUID; !stale[guid] && slices.Contains(g.seen.Switches, guid) {
					kept = append(kept, topo.SwitchIdx(i))
				}
			}
			now := &looked{out.Report.Forwarding(), byTable}
			in := f.in()
			in.Workers = 1
			all := g.stale(context.Background(), &in, kept, nil, now)
			in.Workers = 2
			some := g.stale(context.Background(), &in, kept, last, now)
			if !slices.Equal(all, some) {
				t.Fatalf("seed %d, step %d: %v are stale, by the last look %v", seed, step, all, some)
			}
			found += len(all)
			for _, s := range all {
				stale[f.Topo.Nodes[f.Topo.Switches[s]].GUID] = true
			}
			last = now
		}
	}
	if t.Log(found, "are stale"); found == 0 {
		t.Error("no groups have become stale")
	}
}

// TestManyGroups: the subnets that are remembered for groups have a limit. Switches that are gone or have lost adaptive
// routing, and those of which nothing is assumed, do not count.
func TestManyGroups(t *testing.T) {
	f := newLiving(t, "torus:dims=7x5", "minhop")
	f.sweep(t)
	tp, known := f.Topo, map[mad.GUID]adaptiveSwitch{1: {groups: f.groups()}}
	s := &State{adaptive: known}
	for i, n := range tp.Switches {
		tp.Nodes[n].AR = topo.AROn
		known[tp.Nodes[n].GUID] = adaptiveSwitch{groups: &groups{}}
		if i > 0 && i <= maxGroups {
			if s.manyGroups(tp) {
				t.Fatalf("%d are too many", i-1)
			}
			known[tp.Nodes[n].GUID] = adaptiveSwitch{groups: f.groups()}
		}
	}
	if !s.manyGroups(tp) {
		t.Errorf("%d are not too many", maxGroups)
	}
	if tp.Nodes[tp.Switches[1]].AR = topo.AROff; s.manyGroups(tp) {
		t.Error("a switch without adaptive routing counts")
	}
}
