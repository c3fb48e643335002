package creditloop

import (
	"context"
	"slices"

	"ibsm/topo"
)

// keepsOrder reports whether the numbers of the channels in an earlier report prove these
// tables too: the routes that have changed lead to higher numbers as well.
func (g *graph) keepsOrder(ctx context.Context, since *Report) (bool, error) {
	if since == nil || len(since.number) != g.lanes*len(g.next) || since.graph.ports != g.ports || since.graph.sls != g.sls {
		return false, nil
	}
	was := since.graph
	for i, s := range g.sources {
		at, is := slices.BinarySearch(was.sources, s)
		if !is || g.sls != nil && !slices.Equal(was.rows[at], g.rows[i]) {
			return false, nil
		}
	}
	changed := g.Changed(was.Forwarding)
	for lid, is := range g.dests {
		if is && (lid >= len(was.dests) || !was.dests[lid]) {
			changed.Add(lid)
		}
	}
	if err := g.follow(ctx, changed); err != nil {
		return false, err
	}
	rises := true
	for from, number := range since.number {
		g.each(from, func(to int) { rises = rises && number < since.number[to] })
	}
	clear(g.deps)
	return rises, nil
}

// order numbers the channels so that packets come to higher numbers only. Where that cannot be,
// it returns those that have no number, by channel; others are 0.
func (g *graph) order() (number, waiting []int32) {
	n := g.lanes * len(g.next)
	number, waiting = make([]int32, n), make([]int32, n)
	for from := range n {
		g.each(from, func(to int) { waiting[to]++ })
	}
	queue := make([]int32, 0, n)
	for c, before := range waiting {
		if before == 0 {
			queue = append(queue, int32(c))
		}
	}
	for i := 0; i < len(queue); i++ {
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
		loop = append(loop, g.witness(int(before[to]), to))
	}
	slices.Reverse(loop)
	return loop
}
