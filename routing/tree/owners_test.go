package tree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/quality"
	"ibsm/routing/rails"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/topo/net"
)

// scattered gives each host two adapters of a tree, drawn at random.
func scattered(n *net.Net, seed uint64) *net.Net {
	var adapters []int
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			adapters = append(adapters, i)
		}
	}
	for i, at := range rand.New(rand.NewPCG(seed, 3)).Perm(len(adapters)) {
		n.Nodes[adapters[at]].Desc = fmt.Sprintf("node-%d mlx5_%d", i/2, i%2)
	}
	return n
}

// avoidable counts pairs of a leaf and a host with several LIDs all routes to which leave the leaf for one switch,
// although a shortest way to one of the LIDs begins with another.
func avoidable(t *testing.T, in routing.In, rows [][]uint8) (count int) {
	n := newNetwork(t.Context(), in, &Settings{})
	p := newPlacer(n, rows, make([]uint32, len(rows)<<8))
	n.tracer = routing.NewTracer(in.Topo, in.LIDs)
	for _, lids := range rails.HostLIDs(in.Topo, in.LIDs) {
		for s := range rows {
			if p.hosts[s] == 0 {
				continue
			}
			next, ways := map[topo.SwitchIdx]bool{}, map[topo.SwitchIdx]bool{}
			for _, lid := range lids {
				next[n.tracer.Next(topo.SwitchIdx(s), rows[s][lid])] = true
				p.measureWays(in.Topo.SwitchOf(in.LIDs.PortOf(lid)))
				for i := range p.up[s] {
					if p.isWay(topo.SwitchIdx(s), &p.up[s][i]) {
						ways[p.up[s][i].to] = true
					}
				}
			}
			if len(next) == 1 && !next[topo.None] && len(ways) > 1 {
				count++
			}
		}
	}
	return count
}

// TestSort: the ports of a host on one leaf stand side by side, where the first of them is; others in the order of the
// switch's ports.
func TestSort(t *testing.T) {
	n := routingtest.RailSpec{Units: 2, Hosts: 7, Rails: 1, Spines: 2, Cables: 1}.Fabric()
	for i := range n.Nodes {
		var unit, host int
		if _, err := fmt.Sscanf(n.Nodes[i].Desc, "host-%d-%d ", &unit, &host); err == nil && host <= 6 {
			n.Nodes[i].Desc = fmt.Sprintf("node-%d-%d mlx5_%d", unit, (host-1)%3, (host-1)/3)
		}
	}
	in := problem(t, n, 0)
	tree := newNetwork(t.Context(), in, &Settings{})
	byPort, _ := tree.portsBySwitch()
	checked := 0
	for _, ports := range byPort {
		if len(ports) == 1 { // a spine
			continue
		}
		slices.Reverse(ports)
		tree.sort(ports)
		var order []uint8
		for _, p := range ports {
			order = append(order, tree.egress(p))
		}
		if want := []uint8{0, 1, 4, 2, 5, 3, 6, 7}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		checked++
	}
	if checked != 2 {
		t.Errorf("%d leaves", checked)
	}
}

// TestSeveral: the loss of one switch above leaves cuts no leaf from all ports of a host, or from all LIDs of a port,
// where another way could do, also with cables missing, and in whole fabrics from none at all.
func TestSeveral(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 20
	}
	for what, c := range map[string]struct {
		fabric func(seed uint64) *net.Net
		lmc    uint8
	}{
		"rails": {func(uint64) *net.Net { return routingtest.RailFabric(2) }, 0},
		"two rails": {func(uint64) *net.Net {
			return routingtest.RailSpec{Units: 3, Hosts: 16, Rails: 2, Spines: 8, Cables: 2}.Fabric()
		}, 0},
		"on one leaf": {func(uint64) *net.Net {
			return pairs(t, routingtest.RailSpec{Units: 3, Hosts: 16, Rails: 1, Spines: 8, Cables: 2}.Fabric())
		}, 0},
		"three levels": {func(uint64) *net.Net { return pods(t, 8) }, 0},
		"at random":    {func(seed uint64) *net.Net { return scattered(generated(t, "fattree:k=8"), seed) }, 0},
		"two levels": {func(seed uint64) *net.Net {
			return scattered(generated(t, "fattree:k=12,levels=2"), seed)
		}, 0},
		"two cables": {func(seed uint64) *net.Net {
			return scattered(routingtest.RailSpec{Units: 3, Hosts: 8, Rails: 2, Spines: 2, Cables: 4}.Fabric(), seed)
		}, 0},
		"LMC 1":   {func(uint64) *net.Net { return routingtest.RailFabric(1) }, 1},
		"LMC 2":   {func(seed uint64) *net.Net { return scattered(generated(t, "fattree:k=8"), seed) }, 2},
		"cluster": {func(uint64) *net.Net { return routingtest.Cluster582(t) }, 0},
	} {
		for seed := range seeds {
			for _, percent := range []int{0, 3, 10} {
				n := c.fabric(seed)
				routingtest.LoseCables(n, percent, seed)
				in := problem(t, n, c.lmc)
				tables, err := Route(t.Context(), in)
				if err != nil {
					t.Logf("%s, seed %d, %d %%: %v", what, seed, percent, err)
					continue
				}
				f, err := quality.Measure(t.Context(), in, tables.LFT, nil, 0)
				if err != nil || f.Several == 0 || percent == 0 && f.Cut > 0 {
					t.Errorf("%s, seed %d, %d %%: %+v, %v", what, seed, percent, f, err)
				}
				if count := avoidable(t, in, tables.LFT); count > 0 {
					t.Errorf(
						"%s, seed %d, %d %%: %d times one switch takes all routes from a leaf to a host that could go apart", what, seed, percent, count)
				}
				if theirs, err := minhop.Route(t.Context(), in); err != nil || percent == 0 && what == "at random" &&
					avoidable(t, in, theirs.LFT) == 0 {
					t.Errorf("%s: min-hop does as well, %v", what, err)
				}
			}
		}
	}
}

// TestSeveralLIDs: in whole trees no two flows of a shift to the first LIDs of ports meet, however many LIDs a port
// has.
func TestSeveralLIDs(t *testing.T) {
	for _, spec := range []string{"fattree:k=8,levels=2", "fattree:k=8"} {
		for lmc := range uint8(4) {
			in := problem(t, generated(t, spec), lmc)
			if f := measure(t, in, Route); f.Worst > 1 || f.Cut > 0 {
				t.Errorf("%s, LMC %d: %+v", spec, lmc, f)
			}
		}
	}
}

// TestSeveralCables: where leaves have one switch above them, routes to the LIDs of a host go by different cables, also
// with cables missing.
func TestSeveralCables(t *testing.T) {
	for seed := range uint64(6) {
		n := routingtest.RailSpec{Units: 2, Hosts: 4, Rails: 2, Spines: 1, Cables: 4}.Fabric()
		routingtest.LoseCables(n, int(seed)*4, seed)
		in := problem(t, n, uint8(seed%2))
		tables, err := Route(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		network := newNetwork(t.Context(), in, &Settings{})
		for _, lids := range rails.HostLIDs(in.Topo, in.LIDs) {
			first, last := lids[0], lids[len(lids)-1]
			for s, row := range tables.LFT {
				here := topo.SwitchIdx(s) == in.Topo.SwitchOf(in.LIDs.PortOf(first)) ||
					topo.SwitchIdx(s) == in.Topo.SwitchOf(in.LIDs.PortOf(last))
				if !here && network.hosts[s] > 0 && len(network.up[s][0].ports) > 1 &&
					!slices.ContainsFunc(lids, func(l mad.LID) bool {
						return row[l] != row[first]
					}) {
					t.Errorf("seed %d: switch %d sends to LIDs %v by port %d", seed, s, lids, row[first])
				}
			}
		}
	}
}

// TestSeveralLost: what lost its way goes where the loss of one switch takes not all routes to a host, as far as there
// is such a way.
func TestSeveralLost(t *testing.T) {
	f := &steady{
		Living: routingtest.NewLiving(t, routingtest.RailSpec{Units: 3, Hosts: 16, Rails: 2, Spines: 4,
			Cables: 4}.Fabric(), 0),
	}
	var err error
	if f.base, err = Route(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs}); err != nil {
		t.Fatal(err)
	}
	f.whole, f.tables = f.Topo, f.base
	rng := rand.New(rand.NewPCG(7, 1))
	for i := range 12 {
		was, cables := f.Topo, f.Cables(false)
		f.Cut(cables[rng.IntN(len(cables))])
		f.Walk(t)
		if f.tables, err = Route(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs, Base: f.Found(f.whole, f.base),
			Prev: f.Found(was, f.tables)}); err != nil {
			t.Fatal(err)
		}
		if count := avoidable(t, routing.In{Topo: f.Topo, LIDs: f.LIDs}, f.tables.LFT); count > 0 {
			t.Errorf("%d cables lost: %d times one switch takes all routes from a leaf to a host", i+1, count)
		}
	}
}

func generated(t *testing.T, spec string) *net.Net {
	t.Helper()
	n, err := net.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
