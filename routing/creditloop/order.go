package creditloop

import (
	"context"
	"math/bits"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// descents are, in ascending order, the switches from which packets to LIDs with changed routes reach a channel with a
// lower number, by the numbers of an earlier report. If there are none, these numbers prove the new tables too: they
// are those of the returned report, which has the switches of g. The report is nil if the numbers say nothing about the
// new tables.
func (g *graph) descents(ctx context.Context, since *Report) (from []topo.SwitchIdx, by *Report, err error) {
	if since != nil {
		since = since.by(g)
	}
	if since == nil || !g.comparable(since) {
		return nil, nil, nil
	}
	changed, known := g.turns(ctx, since)
	if !known {
		return nil, nil, nil
	}
	for lid, is := range g.dests {
		if is && (lid >= len(since.graph.dests) || !since.graph.dests[lid]) {
			changed.Add(lid)
		}
	}
	g.followed = changed
	if err := g.follow(ctx, changed); err != nil {
		return nil, nil, err
	}
	return g.descending(since), since, nil
}

// descending are, in ascending order, the switches of channels from which some packets go on to a lower number of an
// earlier report.
func (g *graph) descending(since *Report) (from []topo.SwitchIdx) {
	rises, number := true, int32(0)
	compare := func(to int) { rises = rises && number < since.number[to] }
	for c := range since.number {
		rises, number = true, since.number[c]
		if g.each(c, compare); !rises {
			from = append(from, topo.SwitchIdx(c%len(g.next)/g.ports))
		}
	}
	slices.Sort(from)
	return slices.Compact(from)
}

// add adds the dependencies of an earlier report, which has the same channels.
func (g *graph) add(since *Report) {
	for c, next := range since.graph.next {
		if next != g.next[c] {
			continue // they are of other channels now
		}
		for class := range g.classCount(topo.SwitchIdx(c / g.ports)) {
			at := g.stream(topo.SwitchIdx(c/g.ports), uint8(c%g.ports), uint8(class)) * g.sls * g.words
			for i, word := range since.graph.deps[at:][:g.sls*g.words] {
				g.deps[at+i] |= word
			}
		}
	}
}

// comparable reports whether packets to LIDs whose routes have not changed are on the lanes that
// they were on in an earlier report without a loop and findings, and by the rules of before as well.
func (g *graph) comparable(since *Report) bool {
	was := since.graph
	if len(since.number) != g.lanes*len(g.next) || was.ports != g.ports || len(since.Findings) > 0 ||
		was.SLs != g.SLs || was.sls != g.sls || len(was.rules) > 1 {
		return false
	}
	if before := g.rules[len(g.rules)-1]; before.SLs != g.SLs || before.Maps != g.Maps {
		return false
	}
	if g.checked() != was.checked() || g.checked() &&
		(g.Maps != was.Maps || g.Topo != was.Topo && !g.Topo.Equal(was.Topo) || !slices.Equal(g.Lanes, was.Lanes) ||
			!slices.Equal(g.Turns, was.Turns)) {
		return false
	}
	for i := range g.sources {
		s := &g.sources[i]
		if was.Forwarding.Added(s.at) {
			continue // all entries there are others, and are looked at
		}
		at, is := slices.BinarySearchFunc(was.sources, was.input(s.at, s.class), func(o source, input int) int {
			return was.input(o.at, o.class) - input
		})
		if !is || g.SLs != nil && !slices.EqualFunc(was.sources[at].flows, s.flows, func(a, b flow) bool {
			return a.rows[0] == b.rows[0]
		}) {
			return false
		}
	}
	return true
}

// each calls do for each channel on a lane that packets take after a channel on a lane.
func (g *graph) each(from int, do func(to int)) {
	lane, c := uint8(0), from
	for ; c >= len(g.next); c -= len(g.next) { // a division would take longer than the rest
		lane++
	}
	if g.next[c] < 0 || g.classes == nil && !anySet(g.deps[c*g.sls*g.words:][:g.sls*g.words]) {
		return
	}
	s, port := topo.SwitchIdx(c/g.ports), uint8(c%g.ports)
	for class := range g.classCount(s) {
		stream := g.stream(s, port, uint8(class))
		for sl := range uint8(g.sls) {
			if g.depends(stream, sl) && g.onLane(stream, sl, lane) {
				g.eachOf(c, stream, sl, do)
			}
		}
	}
}

// depends reports whether a stream's packets of an SL go on: where few routes are followed, most do not.
func (g *graph) depends(stream int, sl uint8) bool {
	return anySet(g.deps[(stream*g.sls+int(sl))*g.words:][:g.words])
}

func anySet(words []uint64) bool {
	for _, word := range words {
		if word != 0 {
			return true
		}
	}
	return false
}

// onLane reports whether a stream's packets of an SL are on a lane by any rules.
func (g *graph) onLane(stream int, sl, lane uint8) bool {
	return g.lane(0, stream, sl) == lane || len(g.rules) > 1 && g.lane(1, stream, sl) == lane
}

// eachOf is each for the packets of one SL in a stream.
func (g *graph) eachOf(c, stream int, sl uint8, do func(to int)) {
	next, class := g.next[c], g.after(c)
	for w, word := range g.deps[(stream*g.sls+int(sl))*g.words:][:g.words] {
		for ; word != 0; word &= word - 1 {
			port := uint8(64*w + bits.TrailingZeros64(word))
			to, last := g.stream(next, port, class), uint8(routing.DropVL)
			for i := range g.rules {
				if lane := g.lane(i, to, sl); lane != routing.DropVL && lane != last {
					do(int(lane)*len(g.next) + int(next)*g.ports + int(port))
					last = lane
				}
			}
		}
	}
}

// often is how many channels some milliseconds suffice for.
const often = 1 << 14

// order numbers the channels so that packets only reach higher numbers. If that is impossible, it returns the channels
// without a number, by channel; others are 0. The result is meaningless if ctx is done.
func (g *graph) order(ctx context.Context) (number, waiting []int32) {
	n := g.lanes * len(g.next)
	number, waiting = make([]int32, n), make([]int32, n)
	for from := range n {
		if from%often == 0 && ctx.Err() != nil {
			return nil, nil
		}
		g.each(from, func(to int) { waiting[to]++ })
	}
	queue := make([]int32, 0, n)
	for c, before := range waiting {
		if before == 0 {
			queue = append(queue, int32(c))
		}
	}
	for i := 0; i < len(queue); i++ {
		if i%often == 0 && ctx.Err() != nil {
			return nil, nil
		}
		number[queue[i]] = int32(i)
		g.each(int(queue[i]), func(to int) {
			if waiting[to]--; waiting[to] == 0 {
				queue = append(queue, int32(to))
			}
		})
	}
	if len(queue) == len(number) {
		return number, nil
	}
	return nil, waiting
}

// loop is a credit loop among the channels that wait for others, the shortest through one of
// them.
func (g *graph) loop(waiting []int32) []Channel {
	// A channel waits for one that waits: going back ends in a loop.
	before, at := make([]int32, len(waiting)), 0
	for from := range waiting {
		if waiting[from] > 0 {
			g.each(from, func(to int) { before[to] = int32(from) })
			at = from
		}
	}
	for range waiting {
		at = int(before[at])
	}
	for c := range before {
		before[c] = topo.None
	}
	for queue := []int32{int32(at)}; before[at] == topo.None; queue = queue[1:] {
		g.each(int(queue[0]), func(to int) {
			if before[to] == topo.None {
				before[to] = queue[0]
				queue = append(queue, int32(to))
			}
		})
	}
	var loop []Channel
	for to := at; len(loop) == 0 || to != at; to = int(before[to]) {
		loop = append(loop, g.channel(int(before[to]), to))
	}
	slices.Reverse(loop)
	return loop
}

// channel is one of a loop, from which packets go to another.
func (g *graph) channel(from, to int) Channel {
	lane, c := uint8(from/len(g.next)), from%len(g.next)
	s, port := topo.SwitchIdx(c/g.ports), uint8(c%g.ports)
	channel := Channel{Switch: s, Port: port, Lane: lane}
	for class := range uint8(g.classCount(s)) {
		stream := g.stream(s, port, class)
		for sl := range uint8(g.sls) {
			found := false
			if g.onLane(stream, sl, lane) {
				g.eachOf(c, stream, sl, func(next int) { found = found || next == to })
			}
			if found {
				channel.Flow = g.flow(s, port, class, sl, to%len(g.next)%g.ports)
				return channel
			}
		}
	}
	return channel
}
