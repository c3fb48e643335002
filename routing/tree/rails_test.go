package tree

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/quality"
	"ibsm/routing/rails"
	"ibsm/routing/routingtest"
	"ibsm/routing/shape"
	"ibsm/routing/sssp"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// problem is a fabric to route.
func problem(t *testing.T, n *net.Net, lmc uint8) routing.In {
	t.Helper()
	found, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return routing.In{Topo: found, LIDs: topo.SequentialLIDs(found, lmc)}
}

// figures are those of an engine, and those of shifts within rails.
type figures struct{ all, rails quality.Figures }

func measureRails(t *testing.T, in routing.In, engine routing.Engine, r *rails.Rails) (f figures) {
	t.Helper()
	tables, err := engine(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if f.all, err = quality.Measure(t.Context(), in, tables.LFT, quality.Hosts(in.Topo, in.LIDs), 200); err != nil {
		t.Fatal(err)
	}
	if f.rails, err = quality.WithinRails(t.Context(), in, tables.LFT, r); err != nil {
		t.Fatal(err)
	}
	return f
}

// leastShift is the mean of shifts within rails that no routes can be below: where more flows leave a leaf than it has
// cables, two meet. It counts the flows one by one.
func leastShift(in routing.In, r *rails.Rails) float64 {
	t := in.Topo
	cables := map[topo.SwitchIdx]int{}
	for s, n := range t.Switches {
		for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
			if t.BetweenSwitches(t.Port(n, uint8(num))) {
				cables[topo.SwitchIdx(s)]++
			}
		}
	}
	sum, shifts := 0, 0
	for by := 1; by < len(r.Rails[0].Ports); by++ {
		leave, most := map[topo.SwitchIdx]int{}, 0
		for _, rail := range r.Rails {
			for i, p := range rail.Ports {
				if from, to := t.SwitchOf(p), t.SwitchOf(rail.Ports[(i+by)%len(rail.Ports)]); from != to {
					leave[from]++
				}
			}
		}
		for s, n := range leave {
			most = max(most, (n+cables[s]-1)/cables[s])
		}
		sum, shifts = sum+most, shifts+1
	}
	return float64(sum) / float64(shifts)
}

// TestCompleteRails: in whole fabrics with rails no two flows of a shift meet, within rails or of all hosts, whatever
// GUIDs the nodes have, and with several LIDs as with one.
func TestCompleteRails(t *testing.T) {
	units := []int{1, 2, 3}
	if os.Getenv("IBSM_PROOF") != "" {
		units = []int{1, 2, 3, 4, 5, 6, 7, 8}
	}
	for _, u := range units {
		for lmc := range uint8(2) {
			n := routingtest.RailFabric(u)
			in := problem(t, n, lmc)
			r := rails.Find(in.Topo)
			f := measureRails(t, in, Route, r)
			if len(r.Rails) != 8 || f.rails.Worst > 1 || f.all.Worst > 1 || f.all.Fullest != uint32(256*u-32)<<lmc {
				t.Errorf("%d units, LMC %d: %d rails, %+v", u, lmc, len(r.Rails), f)
			}
			for i, guid := range rand.New(rand.NewPCG(uint64(u), 4)).Perm(len(n.Nodes)) {
				node := &n.Nodes[i]
				node.GUID = mad.GUID(guid+1) << 16
				for p := range node.Ports {
					node.Ports[p].GUID = node.GUID + mad.GUID(p)
				}
			}
			in = problem(t, n, lmc)
			if f := measureRails(t, in, Route, rails.Find(in.Topo)); f.rails.Worst > 1 {
				t.Errorf("%d units, LMC %d, shuffled: %+v", u, lmc, f.rails)
			}
		}
	}
}

// pods makes each pod of a three-level tree a unit: host i has its adapters at port i of the leaves of the pod.
func pods(t *testing.T, k int) *net.Net {
	t.Helper()
	n, err := net.Generate(fmt.Sprintf("fattree:k=%d", k))
	if err != nil {
		t.Fatal(err)
	}
	host := 0
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			half := k / 2
			n.Nodes[i].Desc = fmt.Sprintf("host-%d-%d mlx5_%d", host/half/half, host%half, host/half%half)
			host++
		}
	}
	return n
}

// pairs makes one host with two adapters on each leaf of two hosts of a fabric with rails.
func pairs(t *testing.T, n *net.Net) *net.Net {
	t.Helper()
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			var unit, host, rail int
			if _, err := fmt.Sscanf(n.Nodes[i].Desc, "host-%d-%d mlx5_%d", &unit, &host, &rail); err != nil {
				t.Fatal(err)
			}
			n.Nodes[i].Desc = fmt.Sprintf("host-%d-%02d mlx5_%d", unit, (host+1)/2, 2*rail+(host+1)%2)
		}
	}
	return n
}

// TestOtherRails: no two flows of a shift within all rails meet in whole trees of three levels either, and where hosts
// have two adapters on each leaf. With cables missing, in two levels they meet less than with sssp.
func TestOtherRails(t *testing.T) {
	for what, c := range map[string]struct {
		fabric func() *net.Net
		rails  int
	}{
		"three levels": {func() *net.Net { return pods(t, 8) }, 4}, "two on a leaf": {func() *net.Net {
			return pairs(t, routingtest.RailFabric(2))
		}, 16},
		"two on a leaf, odd": {func() *net.Net {
			return pairs(t, routingtest.RailSpec{Units: 3, Hosts: 16, Rails: 2, Spines: 8, Cables: 2}.Fabric())
		}, 4},
		"many units": {func() *net.Net {
			return routingtest.RailSpec{Units: 9, Hosts: 8, Rails: 3, Spines: 8, Cables: 1}.Fabric()
		}, 3},
	} {
		n := c.fabric()
		in := problem(t, n, 0)
		r := rails.Find(in.Topo)
		if f := measureRails(t, in, Route, r); len(r.Rails) != c.rails || f.rails.Worst > 1 || f.all.Worst > 1 {
			t.Errorf("%s: %s %+v", what, r.Seen, f)
		}
		for seed := range uint64(3) {
			n := c.fabric()
			routingtest.LoseCables(n, 4, seed)
			in := problem(t, n, 0)
			ours, theirs := measureRails(t, in, Route, r), measureRails(t, in, sssp.New(sssp.Settings{}), r)
			t.Logf("%s: fullest %d, %d; shift %.2f, %.2f; rails %.2f, %.2f; bisection %.3f, %.3f", what,
				ours.all.Fullest, theirs.all.Fullest,
				ours.all.Shift, theirs.all.Shift, ours.rails.Shift, theirs.rails.Shift, ours.all.Bisection,
				theirs.all.Bisection)
			if what != "three levels" && ours.rails.Shift > theirs.rails.Shift ||
				ours.all.Bisection < 0.98*theirs.all.Bisection {
				t.Errorf("%s, seed %d: %+v, sssp %+v", what, seed, ours, theirs)
			}
		}
	}
}

// TestDamagedRails: in four units with 3 % of the cables missing, shifts within rails are near what no routes can be
// below, and the fullest link stays empty. In the median over seeds no engine of OpenSM is better.
func TestDamagedRails(t *testing.T) {
	seeds := 3
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 20
	}
	found := map[string][]figures{}
	for seed := range uint64(seeds) {
		n := routingtest.RailFabric(4)
		routingtest.LoseCables(n, 3, seed+1)
		in := problem(t, n, 0)
		r := rails.Find(in.Topo)
		for name, engine := range rivals(in) {
			f := measureRails(t, in, engine, r)
			found[name] = append(found[name], f)
			if least := leastShift(in, r); name == "tree" && (f.rails.Shift > least+0.12 || f.rails.Shift > 1.75 ||
				f.all.Fullest > 1300) {
				t.Errorf("seed %d: %+v, at least %.3f", seed+1, f, least)
			}
		}
	}
	mustBeBest(t, found)
}

// mustBeBest compares the medians of engines. Bisections are drawn at random.
func mustBeBest(t *testing.T, found map[string][]figures) {
	t.Helper()
	of := func(name string) figures {
		var all []quality.Figures
		for _, f := range found[name] {
			all = append(all, f.all)
		}
		return figures{median(all), quality.Figures{Shift: quality.Median(found[name], func(f figures) float64 {
			return f.rails.Shift
		})}}
	}
	ours := of("tree")
	for _, name := range slices.Sorted(maps.Keys(found)) {
		f := of(name)
		t.Logf("%-8s fullest %d, bisection %.4f, shift %.3f, within rails %.3f", name, f.all.Fullest, f.all.Bisection,
			f.all.Shift, f.rails.Shift)
		if name != "tree" && (f.all.Fullest < ours.all.Fullest || f.rails.Shift < ours.rails.Shift ||
			f.all.Shift < ours.all.Shift*0.99 || f.all.Bisection > ours.all.Bisection*1.02) {
			t.Errorf("%s is better", name)
		}
	}
}

// TestOneUnit: in fabrics of one unit, in which nothing of a rail leaves its leaf, with adapters and cables missing: in
// the median over seeds no engine of OpenSM has an emptier fullest link, or shifts or bisections that are better by
// three in a hundred. The ports of a host are reached over different switches.
func TestOneUnit(t *testing.T) {
	seeds, adapters, cables := uint64(3), []int{0, 4}, []int{0, 3}
	specs := []routingtest.RailSpec{{Units: 1, Hosts: 16, Rails: 8, Spines: 16, Cables: 1},
		{Units: 1, Hosts: 18, Rails: 4, Spines: 9, Cables: 2}}
	if os.Getenv("IBSM_PROOF") != "" {
		seeds, adapters, cables = 20, []int{0, 1, 2, 4}, []int{0, 1, 2, 3, 5}
		specs = append(specs, routingtest.RailSpec{Units: 1, Hosts: 32, Rails: 8, Spines: 16, Cables: 2},
			routingtest.RailSpec{Units: 1, Hosts: 31, Rails: 8, Spines: 8, Cables: 4})
	}
	for _, spec := range specs {
		for _, gone := range adapters {
			for _, percent := range cables {
				found := map[string][]quality.Figures{}
				for seed := range seeds {
					n := spec.Fabric()
					routingtest.LoseCables(n, percent, seed+1)
					unplug(n, gone, seed)
					in := problem(t, n, 0)
					for _, name := range []string{"tree", "minhop", "ftree", "sssp"} {
						tables, err := rivals(in)[name](t.Context(), in)
						if err != nil {
							t.Fatal(err)
						}
						f, err := quality.Measure(t.Context(), in, tables.LFT, quality.Hosts(in.Topo, in.LIDs), 200)
						if err != nil || name == "tree" && f.Cut > 0 {
							t.Fatalf("%v, %+v", err, f)
						}
						found[name] = append(found[name], f)
					}
				}
				ours := median(found["tree"])
				for name := range found {
					f := median(found[name])
					t.Logf("%+v, %d adapters and %d %% of the cables missing: %-6s fullest %d, shift %.2f, bisection %.3f", spec, gone, percent, name, f.Fullest, f.Shift, f.Bisection)
					if f.Fullest < ours.Fullest || f.Shift < ours.Shift*0.97 || f.Bisection > ours.Bisection*1.03 {
						t.Errorf("%s is better", name)
					}
				}
			}
		}
	}
}

// unplug takes away the cables of some adapters.
func unplug(n *net.Net, adapters int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for _, i := range rng.Perm(len(n.Nodes)) {
		port := &n.Nodes[i].Ports[1]
		if n.Nodes[i].Type != mad.CA || adapters == 0 {
			continue
		}
		n.Nodes[port.Peer.Node].Ports[port.Peer.Port].Peer, port.Peer = net.NoEnd, net.NoEnd
		adapters--
	}
}

// TestDriftRails: cables are lost one after the other. What lost its way goes where shifts within rails meet little, so
// that the tables stay nearer to those that are computed afresh than to those of engines that do not know rails.
func TestDriftRails(t *testing.T) {
	f := &steady{Living: routingtest.NewLiving(t, routingtest.RailFabric(4), 0)}
	var err error
	if f.base, err = Route(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs}); err != nil {
		t.Fatal(err)
	}
	f.whole, f.tables = f.Topo, f.base
	rng := rand.New(rand.NewPCG(7, 1))
	for range 31 {
		was, cables := f.Topo, f.Cables(false)
		f.Cut(cables[rng.IntN(len(cables))])
		f.Walk(t)
		if f.tables, err = Route(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs, Base: f.Found(f.whole, f.base),
			Prev: f.Found(was, f.tables)}); err != nil {
			t.Fatal(err)
		}
	}
	in, r := routing.In{Topo: f.Topo, LIDs: f.LIDs}, rails.Find(f.Topo)
	kept := measureRails(t, in, func(context.Context, routing.In) (*routing.Tables, error) { return f.tables, nil }, r)
	fresh, theirs := measureRails(t, in, Route, r), measureRails(t, in, sssp.New(sssp.Settings{}), r)
	t.Logf("kept %.3f, afresh %.3f, sssp %.3f", kept.rails.Shift, fresh.rails.Shift, theirs.rails.Shift)
	if kept.rails.Shift-fresh.rails.Shift > 0.7 || kept.rails.Shift > theirs.rails.Shift-0.3 ||
		kept.all.Fullest > 2*fresh.all.Fullest {
		t.Errorf("kept %+v, afresh %+v, sssp %+v", kept, fresh, theirs)
	}
}

// TestCluster582: a cluster in use, with leaves of 11 to 18 hosts. In the order of leaves and ports, and in that of the
// names of hosts, which those without one begin, shifts within rails meet less than with any engine of OpenSM.
func TestCluster582(t *testing.T) {
	for lmc := range uint8(2) {
		in := problem(t, routingtest.Cluster582(t), lmc)
		r := rails.Find(in.Topo)
		if kind := shape.Find(in.Topo); kind.Kind != shape.KindFatTree || len(kind.Tree.Levels) != 2 ||
			len(r.Rails) != 4 {
			t.Fatalf("%s; %s", kind.Seen, r.Seen)
		}
		byName := &rails.Rails{}
		for _, rail := range r.Rails {
			ports := slices.Clone(rail.Ports)
			slices.SortStableFunc(ports, func(a, b topo.PortIdx) int {
				return cmp.Compare(in.Topo.Nodes[in.Topo.Ports[a].Node].Desc.String(),
					in.Topo.Nodes[in.Topo.Ports[b].Node].Desc.String())
			})
			byName.Rails = append(byName.Rails, rails.Rail{Ports: ports})
		}
		ours, theirs, named := measureRails(t, in, Route, r), measureRails(t, in, sssp.New(sssp.Settings{}), r),
			measureRails(t, in, Route, byName)
		t.Logf("%+v, by name %.3f; sssp %+v", ours, named.rails.Shift, theirs)
		if ours.all.Fullest > min(925<<lmc, theirs.all.Fullest) || ours.all.Unused > 0 ||
			ours.all.Bisection < theirs.all.Bisection || ours.all.Shift > theirs.all.Shift || ours.rails.Shift > 2.1 ||
			lmc == 0 && named.rails.Shift > 3.5 {
			t.Errorf("LMC %d: %+v, by name %+v; sssp %+v", lmc, ours, named.rails, theirs)
		}
	}
}

// TestOddRails: rails that are cabled or named at random, broken units and hosts of other kinds have proved routes,
// too.
func TestOddRails(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 6))
		n := routingtest.RailSpec{Units: 3, Hosts: 4, Rails: 1 + int(seed%4), Spines: 4, Cables: 1}.Fabric()
		var adapters []int32
		for i := range n.Nodes {
			if n.Nodes[i].Type == mad.CA {
				adapters = append(adapters, int32(i))
			}
		}
		for range rng.IntN(len(adapters)) { // cables change places
			a, b := &n.Nodes[adapters[rng.IntN(len(adapters))]].Ports[1],
				&n.Nodes[adapters[rng.IntN(len(adapters))]].Ports[1]
			endA, endB := &n.Nodes[a.Peer.Node].Ports[a.Peer.Port], &n.Nodes[b.Peer.Node].Ports[b.Peer.Port]
			a.Peer, b.Peer, endA.Peer, endB.Peer = b.Peer, a.Peer, endB.Peer, endA.Peer
		}
		for range rng.IntN(12) { // and names
			a, b := &n.Nodes[adapters[rng.IntN(len(adapters))]], &n.Nodes[adapters[rng.IntN(len(adapters))]]
			a.Desc, b.Desc = b.Desc, fmt.Sprintf("%s%d", a.Desc, rng.IntN(3))
		}
		routingtest.LoseCables(n, rng.IntN(15), seed)
		in := problem(t, n, uint8(seed%3))
		tables, err := Route(t.Context(), in)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "not a fat tree: ") {
				t.Error(err)
			}
			continue
		}
		report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
		if err != nil || report.Bad() > 0 {
			t.Fatal(err, report.Count)
		}
		credit, err := creditloop.Find(t.Context(),
			creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding()})
		if err != nil || credit.Loop != nil {
			t.Fatal(err, creditloop.Text(in.Topo, credit.Loop, creditloop.Description))
		}
	}
}

// TestLoadsWithRails: the loads by which the engine chooses are those of its tables, before and after it has moved
// routes.
func TestLoadsWithRails(t *testing.T) {
	for seed := range uint64(6) {
		n := routingtest.RailSpec{Units: 3, Hosts: 8, Rails: 4, Spines: 4, Cables: 2}.Fabric()
		if seed == 5 {
			n = routingtest.Cluster582(t)
		}
		routingtest.LoseCables(n, 2+3*int(seed), seed)
		in := problem(t, n, uint8(seed%2))
		rows, err := routing.EmptyRows(t.Context(), len(in.Topo.Switches), in.LIDs.Top)
		if err != nil {
			t.Fatal(err)
		}
		network := newNetwork(t.Context(), in, &Settings{})
		all, p := network.destinations(), newPlacer(network, rows, make([]uint32, len(rows)<<8))
		for i, step := range []func(context.Context, []destinations) error{p.placeDigits, p.placeOthers, p.relieve} {
			if err := step(t.Context(), all); err != nil {
				if strings.HasPrefix(err.Error(), "not a fat tree: ") {
					break
				}
				t.Fatal(err)
			}
			if i == 0 { // where there is no port of the digit, there is none yet
				continue
			}
			loads, err := quality.Loads(t.Context(), in, rows)
			if err != nil {
				t.Fatal(err)
			}
			for at, n := range loads {
				port := &in.Topo.Ports[at]
				if at := topo.PortIdx(at); in.Topo.BetweenSwitches(at) &&
					n != p.load[int(in.Topo.Nodes[port.Node].Switch)<<8|int(port.Num)] {
					t.Fatalf("seed %d, step %d: switch %d port %d: %d routes, counted as %d", seed, i,
						in.Topo.Nodes[port.Node].Switch, port.Num, n,
						p.load[int(in.Topo.Nodes[port.Node].Switch)<<8|int(port.Num)])
				}
			}
		}
	}
}
