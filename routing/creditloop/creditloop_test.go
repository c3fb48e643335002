package creditloop

import (
	"slices"
	"testing"

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
	maps   *routing.Maps
	groups []Group
	lanes  []uint8
	turns  []uint16
	before *subnet // of which each switch may have the tables; nil for none
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
	rules := s.rules()
	in := In{Topo: s.topo, LIDs: s.lids, Forwarding: rules.Forwarding, SLs: rules.SLs, Maps: rules.Maps, Multicast: s.groups, Traffic: traffic, Lanes: s.lanes, Turns: s.turns, Since: since}
	if s.before != nil {
		before := s.before.rules()
		in.Before = &before
	}
	r, err := Find(tb.Context(), in)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func (s *subnet) rules() Rules {
	return Rules{Forwarding: routing.NewForwarding(s.topo, s.lids, s.tables), SLs: s.tables.SLs, Maps: s.maps}
}

// changed is the subnet with rows and lists of its own.
func (s *subnet) changed() *subnet {
	c := *s
	c.tables = &routing.Tables{LFT: slices.Clone(s.tables.LFT), Top: s.tables.Top, SLs: s.tables.SLs}
	for i := range c.tables.LFT {
		c.tables.LFT[i] = slices.Clone(c.tables.LFT[i])
	}
	c.groups = slices.Clone(s.groups)
	return &c
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
		s.mustHold(t, BetweenHosts, r)
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
						if r, err := Find(b.Context(), In{Topo: s.topo, LIDs: s.lids, Forwarding: f, Since: since}); err != nil || r.Loop != nil {
							b.Fatal(r, err)
						}
					}
				})
			}
		})
	}
}
