package tree

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/ftree"
	"ibsm/routing/minhop"
	"ibsm/routing/quality"
	"ibsm/routing/routingtest"
	"ibsm/routing/sssp"
	"ibsm/routing/updn"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

func measure(t testing.TB, in routing.In, engine routing.Engine) quality.Figures {
	t.Helper()
	tables, err := engine(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	f, err := quality.Measure(t.Context(), in, tables.LFT, asCabled(in), 200)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// asCabled are the hosts in the order of the leaves, as the generator has named them.
func asCabled(in routing.In) []topo.PortIdx {
	hosts := quality.Hosts(in.Topo, in.LIDs)
	slices.SortFunc(hosts, func(a, b topo.PortIdx) int {
		return cmp.Compare(in.Topo.Nodes[in.Topo.Ports[a].Node].Desc.String(),
			in.Topo.Nodes[in.Topo.Ports[b].Node].Desc.String())
	})
	return hosts
}

// TestComplete: in whole trees no link has more flows of a shift than hosts share an uplink, and the fullest link has
// as many routes as the uplinks of a leaf must have.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		spec    string
		fullest uint32 // hosts of a leaf * other hosts / uplinks
		shift   uint32
		full    bool
	}{
		{"fattree:k=8,levels=2", 28, 1, false}, {"fattree:k=8", 124, 1, false}, {"fattree:k=8,levels=4", 508, 1, false},
		// 72 hosts are no multiple of 16 roots: shifts meet where the numbers begin again
		{"fattree:k=12,levels=2,taper=2", 2 * (96 - 8), 2, false},
		{"fattree:k=16,pods=5", 8 * (5*64 - 8) / 8, 1, false}, {"fattree:k=8,hosts=3,pods=6", 6*4*3 - 3, 2, false},
		{"fattree:k=36,levels=2", 630, 1, true}, {"fattree:k=24", 3444, 1, true},
		{"fattree:k=54,levels=2", 54*27 - 27, 1, true},
	} {
		if c.full && os.Getenv("IBSM_PROOF") == "" {
			continue
		}
		t.Run(c.spec, func(t *testing.T) {
			in := routingtest.Problem(t, c.spec)
			if f := measure(t, in, Route); f.Worst > c.shift || f.Fullest > c.fullest {
				t.Errorf("%+v, want at most %d routes and shifts of %d", f, c.fullest, c.shift)
			}
		})
	}
}

// TestRefused: what is no tree is refused, with the reason.
func TestRefused(t *testing.T) {
	_, err := Route(t.Context(), routingtest.Problem(t, "torus:dims=4x4"))
	if err == nil || err.Error() != "not a fat tree: of 32 cables between switches, 32 connect two switches of one level" {
		t.Error(err)
	}
}

// TestNeverUpAgain: no packet between hosts goes to a higher switch after it has come to a lower one, by the ranks that
// the tables have.
func TestNeverUpAgain(t *testing.T) {
	for _, spec := range []string{"fattree:k=8,missing-links=8%,seed=3", "fattree:k=8,missing-switches=3,seed=2",
		"tree:depth=4"} {
		s := routingtest.NewSubnet(t, spec, Route)
		tracer := routing.NewTracer(s.Topo, s.LIDs)
		hosts := map[topo.SwitchIdx]bool{}
		for _, p := range quality.Hosts(s.Topo, s.LIDs) {
			hosts[s.Topo.SwitchOf(p)] = true
		}
		for lid := mad.LID(1); lid <= s.LIDs.Top; lid++ {
			for from := range s.Topo.Switches {
				if !hosts[topo.SwitchIdx(from)] ||
					s.Topo.Nodes[s.Topo.Ports[s.LIDs.Owner[lid]].Node].Type == mad.Switch {
					continue
				}
				down := false
				for at := topo.SwitchIdx(from); s.Tables.LFT[at][lid] != routing.NoPath; {
					next := tracer.Next(at, s.Tables.LFT[at][lid])
					if next == topo.None {
						break
					}
					up := s.Tables.Ranks[next] < s.Tables.Ranks[at]
					if up && down {
						t.Fatalf("%s: up again at switch %d to LID %d", spec, at, lid)
					}
					down, at = down || !up, next
				}
			}
		}
	}
}

// TestDamaged compares the engine with OpenSM's engines on damaged trees, those that take roots with their roots: in
// the median over seeds none has an emptier fullest link, and none has shifts or bisections that are better by one in a
// hundred. Bisections are drawn at random.
func TestDamaged(t *testing.T) {
	seeds, trees := 5, []string{"fattree:k=8", "fattree:k=16,levels=2"}
	if os.Getenv("IBSM_PROOF") != "" {
		seeds, trees = 20, []string{"fattree:k=8", "fattree:k=16", "fattree:k=16,levels=2", "fattree:k=36,levels=2"}
	}
	for _, tree := range trees {
		for _, percent := range []int{1, 3, 5, 10} {
			t.Run(fmt.Sprintf("%s/%d%%", tree, percent), func(t *testing.T) {
				found := map[string][]quality.Figures{}
				for seed := range seeds {
					in := routingtest.Problem(t, fmt.Sprintf("%s,missing-links=%d%%,seed=%d", tree, percent, seed+1))
					if _, err := Route(t.Context(), in); err != nil {
						t.Logf("seed %d: %v", seed+1, err)
						continue
					}
					for name, engine := range rivals(in) {
						found[name] = append(found[name], measure(t, in, engine))
					}
				}
				if len(found["tree"]) < seeds*3/4 {
					t.Errorf("%d of %d routed", len(found["tree"]), seeds)
				}
				ours := median(found["tree"])
				for _, name := range slices.Sorted(maps.Keys(found)) {
					f := median(found[name])
					t.Logf("%-8s %+v", name, f)
					if name != "tree" && (f.Fullest < ours.Fullest || f.Shift < ours.Shift*0.99 ||
						f.Bisection > ours.Bisection*1.01) {
						t.Errorf("%s is better", name)
					}
				}
			})
		}
	}
}

// rivals are the engines to compare, and this one.
func rivals(in routing.In) map[string]routing.Engine {
	n := newNetwork(context.Background(), in, &Settings{})
	up, fat := updn.Settings{}, ftree.Settings{}
	for _, s := range n.tiers[len(n.tiers)-1].switches {
		up.Roots = append(up.Roots, in.Topo.Nodes[in.Topo.Switches[s]].GUID)
	}
	fat.Roots = up.Roots
	return map[string]routing.Engine{
		"tree": Route, "minhop": minhop.Route, "scatter": minhop.New(routing.Balancing{Seed: 1}),
		"updn":  updn.New(up, routing.Balancing{}),
		"ftree": ftree.New(fat), "sssp": sssp.New(sssp.Settings{}),
	}
}

// median is that of each figure that is compared.
func median(of []quality.Figures) (m quality.Figures) {
	m.Fullest = quality.Median(of, func(f quality.Figures) uint32 { return f.Fullest })
	m.Shift = quality.Median(of, func(f quality.Figures) float64 { return f.Shift })
	m.Bisection = quality.Median(of, func(f quality.Figures) float64 { return f.Bisection })
	return m
}

// TestShuffled: in a whole tree whose switches have GUIDs in no order, no link has two flows of a shift, in the order
// that the engine gives the hosts.
func TestShuffled(t *testing.T) {
	for seed := range uint64(5) {
		for _, spec := range []string{"fattree:k=8", "fattree:k=8,levels=4", "fattree:k=12,levels=2"} {
			fabric, err := net.Generate(spec)
			if err != nil {
				t.Fatal(err)
			}
			for i, guid := range rand.New(rand.NewPCG(seed, 1)).Perm(len(fabric.Nodes)) {
				n := &fabric.Nodes[i]
				n.GUID = mad.GUID(guid+1) << 16
				for p := range n.Ports {
					n.Ports[p].GUID = n.GUID + mad.GUID(p)
				}
			}
			found, err := netwalk.Topo(fabric, net.NoEnd)
			if err != nil {
				t.Fatal(err)
			}
			in := routing.In{Topo: found, LIDs: topo.SequentialLIDs(found, 0)}
			tables, err := Route(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			var hosts []topo.PortIdx
			for _, at := range newNetwork(t.Context(), in, &Settings{}).destinations() {
				for _, d := range at.ports {
					if d.host {
						hosts = append(hosts, in.LIDs.PortOf(d.lid))
					}
				}
			}
			flows := quality.NewFlows(in.Topo, in.LIDs, tables.LFT)
			for by := 1; by < len(hosts); by++ {
				if n := flows.Shift(by, hosts); n > 1 {
					t.Fatalf("%s, seed %d: %d flows of shift %d meet", spec, seed, n, by)
				}
			}
		}
	}
}

// TestOthersTogether: switches that have no port of the digit get the same ports whether destinations that add nothing
// to the load are placed one after the other or by several goroutines.
func TestOthersTogether(t *testing.T) {
	together := 0
	for seed := range 4 {
		in := routingtest.Problem(t, fmt.Sprintf("fattree:k=12,missing-links=4%%,seed=%d", seed))
		in.Workers = 4
		place := func(others func(p *placer, all []destinations) error) *placer {
			n := newNetwork(t.Context(), in, &Settings{})
			rows, err := routing.EmptyRows(t.Context(), len(in.Topo.Switches), in.LIDs.Top)
			if err != nil {
				t.Fatal(err)
			}
			all, p := n.destinations(), newPlacer(n, rows, make([]uint32, len(rows)<<8))
			if err := p.placeDigits(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			if err := others(p, all); err != nil {
				t.Fatal(err)
			}
			return p
		}
		parallel := place(func(p *placer, all []destinations) error { return p.placeOthers(t.Context(), all) })
		serial := place(func(p *placer, all []destinations) error {
			p.near, p.moved = slices.Repeat([]int32{topo.None}, len(p.rows)), make([]uint8, len(p.load))
			idle := 0
			for i := range all {
				if idle++; !all[i].addNothing() {
					idle = 0
				} else if idle == fewIdle {
					together++
				}
				p.placeOthersAt(t.Context(), &all[i])
			}
			return nil
		})
		for s := range serial.rows {
			if !slices.Equal(serial.rows[s], parallel.rows[s]) {
				t.Errorf("seed %d: switch %d has other entries", seed, s)
			}
		}
		if !slices.Equal(serial.load, parallel.load) {
			t.Errorf("seed %d: other loads", seed)
		}
	}
	if together == 0 {
		t.Error("nothing was placed together")
	}
}
