package sweep

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
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
		if !shortest(hops, trace.Fates(mad.LID(l)), here, g.seen.Home(mad.LID(l))) {
			t.Errorf("LID %d of a %v: its paths are no shortest ones", l,
				out.Topo.Nodes[out.Topo.Ports[owner].Node].Type)
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
		b := newHarness(t, []string{"fattree:k=4", "torus:dims=4x4", "torus:dims=3x5"}[seed%3],
			Config{Engines: engines.Chain{engines.MinHop}})
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

// adaptiveSwitches are Caps: switches have adaptive routing, which is off.
func adaptiveSwitches(_ int32, n *net.Node, c *fabric.Caps) {
	if n.Type == mad.Switch {
		c.NVIDIA, c.AR = true, fabric.AROff
	}
}

// adaptive is how many of some switches forward by their groups.
func (b *harness) adaptive(switches ...int32) (count int) {
	for _, s := range switches {
		if b.fabric.AdaptiveRoutes(s) {
			count++
		}
	}
	return count
}

// TestGroupsOfUnheard: groups to a port that did not answer when they were first seen, or had just booted and had no
// LID, stay when it has its LID again, which the tables have led to all along; also where another switch forwards by
// its table meanwhile.
func TestGroupsOfUnheard(t *testing.T) {
	for _, c := range []struct {
		name                   string
		of                     mad.NodeType
		boots, restored, loses bool
	}{
		{name: "a host does not answer", of: mad.CA},
		{name: "a host does not answer, and a switch loses adaptive routing", of: mad.CA, loses: true},
		{name: "a host has just booted", of: mad.CA, boots: true},
		{name: "a host has just booted, and the manager has restarted", of: mad.CA, boots: true, restored: true},
		{name: "a switch has just booted", of: mad.Switch, boots: true},
		{name: "a switch has just booted, and the manager has restarted", of: mad.Switch, boots: true, restored: true},
	} {
		n := nettest.Generate(t, "fattree:k=4")
		b := newHarnessWith(t, n, Config{}, adaptiveSwitches)
		b.heavy()
		b.heavy()
		var switches []int32
		for i := range n.Nodes {
			if n.Nodes[i].Type == mad.Switch {
				b.fabric.AdaptiveOn(int32(i), false)
				switches = append(switches, int32(i))
			}
		}
		victim, unresponsive := b.node(c.of, 6), true
		b.meddle = func(req *txn.Request, o *txn.Outcome) {
			if !c.boots && unresponsive && req.Attr == smp.AttrNodeInfo && o.Result == txn.Replied &&
				(*smp.NodeInfo)(&o.Data).NodeGUID() == n.Nodes[victim].GUID {
				o.Result = txn.TimedOut
			}
		}
		if c.restored {
			b.cfg.Restored.LIDs = b.state.lids
			b.Sweeper = New(b.cfg)
		} else {
			b.Abdicate()
		}
		if c.boots {
			b.fabric.Reboot(victim)
			b.fabric.Advance(b.fabric.Now() + 5*time.Second)
		}
		b.heavy()
		want := len(switches)
		if c.of == mad.Switch {
			want--
		}
		if c.loses {
			core := switches[slices.IndexFunc(switches, func(s int32) bool {
				return !slices.ContainsFunc(n.Nodes[s].Ports, func(p net.Port) bool {
					return p.Peer != net.NoEnd && n.Nodes[p.Peer.Node].Type == mad.CA
				})
			})]
			b.fabric.Reboot(core)
			b.fabric.Advance(b.fabric.Now() + 5*time.Second)
			b.heavy()
			if want = b.adaptive(switches...); want == 0 || want == len(switches) {
				t.Fatalf("%s: %d switches have adaptive routing on", c.name, want)
			}
		}
		unresponsive = false
		for range 2 {
			b.heavy()
		}
		if got := b.adaptive(switches...); got != want {
			t.Errorf("%s: adaptive routing is on at %d switches, not at %d", c.name, got, want)
		}
	}
}

// TestManyGroups: the subnets that are remembered for groups have a limit. Switches that are gone or have lost adaptive
// routing, and those of which nothing is assumed, do not count.
func TestManyGroups(t *testing.T) {
	b := newHarness(t, "torus:dims=7x5", Config{Engines: engines.Chain{engines.MinHop}})
	out := b.heavy().SweepPlan
	tp, known := out.Topo, map[mad.GUID]adaptiveSwitch{1: {groups: newGroups(out)}}
	j := &RouteTask{state: &state{adaptive: known}}
	for i, n := range tp.Switches {
		tp.Nodes[n].AR = topo.AROn
		known[tp.Nodes[n].GUID] = adaptiveSwitch{groups: &groups{}}
		if i > 0 && i <= maxGroups {
			if j.manyGroups(tp) {
				t.Fatalf("%d are too many", i-1)
			}
			known[tp.Nodes[n].GUID] = adaptiveSwitch{groups: newGroups(out)}
		}
	}
	if !j.manyGroups(tp) {
		t.Errorf("%d are not too many", maxGroups)
	}
	if tp.Nodes[tp.Switches[1]].AR = topo.AROff; j.manyGroups(tp) {
		t.Error("a switch without adaptive routing counts")
	}
}
