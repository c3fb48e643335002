package creditloop

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// hop is a channel that a packet takes in the naive search; its port may lead to an end port.
type hop struct {
	sw         topo.SwitchIdx
	port, lane uint8
}

// packet is one of an SL from a LID to another.
type packet struct {
	from, to mad.LID
	sl       uint8
}

// stop is a finding of the naive search.
type stop struct {
	kind   Kind
	port   topo.PortIdx
	sl, vl uint8
}

// naive is what the naive search has found: the dependencies of every packet one by one.
type naive struct {
	*subnet
	after map[hop]map[hop]bool
	stops map[stop]bool
	// hops are called for each hop of the packet in hand and that after it, if any; nil for nobody.
	hops func(at hop, next *hop)
}

// sides are the tables that switches may have.
func (s *subnet) sides() []*subnet {
	if s.before != nil {
		return []*subnet{s, s.before}
	}
	return []*subnet{s}
}

// judge is the lane of packets of an SL at a port, by the tables of some side, and whether they leave.
func (n *naive) judge(side *subnet, in uint8, out topo.PortIdx, sl uint8) (lane uint8, leave bool) {
	lane = side.maps.Table(in, out).VL(sl)
	lanes := uint8(15)
	if n.lanes != nil {
		if lanes = n.lanes[out]; lanes == 0 && n.topo.Ports[out].Peer != topo.None {
			lanes = n.lanes[n.topo.Ports[out].Peer]
		}
		if lanes == 0 {
			lanes = 15
		}
	}
	switch {
	case lane == 15:
		n.stops[stop{Dropped, out, sl, lane}] = true
	case lane >= lanes:
		n.stops[stop{NoLane, out, sl, lane}] = true
	case n.turns != nil && n.turns[out]>>lane&1 == 0:
		n.stops[stop{NoTurn, out, sl, lane}] = true
		return lane, true
	default:
		return lane, true
	}
	return lane, false
}

// send lets a packet go from a switch on. path is the hops that it has taken, which last has come by
// the last of.
func (n *naive) send(p packet, sw topo.SwitchIdx, in uint8, last *hop, seen map[hop]bool) {
	for _, port := range n.ports(p, sw, in) {
		out := n.topo.Port(n.topo.Switches[sw], port)
		peer := n.topo.Ports[out].Peer
		if port == 0 || peer == topo.None {
			continue
		}
		for _, side := range n.sides() {
			lane, leave := n.judge(side, in, out, p.sl)
			if !leave {
				continue
			}
			at := hop{sw, port, lane}
			next := n.topo.Nodes[n.topo.Ports[peer].Node].Switch
			if next == topo.None {
				continue
			}
			if last != nil {
				if n.after[*last] == nil {
					n.after[*last] = map[hop]bool{}
				}
				n.after[*last][at] = true
			}
			if n.hops != nil && last != nil {
				n.hops(*last, &at)
			}
			if n.hops != nil {
				n.hops(at, nil)
			}
			if !seen[at] {
				seen[at] = true
				n.send(p, next, n.topo.Ports[peer].Num, &at, seen)
			}
		}
	}
}

// ports are those by which a packet leaves a switch.
func (n *naive) ports(p packet, sw topo.SwitchIdx, in uint8) (ports []uint8) {
	if p.to >= mad.MinMulticastLID {
		for _, g := range n.groups {
			if g.Tree.MLID == p.to {
				for port := range g.Tree.Ports(sw).Ports() {
					if port != in {
						ports = append(ports, port)
					}
				}
			}
		}
		return ports
	}
	for _, side := range n.sides() {
		if port := side.tables.LFT[sw][p.to]; port <= n.topo.Nodes[n.topo.Switches[sw]].NumPorts && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// packets calls do for every packet, with where it starts.
func (s *subnet) packets(traffic Traffic, do func(p packet, sw topo.SwitchIdx, in uint8)) {
	counts := func(p topo.PortIdx) bool {
		return p != topo.None && (traffic == All || s.topo.Nodes[s.topo.Ports[p].Node].Type != mad.Switch) && s.topo.SwitchOf(p) != topo.None
	}
	for from, p := range s.lids.Owner {
		if !counts(p) {
			continue
		}
		sw, in := routing.Home(s.topo, p)
		for to, q := range s.lids.Owner {
			if counts(q) {
				for _, side := range s.sides() {
					do(packet{mad.LID(from), mad.LID(to), side.tables.SLs.Of(mad.LID(from), mad.LID(to))}, sw, in)
				}
			}
		}
		for _, g := range s.groups {
			if !g.Tree.Ports(sw).Empty() {
				do(packet{mad.LID(from), g.Tree.MLID, g.SL}, sw, in)
			}
		}
	}
}

// search is the naive search.
func (s *subnet) search(traffic Traffic) *naive {
	n := &naive{subnet: s, after: map[hop]map[hop]bool{}, stops: map[stop]bool{}}
	s.packets(traffic, func(p packet, sw topo.SwitchIdx, in uint8) {
		if own := s.lids.Owner[p.from]; in != 0 && (p.to < mad.MinMulticastLID || slices.Contains(n.ports(p, sw, 0), in)) {
			for _, side := range s.sides() {
				n.judge(side, 0, own, p.sl)
			}
		}
		n.send(p, sw, in, nil, map[hop]bool{})
	})
	return n
}

// hasLoop reports whether some hop comes after itself.
func (n *naive) hasLoop() bool {
	for start := range n.after {
		seen, stack := map[hop]bool{}, []hop{start}
		for len(stack) > 0 {
			last := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for next := range n.after[last] {
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

// mustHold fails the test unless each packet that a report names goes as it says.
func (s *subnet) mustHold(t *testing.T, traffic Traffic, r *Report) {
	t.Helper()
	goes := func(f Flow, do func(at hop, next *hop), stops map[stop]bool) (sent bool) {
		n := &naive{subnet: s, after: map[hop]map[hop]bool{}, stops: stops, hops: do}
		s.packets(traffic, func(p packet, sw topo.SwitchIdx, in uint8) {
			if p == (packet{f.SourceLID, f.Dest, f.SL}) && (f.Source == topo.None || f.Source == sw) {
				sent = true
				if f.Source == topo.None {
					for _, side := range s.sides() {
						n.judge(side, 0, s.lids.Owner[p.from], p.sl)
					}
				}
				n.send(p, sw, in, nil, map[hop]bool{})
			}
		})
		return sent
	}
	for i, c := range r.Loop {
		found, to := false, r.Loop[(i+1)%len(r.Loop)]
		sent := goes(c.Flow, func(at hop, next *hop) {
			found = found || next != nil && at == (hop{c.Switch, c.Port, c.Lane}) && *next == hop{to.Switch, to.Port, to.Lane}
		}, map[stop]bool{})
		if !sent || !found {
			t.Errorf("%+v: sent %v, and goes on to %+v: %v", c, sent, to, found)
		}
	}
	for _, f := range r.Findings {
		stops := map[stop]bool{}
		if sent := goes(f.Flow, nil, stops); !sent || !stops[stop{f.Kind, f.Port, f.SL, f.VL}] {
			t.Errorf("%+v: sent %v, stopped %v", f, sent, stops)
		}
	}
}

// mustProve fails the test unless the numbers of a report without a loop ascend on every way.
func (s *subnet) mustProve(t *testing.T, n *naive, r *Report) {
	t.Helper()
	if r.Loop != nil {
		return
	}
	for from, after := range n.after {
		for to := range after {
			if a, b := r.Number(from.sw, from.port, from.lane), r.Number(to.sw, to.port, to.lane); a >= b {
				t.Fatalf("from %+v to %+v: number %d, then %d", from, to, a, b)
			}
		}
	}
}

// compare fails the test unless the search finds what the naive one does.
func (s *subnet) compare(t *testing.T, traffic Traffic, since *Report) *Report {
	t.Helper()
	r, n := s.find(t, traffic, since), s.search(traffic)
	s.mustHold(t, traffic, r)
	if loop := n.hasLoop(); loop != (r.Loop != nil) {
		t.Fatalf("traffic %d: found %+v; the naive search: %v", traffic, r.Loop, loop)
	}
	if (len(r.Findings) == 0) != (len(n.stops) == 0) || len(r.Findings) < min(len(n.stops), MaxFindings) && s.before == nil {
		t.Fatalf("traffic %d: found %+v; the naive search: %v", traffic, r.Findings, n.stops)
	}
	s.mustProve(t, n, r)
	return r
}

// cases is how many random subnets are searched.
func cases() int {
	if os.Getenv("IBSM_PROOF") != "" {
		return 10_000
	}
	return 300
}

// TestNaive compares with the naive search on random tables, SLs, mapping tables, lanes and groups,
// and with what was found before one of them was spoilt.
func TestNaive(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 1))
	var subnets []*subnet
	for _, spec := range []string{"fattree:k=4", "torus:dims=4x3,hosts=1", "mesh:dims=1x5,hosts=2", "random:switches=10,degree=3,hosts=1", "torus:dims=5,hosts=1"} {
		subnets = append(subnets, newSubnet(t, spec))
	}
	var free, loops, kept, findings int
	for done := 0; done < cases(); {
		s := subnets[rng.IntN(len(subnets))].changed()
		s.vary(rng)
		var last [2]*Report
		for range 4 {
			for _, traffic := range []Traffic{BetweenHosts, All} {
				r := s.compare(t, traffic, last[traffic])
				findings += len(r.Findings)
				switch {
				case r.Loop != nil:
					loops++
				case last[traffic] != nil && last[traffic].number != nil && &last[traffic].number[0] == &r.number[0]:
					kept++
				default:
					free++
				}
				last[traffic] = r
				done++
			}
			s = s.changed()
			s.spoil(rng)
		}
	}
	t.Logf("seed %d: %d without a loop, %d with one, %d without by the numbers of before; %d findings", seed, free, loops, kept, findings)
	if free == 0 || loops == 0 || kept == 0 || findings == 0 {
		t.Error("some case did not happen")
	}
}

// TestNaiveBefore does the same for switches that have the tables of before or new ones.
func TestNaiveBefore(t *testing.T) {
	const seed = 8
	rng := rand.New(rand.NewPCG(seed, 1))
	var free, loops int
	for _, spec := range []string{"fattree:k=4", "torus:dims=4x3,hosts=1", "mesh:dims=1x5,hosts=2"} {
		base := newSubnet(t, spec)
		for range cases() / 12 {
			s := base.changed()
			s.vary(rng)
			s.before = s.changed()
			for range 1 + rng.IntN(4) {
				s.before.spoil(rng)
			}
			for _, traffic := range []Traffic{BetweenHosts, All} {
				if s.compare(t, traffic, nil).Loop != nil {
					loops++
				} else {
					free++
				}
			}
		}
	}
	t.Logf("seed %d: %d without a loop, %d with one", seed, free, loops)
	if free == 0 || loops == 0 {
		t.Error("some case did not happen")
	}
}
