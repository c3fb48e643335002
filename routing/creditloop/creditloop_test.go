package creditloop

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/topo"
)

// subnet is a fabric with tables, which a test may spoil.
type subnet struct {
	topo   *topo.Topo
	lids   *topo.LIDs
	tables *routing.Tables
}

func newSubnet(tb testing.TB, spec string) *subnet {
	tb.Helper()
	in := routingtest.Problem(tb, spec)
	s := &subnet{topo: in.Topo, lids: in.LIDs}
	var err error
	if s.tables, err = minhop.Route(tb.Context(), in); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *subnet) find(tb testing.TB, traffic Traffic, since *Report) *Report {
	tb.Helper()
	r, err := Find(tb.Context(), In{s.topo, s.lids, routing.NewForwarding(s.topo, s.lids, s.tables), s.tables.SLs, traffic, since})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// changed is the subnet with rows of its own.
func (s *subnet) changed() *subnet {
	c := *s
	c.tables = &routing.Tables{LFT: slices.Clone(s.tables.LFT), Top: s.tables.Top, SLs: s.tables.SLs}
	for i := range c.tables.LFT {
		c.tables.LFT[i] = slices.Clone(c.tables.LFT[i])
	}
	return &c
}

// link is a channel of the naive search.
type link struct {
	sw         topo.SwitchIdx
	port, lane uint8
}

// way is the links between switches that packets take from a switch to a LID; loops end after
// they have come round once more.
func (s *subnet) way(from topo.SwitchIdx, lid mad.LID, lane uint8) (links []link) {
	for sw := from; len(links) < 2*len(s.topo.Switches)+2; {
		port := s.tables.LFT[sw][lid]
		if port == 0 || port == routing.NoPath || port > s.topo.Nodes[s.topo.Switches[sw]].NumPorts {
			return links
		}
		peer := s.topo.Ports[s.topo.Port(s.topo.Switches[sw], port)].Peer
		if peer == topo.None {
			return links
		}
		next := s.topo.Nodes[s.topo.Ports[peer].Node].Switch
		if next == topo.None {
			return links
		}
		links = append(links, link{sw, port, lane})
		sw = next
	}
	return links
}

// pairs calls do for every pair of ports that traffic goes between: the switch of the first, a LID
// of the second, and the SL.
func (s *subnet) pairs(traffic Traffic, do func(topo.SwitchIdx, mad.LID, uint8)) {
	counts := func(p topo.PortIdx) bool {
		return traffic == All || s.topo.Nodes[s.topo.Ports[p].Node].Type != mad.Switch
	}
	for _, from := range s.topo.EndPorts {
		for _, to := range s.topo.EndPorts {
			if counts(from) && counts(to) && s.topo.SwitchOf(from) != topo.None && s.topo.SwitchOf(to) != topo.None {
				do(s.topo.SwitchOf(from), s.lids.Base[to], s.tables.SLs.Of(s.lids.Base[from], s.lids.Base[to]))
			}
		}
	}
}

// hasLoop is the naive search: the dependencies of every pair one by one, and from every link
// all links that come after it.
func (s *subnet) hasLoop(traffic Traffic) bool {
	after := map[link]map[link]bool{}
	s.pairs(traffic, func(from topo.SwitchIdx, lid mad.LID, lane uint8) {
		way := s.way(from, lid, lane)
		for i := 1; i < len(way); i++ {
			if after[way[i-1]] == nil {
				after[way[i-1]] = map[link]bool{}
			}
			after[way[i-1]][way[i]] = true
		}
	})
	for start := range after {
		seen, stack := map[link]bool{}, []link{start}
		for len(stack) > 0 {
			last := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for next := range after[last] {
				if next == start {
					return true
				}
				if !seen[next] {
					seen[next] = true
					stack = append(stack, next)
				}
			}
		}
	}
	return false
}

// mustHold fails the test unless each packet of a loop that was found goes as is said.
func (s *subnet) mustHold(t *testing.T, traffic Traffic, loop []Channel) {
	t.Helper()
	for i, c := range loop {
		next := loop[(i+1)%len(loop)]
		way := s.way(c.Source, c.Dest, c.Lane)
		at := slices.Index(way, link{c.Switch, c.Port, c.Lane})
		if at < 0 || at+1 == len(way) || way[at+1] != (link{next.Switch, next.Port, next.Lane}) {
			t.Errorf("%+v: packets go %v, which is not on to %+v", c, way, next)
		}
		starts := false
		s.pairs(traffic, func(from topo.SwitchIdx, lid mad.LID, lane uint8) {
			starts = starts || from == c.Source && lid == c.Dest && lane == c.Lane
		})
		if !starts {
			t.Errorf("%+v: nobody sends this", c)
		}
	}
}

// mustProve fails the test unless the numbers of a report without a loop ascend on every way.
func (s *subnet) mustProve(t *testing.T, traffic Traffic, r *Report) {
	t.Helper()
	if r.Loop != nil {
		return
	}
	s.pairs(traffic, func(from topo.SwitchIdx, lid mad.LID, lane uint8) {
		last := int32(-1)
		for _, l := range s.way(from, lid, lane) {
			n := r.Number(l.sw, l.port, l.lane)
			if n <= last {
				t.Fatalf("from switch %d to LID %d: number %d at %+v, after %d", from, lid, n, l, last)
			}
			last = n
		}
	})
}

// someSLs are SLs of a random form: by destination, by switches, or by LIDs.
func (s *subnet) someSLs(rng *rand.Rand) *routing.SLs {
	from, to := make([]int32, len(s.lids.Owner)), make([]int32, len(s.lids.Owner))
	form, most := rng.IntN(3), 1+rng.IntN(4)
	for lid, p := range s.lids.Owner {
		from[lid], to[lid] = -1, -1
		if p == topo.None {
			continue
		}
		switch form {
		case 0:
			from[lid], to[lid] = 0, int32(lid)
		case 1:
			from[lid], to[lid] = int32(s.topo.SwitchOf(p)), int32(s.topo.SwitchOf(p))
		case 2:
			from[lid], to[lid] = int32(lid), int32(lid)
		}
	}
	rows := make([][]uint8, max(len(from), len(s.topo.Switches)))
	for r := range rows {
		rows[r] = make([]uint8, max(len(to), len(s.topo.Switches)))
		for c := range rows[r] {
			rows[r][c] = uint8(rng.IntN(most))
		}
	}
	return routing.NewSLs(from, to, rows)
}

// Trees have no credit loop between hosts, rings of more than four switches have.
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		spec string
		loop int // length; a ring's is that of the ring
	}{
		{"fattree:k=4", 0}, {"fattree:k=8", 0}, {"mesh:dims=1x6,hosts=2", 0},
		{"torus:dims=5,hosts=1", 5}, {"torus:dims=7,hosts=1", 7},
	} {
		s := newSubnet(t, c.spec)
		r := s.find(t, BetweenHosts, nil)
		if len(r.Loop) != c.loop {
			t.Errorf("%s: %+v", c.spec, r.Loop)
		}
		s.mustHold(t, BetweenHosts, r.Loop)
	}
}

// TestNaive compares with the naive search on random tables, most of them spoilt, and with
// what was found before they were spoilt.
func TestNaive(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 1))
	var free, loops, kept int
	for range 40 {
		spec := []string{"fattree:k=4", "fattree:k=6,hosts=1", "torus:dims=4x3,hosts=1", "mesh:dims=1x5,hosts=2", "random:switches=10,degree=3,hosts=1"}[rng.IntN(5)]
		s := newSubnet(t, spec)
		if rng.IntN(2) == 0 {
			s.tables.SLs = s.someSLs(rng)
		}
		var last [2]*Report
		for range 8 {
			for _, traffic := range []Traffic{BetweenHosts, All} {
				r := s.find(t, traffic, last[traffic])
				if naive := s.hasLoop(traffic); naive != (r.Loop != nil) {
					t.Fatalf("seed %d, %s, traffic %d: found %+v; the naive search: %v", seed, spec, traffic, r.Loop, naive)
				}
				s.mustHold(t, traffic, r.Loop)
				s.mustProve(t, traffic, r)
				switch {
				case r.Loop != nil:
					loops++
				case last[traffic] != nil && last[traffic].number != nil && &last[traffic].number[0] == &r.number[0]:
					kept++
				default:
					free++
				}
				last[traffic] = r
			}
			s = s.changed()
			sw := rng.IntN(len(s.tables.LFT))
			for range rng.IntN(2) {
				row := s.tables.LFT[sw]
				row[1+rng.IntN(int(s.lids.Top))] = uint8(1 + rng.IntN(int(s.topo.Nodes[s.topo.Switches[sw]].NumPorts)))
			}
		}
	}
	t.Logf("seed %d: %d without a loop, %d with one, %d without by the numbers of before", seed, free, loops, kept)
	if free == 0 || loops == 0 || kept == 0 {
		t.Error("some case did not happen")
	}
}

func BenchmarkFind(b *testing.B) {
	for _, spec := range []string{"fattree:k=24", "fattree:k=36"} {
		b.Run(spec, func(b *testing.B) {
			s := newSubnet(b, spec)
			f := routing.NewForwarding(s.topo, s.lids, s.tables)
			before := s.find(b, BetweenHosts, nil)
			for name, since := range map[string]*Report{"all": nil, "same": before} {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if r, err := Find(b.Context(), In{s.topo, s.lids, f, nil, BetweenHosts, since}); err != nil || r.Loop != nil {
							b.Fatal(r, err)
						}
					}
				})
			}
		})
	}
}
