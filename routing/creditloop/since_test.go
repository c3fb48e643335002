package creditloop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/routing/updn"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net/nettest"
)

// A report is the same whatever was found before, when multicast groups get other SLs and the lanes stay the same.
func TestSinceOtherSLs(t *testing.T) {
	s := routingtest.NewSubnet(t, "fattree:k=4", minhop.Route)
	maps := &routing.Maps{Of: make([][]*routing.SLToVL, len(s.Topo.Ports))}
	for p := range maps.Of {
		maps.Of[p] = []*routing.SLToVL{{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}}
	}
	for _, lanes := range [][]uint8{nil, slices.Repeat([]uint8{4}, len(s.Topo.Ports))} {
		for _, sls := range [][2]uint8{{3, 6}, {6, 3}} {
			in := In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables),
				Maps: maps, Lanes: lanes}
			search := func(sl uint8, since *Report) *Report {
				in.Multicast, in.Since = []mcast.Group{{Tree: &mcast.Tree{MLID: 0xc001}, SL: sl}}, since
				r, err := Find(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			got, want := search(sls[1], search(sls[0], nil)), search(sls[1], nil)
			for i, word := range want.graph.deps {
				if word&^got.graph.deps[i] != 0 {
					t.Fatalf("SL %d, then %d, lanes %v: dependencies are missing", sls[0], sls[1], lanes != nil)
				}
			}
		}
	}
}

// The cost of a changed entry does not grow with the number of ways that packets have from there.
func TestSinceManyWays(t *testing.T) {
	const side = 20
	// from one corner to the other there are more than 10^10 ways
	spec := fmt.Sprintf("mesh:dims=%dx%d,hosts=1", side, side)
	s := routingtest.NewSubnet(t, spec, minhop.Route)
	graph := routing.NewGraph(s.Topo)
	hops, err := routing.NewHops(t.Context(), 0, graph)
	if err != nil {
		t.Fatal(err)
	}
	root, far := topo.SwitchIdx(0), topo.SwitchIdx(side*side-1)
	lid := slices.IndexFunc(s.LIDs.Owner, func(p topo.PortIdx) bool {
		at, port := routing.Home(s.Topo, p)
		return at == root && port != 0
	})
	var by [2]*routing.Forwarding // the first way on and the last one, to this LID alone
	for i := range by {
		tables := &routing.Tables{Top: s.LIDs.Top}
		for at := range s.Topo.Switches {
			row := slices.Repeat([]uint8{routing.NoPath}, routing.RowLen(s.LIDs.Top))
			tables.LFT = append(tables.LFT, row)
			peers, ports := graph.Edges(topo.SwitchIdx(at))
			for j, peer := range peers {
				if hops.From(peer)[root] < hops.From(topo.SwitchIdx(at))[root] &&
					(i == 1 || row[lid] == routing.NoPath) {
					row[lid] = ports[j]
				}
			}
		}
		by[i] = routing.NewForwarding(s.Topo, s.LIDs, tables)
	}
	in := In{Topo: s.Topo, LIDs: s.LIDs, Forwarding: by[0], Before: &Rules{Forwarding: by[1]}}
	since, err := Find(t.Context(), in)
	if err != nil || since.number == nil {
		t.Fatal(err, since)
	}
	with := &turner{graph: newGraph(in), since: since, seen: make([]int, side*side)}
	if !with.onward(far, lid) {
		t.Error("some turn leads to no higher number")
	}
}

// What is found of a subnet that loses and gets links, switches and tables is the same, whatever was found before.
func TestSinceLiving(t *testing.T) {
	seeds := 80
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 300
	}
	specs := []string{"fattree:k=4", "torus:dims=3x3,hosts=1", "mesh:dims=3x4,hosts=1",
		"random:switches=10,degree=3,hosts=1", "torus:dims=6,hosts=1"}
	renumbered, loops, free := 0, 0, 0
	for seed := range uint64(seeds) {
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 77))
		f := routingtest.NewLiving(t, nettest.Generate(t, specs[seed%5]), uint8(rng.IntN(2)))
		upDown := func(root topo.SwitchIdx) (*routing.Tables, error) {
			engine := updn.New(updn.Settings{Roots: []mad.GUID{f.Topo.Nodes[f.Topo.Switches[root]].GUID},
				ConnectRoots: true}, routing.Balancing{})
			return engine(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs})
		}
		tables, err := minhop.Route(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs})
		if err != nil {
			t.Fatal(err)
		}
		var last *Report
		var checked *verify.Report
		for range 12 {
			s := (&routingtest.Subnet{Topo: f.Topo, LIDs: f.LIDs, Tables: tables}).Changed()
			for i, row := range s.Tables.LFT {
				if len(row) == 0 {
					s.Tables.LFT[i] = slices.Repeat([]uint8{routing.NoPath}, routing.RowLen(f.LIDs.Top))
				}
			}
			if rng.IntN(3) == 0 {
				for range 1 + rng.IntN(3) {
					at := rng.IntN(len(s.Tables.LFT))
					if row, lid := s.Tables.LFT[at], 1+rng.IntN(int(f.LIDs.Top)); lid < len(row) {
						row[lid] = uint8(rng.IntN(int(s.Topo.Nodes[s.Topo.Switches[at]].NumPorts) + 1))
					}
				}
			}
			if last != nil &&
				last.by(newGraph(
					In{Topo: s.Topo, LIDs: s.LIDs,
						Forwarding: routing.NewForwarding(s.Topo, s.LIDs, s.Tables)})) != last {
				renumbered++
			}
			r := compare(t, s, BetweenHosts, last)
			if r.Loop != nil {
				loops++
			} else if last != nil && last.number != nil {
				free++
			}
			last = r
			checked = sameAsAfresh(t, s, checked)
			was := f.Topo
			f.Damage(rng)
			f.Walk(t)
			found := f.Found(was, s.Tables)
			switch rng.IntN(4) {
			case 0:
				tables = found
			case 1:
				tables, err = upDown(topo.SwitchIdx(rng.IntN(len(f.Topo.Switches))))
			case 2:
				tables, err = minhop.Route(t.Context(),
					routing.In{Topo: f.Topo, LIDs: f.LIDs, Prev: found, Keep: routing.KeepMinimal})
			case 3:
				tables, err = upDown(0)
			}
			if err != nil {
				tables, err = found, nil
			}
			tables.Top = f.LIDs.Top
		}
	}
	t.Logf("%d seeds: %d with a loop, %d without after one without, %d with other switches", seeds, loops, free,
		renumbered)
	if loops == 0 || free == 0 || renumbered == 0 {
		t.Error("some case did not happen")
	}
}

// sameAsAfresh fails the test unless routes are found as good after an earlier report as without.
func sameAsAfresh(t *testing.T, s *routingtest.Subnet, since *verify.Report) *verify.Report {
	t.Helper()
	got, err := verify.Check(t.Context(), 0, s.Topo, s.LIDs, s.Tables, since)
	if err != nil {
		t.Fatal(err)
	}
	want, err := verify.Check(t.Context(), 0, s.Topo, s.LIDs, s.Tables, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Count != want.Count || got.Longest != want.Longest || got.Routes != want.Routes ||
		!slices.Equal(got.Examples, want.Examples) || !slices.Equal(got.Good(), want.Good()) {
		t.Fatalf("found %+v; without what was found before %+v", got.Count, want.Count)
	}
	return got
}
