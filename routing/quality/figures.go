package quality

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"ibsm/routing"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// Figures are how good forwarding tables are.
type Figures struct {
	Links, Unused int     // directions of links between switches; those without routes between hosts
	Mean          float64 // routes between hosts on such a link
	Fullest       uint32  // and on the link that has most
	Shifts        int     // that were tried
	Shift         float64 // flows on the fullest link, on average over shifts
	Worst         uint32  // and of the worst shift
	Bisection     float64 // share of the bandwidth of a link that a flow has, on average over bisections
	Several       int     // hosts with several LIDs, of one port or several
	// share of them that the loss of one switch above leaves cuts from a leaf, on average over leaves
	Cut float64
}

// mostShifts is about how many shifts are tried.
const mostShifts = 200

// Measure finds the figures of forwarding tables, with shifts among hosts in the order given, and so many bisections of
// them, which are always the same ones. The error is that of ctx.
func Measure(ctx context.Context, in routing.In, rows [][]uint8, hosts []topo.PortIdx, bisections int) (f Figures,
	err error) {
	loads, err := Loads(ctx, in, rows)
	if err != nil {
		return f, err
	}
	if f, err = Patterns(ctx, in, rows, hosts, bisections); err != nil {
		return f, err
	}
	sum := 0
	for p, n := range loads {
		if !in.Topo.BetweenSwitches(topo.PortIdx(p)) {
			continue
		}
		f.Links++
		sum += int(n)
		f.Fullest = max(f.Fullest, n)
		if n == 0 {
			f.Unused++
		}
	}
	f.Mean = float64(sum) / float64(max(1, f.Links))
	f.Several, f.Cut, err = cut(ctx, in, rows)
	return f, err
}

// Patterns are the figures of shifts and bisections alone.
func Patterns(ctx context.Context, in routing.In, rows [][]uint8, hosts []topo.PortIdx, bisections int) (f Figures,
	err error) {
	flows := NewFlows(in.Topo, in.LIDs, rows)
	f.shifts(ctx, flows, hosts)
	rng := rand.New(rand.NewPCG(1, 1))
	for range bisections {
		if ctx.Err() != nil {
			break
		}
		f.Bisection += flows.Bisection(hosts, rng)
	}
	f.Bisection /= float64(max(1, bisections))
	return f, ctx.Err()
}

// shifts are the figures of shifts within each of some lists of hosts, all at once.
func (f *Figures) shifts(ctx context.Context, flows *Flows, lists ...[]topo.PortIdx) {
	longest := 0
	for _, hosts := range lists {
		longest = max(longest, len(hosts))
	}
	step := 1 + max(0, longest-2)/mostShifts
	for by := 1; by < longest && ctx.Err() == nil; by += step {
		n := flows.Shift(by, lists...)
		f.Shifts, f.Worst, f.Shift = f.Shifts+1, max(f.Worst, n), f.Shift+float64(n)
	}
	f.Shift /= float64(max(1, f.Shifts))
}

// WithinRails are the figures of shifts within the rails of a subnet, all rails at once: each port sends to the one
// that is so many places after it in its own rail.
func WithinRails(ctx context.Context, in routing.In, rows [][]uint8, r *rails.Rails) (f Figures, err error) {
	var lists [][]topo.PortIdx
	for i := range r.Rails {
		var ports []topo.PortIdx
		for _, p := range r.Rails[i].Ports {
			if in.LIDs.Base[p] != 0 {
				ports = append(ports, p)
			}
		}
		if len(ports) > 0 {
			lists = append(lists, ports)
		}
	}
	f.shifts(ctx, NewFlows(in.Topo, in.LIDs, rows), lists...)
	return f, ctx.Err()
}

// mostPartitions is how many partitions Tenants measures: the first ones.
const mostPartitions = 64

// Tenants are the figures of a subnet with tenants: the routes on the fullest link among those that carry something,
// and the mean of shifts within each partition by itself, of hosts in the order given, on average over partitions.
func Tenants(ctx context.Context, in routing.In, rows [][]uint8, hosts []topo.PortIdx) (fullest uint32, shift float64,
	err error) {
	loads, err := Loads(ctx, in, rows)
	if err != nil {
		return 0, 0, err
	}
	for p, n := range loads {
		if in.Topo.BetweenSwitches(topo.PortIdx(p)) {
			fullest = max(fullest, n)
		}
	}
	flows, partitions := NewFlows(in.Topo, in.LIDs, rows), in.Tenants.Members(hosts)
	partitions = partitions[:min(len(partitions), mostPartitions)]
	for _, members := range partitions {
		var f Figures
		f.shifts(ctx, flows, members)
		shift += f.Shift / float64(len(partitions))
	}
	return fullest, shift, ctx.Err()
}

// Median is the middle one of a figure of something, the greater one of two. There must be one.
func Median[T any, F cmp.Ordered](of []T, figure func(T) F) F {
	var values []F
	for _, t := range of {
		values = append(values, figure(t))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
