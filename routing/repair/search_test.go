package repair

import (
	"testing"

	"ibsm/routing/creditloop"
	"ibsm/routing/minhop"
)

// TestSpentSearch: a search that has taken too many steps gives up with the way that it is at, however many others
// there are.
func TestSpentSearch(t *testing.T) {
	f := newLiving(t, "torus:dims=4x4", 0, minhop.Route)
	was := f.Topo
	for _, c := range f.Cables(false)[:3] {
		f.Cut(c)
	}
	f.Walk(t)
	in := In{Topo: f.Topo, LIDs: f.LIDs, Tables: f.Found(was, f.tables), Proof: f.proof}
	r := newRepair(in)
	if err := r.findBroken(t.Context()); err != nil {
		t.Fatal(err)
	}
	j := newJoiner(r)
	if _, err := j.clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	dependencies, err := creditloop.Follow(t.Context(), j.search())
	if err != nil {
		t.Fatal(err)
	}
	s := &searcher{joiner: j, dependencies: dependencies, state: make([]state, len(j.own)),
		links: make([]int32, len(j.own)), longer: make([]bool, 1)}
	l := newLooker(j)
	most := 0
	for i := range j.order {
		for lid := j.order[i].Base; lid < j.order[i].Base+1<<j.order[i].LMC; lid++ {
			is := l.look(target{&j.order[i], lid})
			if len(l.broken) > 0 && len(is.ways) != len(l.nearest) {
				t.Errorf("LID %d: %d ways for %d switches", lid, len(is.ways), len(l.nearest))
			}
			if len(is.ways) == 0 {
				continue
			}
			s.look = &is
			copy(s.links, l.links)
			clear(s.state)
			for _, w := range is.ways {
				s.state[w.at] = open
			}
			last := is.ways[len(is.ways)-1].at
			s.sources = []source{{last, s.slsFrom(last, s.target)}}
			tried := func(steps int) (count int) {
				s.steps = steps
				s.extend(0, last, hop{}, s.links[last], func() bool { count++; return false })
				return count
			}
			most = max(most, tried(0))
			if n := tried(maxSteps); n > 1 {
				t.Errorf("LID %d: %d ways were tried after the last step", lid, n)
			}
		}
	}
	if most < 2 {
		t.Errorf("there were %d ways at most", most)
	}
}
