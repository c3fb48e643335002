package repair

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/lash"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/routing/sssp"
	"ibsm/routing/updn"
	"ibsm/topo"
)

type dependency [2]routingtest.Hop

// dependencies are those of hosts' packets to some LIDs.
func dependencies(s *routingtest.Subnet, some func(mad.LID) bool) map[dependency]bool {
	n := s.SearchSome(true, func(p routingtest.Packet, _ topo.SwitchIdx) bool { return some(p.To) })
	all := map[dependency]bool{}
	for from, after := range n.After {
		for to := range after {
			all[dependency{from, to}] = true
		}
	}
	return all
}

// closes reports whether dependencies that are added to others are in a circle.
func closes(others, added map[dependency]bool) bool {
	after := map[routingtest.Hop][]routingtest.Hop{}
	for _, set := range []map[dependency]bool{others, added} {
		for d := range set {
			after[d[0]] = append(after[d[0]], d[1])
		}
	}
	for d := range added {
		if others[d] {
			continue
		}
		seen, stack := map[routingtest.Hop]bool{d[1]: true}, []routingtest.Hop{d[1]}
		for len(stack) > 0 {
			last := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if last == d[0] {
				return true
			}
			for _, next := range after[last] {
				if !seen[next] {
					seen[next] = true
					stack = append(stack, next)
				}
			}
		}
	}
	return false
}

// adds reports whether the repaired routes to all LIDs but one add a circle to those that worked.
func adds(in In, r *Result, but mad.LID) bool {
	before := dependencies(subnet(in, kept(in, r)), func(mad.LID) bool { return true })
	return closes(before, dependencies(subnet(in, r.Tables), func(to mad.LID) bool { return to != but }))
}

// kept are the tables without the entries that were repaired.
func kept(in In, r *Result) *routing.Tables {
	tables := &routing.Tables{LFT: slices.Clone(r.Tables.LFT), Top: r.Tables.Top, SLs: r.Tables.SLs}
	for s := range tables.LFT {
		tables.LFT[s] = slices.Clone(tables.LFT[s])
		for lid := range in.LIDs.Owner {
			if _, worked := walk(in.Topo, in.LIDs, in.Tables.LFT, topo.SwitchIdx(s), mad.LID(lid)); !worked {
				tables.LFT[s][lid] = routing.NoPath
			}
		}
	}
	return tables
}

// broken are the switches from which packets to a LID did not arrive, other than that of its owner.
func broken(in In, lid mad.LID) (switches []topo.SwitchIdx) {
	for s := range topo.SwitchIdx(len(in.Topo.Switches)) {
		if _, worked := walk(in.Topo, in.LIDs, in.Tables.LFT, s, lid); !worked &&
			s != in.Topo.SwitchOf(in.LIDs.PortOf(lid)) {
			switches = append(switches, s)
		}
	}
	return switches
}

// hasWay tries all entries of the broken switches of a LID, and reports whether there are some by which hosts'
// packets arrive and no circle comes of it; known is false if there are too many.
func hasWay(in In, r *Result, lid mad.LID) (has, known bool) {
	s := subnet(in, r.Tables).Changed()
	switches := broken(in, lid)
	others := dependencies(s, func(to mad.LID) bool { return to != lid })
	for d := range dependencies(subnet(in, kept(in, r)), func(to mad.LID) bool { return to == lid }) {
		others[d] = true
	}
	graph := routing.NewGraph(in.Topo)
	ways := 1
	for _, at := range switches {
		_, ports := graph.Edges(at)
		if ways *= max(1, len(ports)); ways > 3000 {
			return false, false
		}
	}
	for way := range ways {
		for _, at := range switches {
			if _, ports := graph.Edges(at); len(ports) > 0 {
				s.Tables.LFT[at][lid] = ports[way%len(ports)]
				way /= len(ports)
			}
		}
		arrives := true
		for _, owner := range in.LIDs.Owner {
			if at, port := routing.Home(in.Topo, owner); port != 0 {
				_, is := walk(in.Topo, in.LIDs, s.Tables.LFT, at, lid)
				arrives = arrives && is
			}
		}
		if arrives && !closes(others, dependencies(s, func(to mad.LID) bool { return to == lid })) {
			return true, true
		}
	}
	return false, true
}

// engines make tables to repair.
var engines = map[string]routing.Engine{
	"minhop": minhop.Route, "updn": updn.New(updn.Settings{ConnectRoots: true}, routing.Balancing{}),
	"lash":   lash.New(lash.Settings{}),
	"dfsssp": sssp.NewDeadlockFree(sssp.Settings{}),
}

// TestNaive repairs the tables of living fabrics again and again, and compares each repair with what is
// naively known: nothing is lost that has cables, nothing changes that worked, and a circle comes of the routes
// to a LID only where no choice of their entries is without one. Without what is known of the tables before the
// same entries are kept.
func TestNaive(t *testing.T) {
	var keptAll, repairedAll, bad, judged int
	names := []string{"minhop", "updn", "lash", "dfsssp"}
	for seed := range uint64(map[bool]int{false: 60, true: 3000}[proof()]) {
		rng := rand.New(rand.NewPCG(seed, 1))
		specs := []string{
			fmt.Sprintf("random:switches=%d,degree=3,hosts=1,seed=%d", 4+2*rng.IntN(3), seed), "fattree:k=4",
			"torus:dims=3x3,hosts=1",
			"torus:dims=6,hosts=1", "mesh:dims=3x3,hosts=1", "fattree:k=6,levels=2",
		}
		name, spec := names[rng.IntN(len(names))], specs[rng.IntN(len(specs))]
		if name == "updn" {
			spec = "fattree:k=4"
		}
		f := newLiving(t, spec, uint8(rng.IntN(2)), engines[name])
		for round := range 6 {
			in := f.change(t, rng)
			r := mustRepair(t, in)
			nk, nr := mustKeep(t, in, r)
			keptAll, repairedAll = keptAll+nk, repairedAll+nr
			is := adds(in, r, 0)
			if is {
				bad++
			}
			if says := len(r.Unavoidable) > 0; says != is {
				t.Errorf("a circle is added: %v; the result says so: %v", is, says)
			}
			for _, u := range r.Unavoidable {
				if adds(in, r, u.LID) {
					continue // routes to other LIDs, too
				}
				if has, known := hasWay(in, r, u.LID); known {
					judged++
					if has {
						t.Errorf("%+v is in a circle without need", u)
					}
				}
			}
			whole := in
			whole.Was, whole.Proof = nil, nil
			mustKeep(t, whole, mustRepair(t, whole))
			if t.Failed() {
				t.Fatalf("seed %d round %d: %s by %s", seed, round, spec, name)
			}
			f.tables = r.Tables
			f.judge(t)
		}
	}
	t.Logf("%d entries worked, %d were repaired; %d repairs close a circle, %d of them were judged", keptAll,
		repairedAll, bad, judged)
	if keptAll < 10_000 || repairedAll < 1000 || judged == 0 {
		t.Error("too few to prove anything")
	}
}
