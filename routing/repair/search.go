package repair

import (
	"context"
	"slices"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// searcher joins switches to the tree of a LID by ways whose dependencies close no circle with those of all
// other routes.
type searcher struct {
	*joiner
	*look        // the LID in hand
	dependencies *creditloop.Dependencies
	unavoidable  []Route
	sources      []source // of hosts' packets to the LID in hand, nearest first
	state        []state  // by SwitchIdx
	links        []int32  // by SwitchIdx: to the LID in hand; of open switches those of the shortest way
	longer       []bool   // by source: a longer way may do where none was found
	steps        int      // of the search for the LID in hand
}

// source is a broken switch with hosts, and the SLs of their packets.
type source struct {
	at  topo.SwitchIdx
	sls uint16
}

// state is what a search for ways to a LID knows of a switch: open, settled, or from 1 on the number of the source
// whose way has it.
type state int32

const (
	settled state = 0
	open    state = -1
)

// maxSteps bounds the search for ways to one LID, and maxPassed the channels that all searches come by.
const (
	maxSteps  = 20_000
	maxPassed = 50_000_000
)

// hop is a channel on a way, port 0 of none.
type hop struct {
	at   topo.SwitchIdx
	port uint8
}

// joinLater joins switches to LIDs for which shortest ways in the order of the proof do not do. It returns
// the routes that can add a credit loop.
func (j *joiner) joinLater(ctx context.Context, later []target) ([]Route, error) {
	if len(later) == 0 {
		return nil, nil
	}
	d, err := creditloop.Follow(ctx, j.search())
	if err != nil {
		return nil, err
	}
	s := &searcher{joiner: j, dependencies: d, state: make([]state, len(j.own)), links: make([]int32, len(j.own))}
	l := newLooker(j)
	for _, t := range later {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		is := l.look(t)
		s.look = &is
		copy(s.links, l.links)
		s.join()
	}
	return s.unavoidable, nil
}

// join joins the broken switches of a LID: all without a circle if a search finds ways for all sources, or
// else as many as it finds ways for one by one.
func (s *searcher) join() {
	clear(s.state)
	s.sources, s.steps = s.sources[:0], 0
	for _, w := range s.ways {
		s.state[w.at] = open
		if sls := s.slsFrom(w.at, s.target); sls != 0 {
			s.sources = append(s.sources, source{w.at, sls})
		}
	}
	s.longer = slices.Grow(s.longer[:0], len(s.sources))[:len(s.sources)]
	var without []source
	if !s.solve(0) {
		for i := range s.sources {
			s.steps = 0
			if !s.lead(i, func() bool { return true }) {
				without = append(without, s.sources[i])
			}
		}
	}
	s.joinShortest(s.look, 0, 0)
	for _, from := range without {
		s.force(from)
	}
}

// spent reports whether the search takes too long.
func (s *searcher) spent() bool { return s.steps > maxSteps || s.dependencies.Passed > maxPassed }

// solve finds ways for all sources from one on.
func (s *searcher) solve(i int) bool {
	return i == len(s.sources) || s.lead(i, func() bool { return s.solve(i + 1) })
}

// lead finds a way for a source with which then succeeds, shorter ones first.
func (s *searcher) lead(i int, then func() bool) bool {
	for links := s.links[s.sources[i].at]; int(links) <= len(s.state) && !s.spent(); links++ {
		s.longer[i] = false
		first := s.dependencies.Added()
		if s.extend(i, s.sources[i].at, hop{}, links, then) {
			return true
		}
		if s.dependencies.Undo(first); !s.longer[i] {
			break
		}
	}
	return false
}

// extend leads a source's packets on from a switch, to which they came by a hop, over so many links.
func (s *searcher) extend(i int, at topo.SwitchIdx, last hop, links int32, then func() bool) bool {
	s.steps++
	if s.state[at] == state(i+1) || s.links[at] > links {
		s.longer[i] = s.longer[i] || s.state[at] != state(i+1) && s.links[at] != beyond
		return false
	}
	if s.state[at] != open {
		return s.links[at] == links && s.follow(i, at, last) && then()
	}
	shortest := s.links[at]
	s.state[at], s.links[at] = state(i+1), links
	for _, port := range s.byPreference(at) {
		first := s.dependencies.Added()
		s.place(at, s.target, port)
		if s.turn(i, last, port) && s.extend(i, s.tracer.Next(at, port), hop{at, port}, links-1, then) {
			return true
		}
		s.dependencies.Undo(first)
		if s.spent() {
			break
		}
	}
	s.place(at, s.target, routing.NoPath)
	s.state[at], s.links[at] = open, shortest
	return false
}

// follow adds what a source's packets do that come to a switch with a way.
func (s *searcher) follow(i int, at topo.SwitchIdx, last hop) bool {
	for at != s.Switch {
		port := s.tables.LFT[at][s.lid]
		if !s.turn(i, last, port) {
			return false
		}
		last, at = hop{at, port}, s.tracer.Next(at, port)
	}
	return true
}

// turn adds what a source's packets do after a hop, unless a circle would come of it.
func (s *searcher) turn(i int, last hop, port uint8) bool {
	fits := true
	s.eachTurn(s.sources[i].sls, last, port, func(t creditloop.Turn) { fits = fits && s.dependencies.Add(t) })
	return fits
}

func (s *searcher) eachTurn(sls uint16, last hop, port uint8, do func(t creditloop.Turn)) {
	for sl := range uint8(16) {
		if last.port != 0 && sls>>sl&1 != 0 {
			do(creditloop.Turn{SL: sl, Switch: last.at, Port: last.port, Next: port})
		}
	}
}

// byPreference are the ports of a switch that lead to others, the preferred ones first.
func (s *searcher) byPreference(at topo.SwitchIdx) []uint8 {
	before, count := s.repair.before(at, s.lid), &s.count[at]
	peers, ports := s.graph.Edges(at)
	like := func(e int) preference {
		return preference{ports[e] != before, s.siblings(s.tables.LFT[at], at, peers[e], s.Port), count[ports[e]]}
	}
	edges := make([]int, len(ports))
	for e := range edges {
		edges[e] = e
	}
	slices.SortStableFunc(edges, func(a, b int) int {
		switch {
		case like(a).less(like(b)):
			return -1
		case like(b).less(like(a)):
			return 1
		}
		return 0
	})
	sorted := make([]uint8, len(edges))
	for i, e := range edges {
		sorted[i] = ports[e]
	}
	return sorted
}

// force adds what packets of a source without a way do all the same, and notes whether a circle comes of it.
func (s *searcher) force(from source) {
	closes := false
	last := hop{}
	for at := from.at; at != s.Switch; {
		port := s.tables.LFT[at][s.lid]
		s.eachTurn(from.sls, last, port, func(t creditloop.Turn) {
			if s.dependencies.Passed <= maxPassed && !s.dependencies.Add(t) {
				s.dependencies.Force(t)
				closes = true
			}
		})
		last, at = hop{at, port}, s.tracer.Next(at, port)
	}
	if closes && len(s.unavoidable) < MaxUnavoidable {
		s.unavoidable = append(s.unavoidable, Route{from.at, s.lid})
	}
}
