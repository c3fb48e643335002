package congestion

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/nue"
	"ibsm/routing/routingtest"
	"ibsm/routing/tree"
	"ibsm/sim/fluid"
	"ibsm/topo"
)

// fabric is a routed subnet with traffic.
type fabric struct {
	t     testing.TB
	rng   *rand.Rand
	topo  *topo.Topo
	lids  *topo.LIDs
	fwd   *routing.Forwarding
	hosts []topo.PortIdx
	links []fluid.Link // by topo.PortIdx
	flows []fluid.Flow
}

func newFabric(t testing.TB, spec string, engine routing.Engine, seed uint64) *fabric {
	s := routingtest.NewSubnet(t, spec, engine)
	f := &fabric{t: t, rng: rand.New(rand.NewPCG(seed, 3)), topo: s.Topo, lids: s.LIDs,
		fwd: routing.NewForwarding(s.Topo, s.LIDs, s.Tables), links: make([]fluid.Link, len(s.Topo.Ports))}
	for _, p := range s.Topo.EndPorts {
		if s.Topo.Nodes[s.Topo.Ports[p].Node].Switch == topo.None {
			f.hosts = append(f.hosts, p)
		}
	}
	for p := range f.links {
		is := f.topo.LinkRate(topo.PortIdx(p))
		f.links[p].Rate = max(1, is.Gbps()*1e9/8)
	}
	return f
}

// path is the transmitters from one host to another.
func (f *fabric) path(from, to topo.PortIdx) (path []int32) {
	lid := f.lids.Base[to]
	for p := from; ; {
		path = append(path, int32(p))
		far := f.topo.Ports[p].Peer
		if far == to {
			return path
		}
		node := f.topo.Ports[far].Node
		p = f.topo.Port(node, f.fwd.Rows[f.topo.Nodes[node].Switch][lid])
	}
}

// send adds a flow that wants a part of its host's link.
func (f *fabric) send(from, to topo.PortIdx, part float64) {
	f.flows = append(f.flows, fluid.Flow{Path: f.path(from, to), Rate: part * f.links[from].Rate})
}

// background has every host send to another one, a part of its link's rate that no link is too small for.
func (f *fabric) background() {
	to := f.rng.Perm(len(f.hosts))
	first := len(f.flows)
	for i, h := range f.hosts {
		if to[i] != i {
			f.send(h, f.hosts[to[i]], 0.1+0.3*f.rng.Float64())
		}
	}
	load := make([]float64, len(f.links))
	most := 0.0
	for _, flow := range f.flows[first:] {
		for _, l := range flow.Path {
			load[l] += flow.Rate
			most = max(most, load[l]/f.links[l].Rate)
		}
	}
	for i := range f.flows[first:] {
		f.flows[first+i].Rate *= min(1, 0.6/most)
	}
}

func (f *fabric) someHost() topo.PortIdx { return f.hosts[f.rng.IntN(len(f.hosts))] }

// use is what ports would count of it.
func (f *fabric) use() []Use {
	ports := make([]Use, len(f.links))
	for p, u := range fluid.Run(f.links, f.flows) {
		ports[p] = Use{Known: true, Busy: u.Rate / f.links[p].Rate, Waited: u.Waited}
	}
	return ports
}

// plants are what is wrong: each plants it and says where, and what it is. None where the draw has no such place.
var plants = []struct {
	cause Cause
	plant func(f *fabric) topo.PortIdx
}{
	{SlowHost, func(f *fabric) topo.PortIdx {
		victim := f.someHost()
		root := f.topo.Ports[victim].Peer
		f.links[root].Drain = f.links[root].Rate * (0.02 + 0.1*f.rng.Float64())
		for range 2 {
			if from := f.someHost(); from != victim {
				f.send(from, victim, 0.4)
			}
		}
		return root
	}},
	{Incast, func(f *fabric) topo.PortIdx {
		victim := f.someHost()
		for _, i := range f.rng.Perm(len(f.hosts))[:12] {
			if f.hosts[i] != victim {
				f.send(f.hosts[i], victim, 0.5)
			}
		}
		return f.topo.Ports[victim].Peer
	}},
	{SlowLink, func(f *fabric) topo.PortIdx { // a lane of four
		root := f.busyLink()
		for _, p := range []topo.PortIdx{root, f.topo.Ports[root].Peer} {
			f.topo.Ports[p].Info.SetLinkWidthActive(mad.Width1x)
			f.links[p].Rate /= 4
		}
		return root
	}},
	{FullLink, func(f *fabric) topo.PortIdx { // flows of hosts whose routes lead over one link
		root := f.busyLink()
		sent := 0.0
		for range 4000 {
			from, to := f.someHost(), f.someHost()
			if from == to || !slices.Contains(f.path(from, to), int32(root)) {
				continue
			}
			busy := func(h topo.PortIdx) bool {
				return slices.ContainsFunc(f.flows, func(x fluid.Flow) bool {
					return x.Path[0] == int32(h) && x.Rate > 0.5*f.links[h].Rate ||
						x.Path[len(x.Path)-1] == int32(f.topo.Ports[h].Peer) && x.Rate > 0.5*f.links[h].Rate
				})
			}
			if busy(from) || busy(to) {
				continue
			}
			if f.send(from, to, 0.6); sent > 2 {
				return root
			}
			sent += 0.6
		}
		return topo.None
	}},
}

// busyLink is one of the links between switches that carry the most.
func (f *fabric) busyLink() topo.PortIdx {
	load := map[topo.PortIdx]float64{}
	for _, flow := range f.flows {
		for _, l := range flow.Path[1 : len(flow.Path)-1] {
			load[topo.PortIdx(l)] += flow.Rate
		}
	}
	var links []topo.PortIdx
	for l := range load {
		links = append(links, l)
	}
	slices.SortFunc(links, func(a, b topo.PortIdx) int {
		if d := load[b] - load[a]; d != 0 {
			return int(d / 1e6)
		}
		return int(a - b)
	})
	return links[f.rng.IntN(min(8, len(links)))]
}

// few are how many of a hundred cases may have another root: two things can be as heavy in a fabric that is in use,
// most of all where all routes between two groups take one link.
var few = map[string]int{"fattree:k=8": 4, "fattree:k=16,levels=2": 1, "dragonfly:a=4,p=2,h=2": 6}

// TestRoots: what is planted in a fabric in use is named, as the first root and with its cause.
func TestRoots(t *testing.T) {
	cases := 24
	if os.Getenv("IBSM_PROOF") != "" {
		cases = 200
	}
	for spec, engine := range map[string]routing.Engine{
		"fattree:k=8": minhop.Route, "fattree:k=16,levels=2": tree.New(tree.Settings{}),
		"dragonfly:a=4,p=2,h=2": nue.New(nue.Settings{MaxVLs: 1}),
	} {
		t.Run(spec, func(t *testing.T) {
			found, drawn := 0, 0
			for seed := range uint64(cases) {
				f := newFabric(t, spec, engine, seed)
				f.background()
				if trees := Find(In{f.topo, f.fwd, f.use()}, Defaults); len(trees) > 0 {
					t.Errorf("seed %d: %d roots where nothing is wrong: %s", seed, len(trees), f.show(trees[0]))
				}
				plant := plants[seed%uint64(len(plants))]
				root := plant.plant(f)
				if root == topo.None {
					continue
				}
				drawn++
				trees := Find(In{f.topo, f.fwd, f.use()}, Defaults)
				if len(trees) > 0 && trees[0].Cause == plant.cause &&
					(trees[0].Root == root || plant.cause == SlowLink && trees[0].Root == f.topo.Ports[root].Peer) {
					found++
					continue
				}
				text := "no root"
				if len(trees) > 0 {
					text = f.show(trees[0])
				}
				t.Logf("seed %d: %v at %s: %s", seed, plant.cause, f.name(root), text)
			}
			t.Logf("%d of %d", found, drawn)
			if drawn < cases*3/4 || (drawn-found)*100 > few[spec]*drawn {
				t.Errorf("%d of %d found", found, drawn)
			}
		})
	}
}

func (f *fabric) name(p topo.PortIdx) string {
	return fmt.Sprintf("%q port %d", f.topo.Nodes[f.topo.Ports[p].Node].Desc.String(), f.topo.Ports[p].Num)
}

func (f *fabric) show(t Tree) string {
	return fmt.Sprintf("%v at %s, %d wait, %.2f", t.Cause, f.name(t.Root), len(t.Waiting), t.Weight)
}

// TestAnything: whatever ports count and tables say, circles included, each waiting port is in one tree.
func TestAnything(t *testing.T) {
	for seed := range uint64(60) {
		f := newFabric(t, "fattree:k=4", minhop.Route, seed)
		for _, row := range f.fwd.Rows {
			for lid := range row {
				if f.rng.IntN(3) == 0 {
					row[lid] = uint8(f.rng.IntN(256))
				}
			}
		}
		for _, i := range f.rng.Perm(len(f.hosts))[:4] { // cables that have been pulled since
			h := f.hosts[i]
			far := f.topo.Ports[h].Peer
			f.topo.Ports[h].Peer, f.topo.Ports[far].Peer = topo.None, topo.None
		}
		ports := make([]Use, len(f.links))
		waiting := 0
		for p := range ports {
			ports[p] = Use{Known: f.rng.IntN(8) > 0, Busy: 2 * f.rng.Float64(), Waited: f.rng.Float64() - 0.3}
			if u := ports[p]; u.Known && u.Waited >= Defaults.Waits && f.topo.Ports[p].Peer != topo.None {
				waiting++
			}
		}
		for _, tree := range Find(In{f.topo, f.fwd, ports}, Defaults) {
			waiting -= len(tree.Waiting)
		}
		if waiting != 0 {
			t.Errorf("seed %d: %d ports more wait than are in trees", seed, waiting)
		}
	}
}

// BenchmarkFind is a fabric of 11,664 hosts in which every port waits, or one of a hundred.
func BenchmarkFind(b *testing.B) {
	f := newFabric(b, "fattree:k=36", tree.New(tree.Settings{}), 1)
	for _, every := range []int{1, 100} {
		ports := make([]Use, len(f.links))
		for p := range ports {
			ports[p] = Use{Known: true, Busy: 0.5}
			if p%every == 0 {
				ports[p].Waited = 0.2
			}
		}
		b.Run(fmt.Sprintf("one of %d", every), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Find(In{f.topo, f.fwd, ports}, Defaults)
			}
		})
	}
}
