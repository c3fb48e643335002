package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/quality"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

const (
	mostShifts = 200
	bisections = 50
	draws      = 5 // of what is missing
)

// routeFigures are how good routes are.
type routeFigures struct {
	took          float64 // seconds
	lost          int     // pairs of switch and LID without a route, although there are cables
	loops         int     // 1 if there is a credit loop between hosts
	links, unused int     // directions of links between switches
	mean          float64 // routes between hosts on a link
	fullest       uint32
	shifts        int
	shift         float64 // flows on the fullest link, on average over shifts
	worst         uint32
	bisection     float64 // share of the bandwidth of a link that a flow has
}

// measure finds all figures but those of the proof.
func measure(ctx context.Context, in routing.In, tables *routing.Tables) (f routeFigures, err error) {
	loads, err := quality.Loads(ctx, 0, in.Topo, in.LIDs, tables.LFT)
	if err != nil {
		return f, err
	}
	sum := 0
	for p, n := range loads {
		if !betweenSwitches(in.Topo, topo.PortIdx(p)) {
			continue
		}
		f.links++
		sum += int(n)
		f.fullest = max(f.fullest, n)
		if n == 0 {
			f.unused++
		}
	}
	f.mean = float64(sum) / float64(max(1, f.links))
	hosts, flows := quality.Hosts(in.Topo, in.LIDs), quality.NewFlows(in.Topo, in.LIDs, tables.LFT)
	step := 1 + (len(hosts)-2)/mostShifts
	for by := 1; by < len(hosts); by += step {
		n := flows.Shift(hosts, by)
		f.shifts, f.worst, f.shift = f.shifts+1, max(f.worst, n), f.shift+float64(n)
	}
	f.shift /= float64(max(1, f.shifts))
	rng := rand.New(rand.NewPCG(1, 1))
	for range bisections {
		f.bisection += flows.Bisection(hosts, rng) / bisections
	}
	return f, ctx.Err()
}

// betweenSwitches reports whether a port has a cable to another switch.
func betweenSwitches(t *topo.Topo, p topo.PortIdx) bool {
	peer := t.Ports[p].Peer
	return peer != topo.None && t.IsSwitchPort(p) && t.IsSwitchPort(peer)
}

// compare prints a table of the engines, with more and more cables missing.
func (r *route) compare(ctx context.Context, in routing.In) error {
	percents, err := shares(r.missing)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "\n%-8s %-10s %8s %8s %13s %7s %9s %9s %7s %6s %10s\n", "missing", "engine", "seconds", "lost", "credit loops", "unused", "mean", "fullest", "shift", "worst", "bisection")
	for _, percent := range percents {
		for _, name := range r.engines {
			of, refused, err := r.tries(ctx, in, name, percent)
			if err != nil {
				return err
			}
			share := fmt.Sprintf("%d%%", percent)
			if len(of) == 0 {
				fmt.Fprintf(r.out, "%-8s %-10s refuses: %v\n", share, name, refused)
				continue
			}
			fmt.Fprintf(r.out, "%-8s %-10s %8.3f %8d %13s %7d %9.1f %9d %7.2f %6d %10.3f\n", share, name,
				middle(of, func(f routeFigures) float64 { return f.took }), middle(of, func(f routeFigures) int { return f.lost }), fmt.Sprintf("%d of %d", total(of), len(of)),
				middle(of, func(f routeFigures) int { return f.unused }), middle(of, func(f routeFigures) float64 { return f.mean }),
				middle(of, func(f routeFigures) uint32 { return f.fullest }), middle(of, func(f routeFigures) float64 { return f.shift }),
				middle(of, func(f routeFigures) uint32 { return f.worst }), middle(of, func(f routeFigures) float64 { return f.bisection }))
		}
	}
	fmt.Fprint(r.out, compared)
	return nil
}

// compared says what the columns of the table are.
const compared = `
seconds       the engine alone
lost          pairs of switch and LID without a route, although there are cables
credit loops  draws in which routes between hosts have one
unused        directions of links between switches without routes between hosts
mean, fullest routes between hosts on such links: the mean, and the most
shift, worst  flows on the fullest link while each host sends to the one so many LIDs after it: the mean
              over shifts, and the most
bisection     share of the bandwidth of a link that flows have while half of the hosts send to the other half
`

// tries are the figures of an engine for each draw of what is missing, without those that it refuses.
func (r *route) tries(ctx context.Context, in routing.In, name string, percent int) (of []routeFigures, refused, err error) {
	e, _ := engines.Find(name, &r.settings)
	for draw := range uint64(draws) {
		if percent == 0 && draw > 0 {
			break
		}
		damaged := in
		damaged.Topo = without(in.Topo, percent, draw)
		start := time.Now()
		tables, err := e.Route(ctx, damaged)
		took := time.Since(start)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			refused = err
			continue
		}
		f, err := measure(ctx, damaged, tables)
		if err != nil {
			return nil, nil, err
		}
		report, err := verify.Check(ctx, 0, damaged.Topo, damaged.LIDs, tables, nil)
		if err != nil {
			return nil, nil, err
		}
		loop, err := creditloop.Find(ctx, creditloop.In{Topo: damaged.Topo, LIDs: damaged.LIDs, Forwarding: report.Forwarding(), SLs: tables.SLs, Maps: tables.SLs.Lanes()})
		if err != nil {
			return nil, nil, err
		}
		if loop.Loop != nil {
			f.loops = 1
		}
		f.took, f.lost = took.Seconds(), report.Bad()
		of = append(of, f)
	}
	return of, refused, nil
}

// without is a subnet in which a share of the cables between switches, in percent, is missing.
func without(t *topo.Topo, percent int, draw uint64) *topo.Topo {
	after := *t
	after.Ports = slices.Clone(t.Ports)
	var cables []topo.PortIdx // by one end
	for p := range t.Ports {
		if p := topo.PortIdx(p); betweenSwitches(t, p) && t.Ports[p].Peer > p {
			cables = append(cables, p)
		}
	}
	rng := rand.New(rand.NewPCG(draw, 1))
	rng.Shuffle(len(cables), func(i, j int) { cables[i], cables[j] = cables[j], cables[i] })
	for _, p := range cables[:(len(cables)*percent+50)/100] {
		after.Ports[after.Ports[p].Peer].Peer, after.Ports[p].Peer = topo.None, topo.None
	}
	return &after
}

// shares are the steps of a range such as 0%..10%, in percent; none of "".
func shares(text string) (steps []int, err error) {
	if text == "" {
		return nil, nil
	}
	from, to, several := strings.Cut(text, "..")
	if !several {
		to = from
	}
	var ends [2]int
	for i, end := range []string{from, to} {
		digits, is := strings.CutSuffix(end, "%")
		n, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || !is || n > 100 {
			return nil, fmt.Errorf("%q is no share of 0%% to 100%%", end)
		}
		ends[i] = int(n)
	}
	if ends[0] > ends[1] {
		return nil, errors.New("the first share is greater than the last")
	}
	for _, step := range []int{0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75} {
		if step > ends[0] && step < ends[1] {
			steps = append(steps, step)
		}
	}
	return slices.Compact(append(append([]int{ends[0]}, steps...), ends[1])), nil
}

func total(of []routeFigures) (loops int) {
	for _, f := range of {
		loops += f.loops
	}
	return loops
}

func middle[T cmp.Ordered](of []routeFigures, figure func(routeFigures) T) T {
	var values []T
	for _, f := range of {
		values = append(values, figure(f))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
