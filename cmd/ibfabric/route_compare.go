package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/atomicfile"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/quality"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

const (
	bisections = 50
	draws      = 5 // of what is missing
)

// attempt is what an engine made of one draw.
type attempt struct {
	quality.Figures
	rails float64 // mean shift within rails
	took  float64 // seconds
	lost  int     // pairs of switch and LID without a route, although there are cables
	loop  bool    // between hosts
}

// compare prints a table of the engines, with more and more cables missing.
func (r *route) compare(ctx context.Context, in routing.In) error {
	fmt.Fprintf(r.out, "\n%-8s %-10s %8s %8s %13s %7s %9s %9s %7s %6s %7s %10s %6s\n", "missing", "engine", "seconds",
		"lost", "credit loops", "unused", "mean", "fullest", "shift", "worst", "rails", "bisection", "cut")
	var points []point
	for _, percent := range r.missing {
		for _, name := range r.engines {
			of, refused, err := r.tries(ctx, in, name, percent)
			if err != nil {
				return err
			}
			points = append(points, point{name, percent, of})
			share := fmt.Sprintf("%d%%", percent)
			if len(of) == 0 {
				fmt.Fprintf(r.out, "%-8s %-10s refuses: %v\n", share, name, refused)
				continue
			}
			within := "-"
			if len(r.rails.Rails) > 0 {
				within = fmt.Sprintf("%.2f", quality.Median(of, func(a attempt) float64 { return a.rails }))
			}
			cut := "-"
			if of[0].Several > 0 {
				cut = fmt.Sprintf("%.1f%%", 100*quality.Median(of, func(a attempt) float64 { return a.Cut }))
			}
			fmt.Fprintf(r.out, "%-8s %-10s %8.3f %8d %13s %7d %9.1f %9d %7.2f %6d %7s %10.3f %6s\n", share, name,
				quality.Median(of, func(a attempt) float64 {
					return a.took
				}), quality.Median(of, func(a attempt) int {
					return a.lost
				}), fmt.Sprintf("%d of %d", loops(of), len(of)),
				quality.Median(of, func(a attempt) int {
					return a.Unused
				}), quality.Median(of, func(a attempt) float64 { return a.Mean }),
				quality.Median(of, func(a attempt) uint32 {
					return a.Fullest
				}), quality.Median(of, func(a attempt) float64 { return a.Shift }),
				quality.Median(of, func(a attempt) uint32 {
					return a.Worst
				}), within, quality.Median(of, func(a attempt) float64 {
					return a.Bisection
				}), cut)
		}
	}
	fmt.Fprint(r.out, compared)
	if r.plot == "" {
		return nil
	}
	return atomicfile.Write(r.plot, 0o666, plot(r.engines, r.missing, points))
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
rails         the mean of shifts within rails, all rails at once, each to the port so many places after it
bisection     share of the bandwidth of a link that flows have while half of the hosts send to the other half
cut           share of the hosts with several ports or LIDs that the loss of one switch above leaves cuts off
              from a leaf, on average over leaves
`

// tries are the figures of an engine for each draw of what is missing, without those that it refuses.
func (r *route) tries(ctx context.Context, in routing.In, name string, percent int) (of []attempt, refused, err error) {
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
		a := attempt{took: took.Seconds()}
		if a.Figures, err = quality.Measure(ctx, damaged, tables.LFT, quality.Hosts(damaged.Topo, damaged.LIDs),
			bisections); err != nil {
			return nil, nil, err
		}
		within, err := quality.WithinRails(ctx, damaged, tables.LFT, r.rails)
		if err != nil {
			return nil, nil, err
		}
		a.rails = within.Shift
		report, err := verify.Check(ctx, 0, damaged.Topo, damaged.LIDs, tables, nil)
		if err != nil {
			return nil, nil, err
		}
		found, err := findLoop(ctx, damaged, report, tables, creditloop.BetweenHosts)
		if err != nil {
			return nil, nil, err
		}
		a.lost, a.loop = report.Bad(), found.Loop != nil
		of = append(of, a)
	}
	return of, refused, nil
}

// without is a subnet in which a share of the cables between switches, in percent, is missing.
func without(t *topo.Topo, percent int, draw uint64) *topo.Topo {
	after := *t
	after.Ports = slices.Clone(t.Ports)
	var cables []topo.PortIdx // by one end
	for p := range t.Ports {
		if p := topo.PortIdx(p); t.BetweenSwitches(p) && t.Ports[p].Peer > p {
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
			return nil, fmt.Errorf("%q: expected a share from 0%% to 100%%", end)
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

// loops is how many attempts have a credit loop.
func loops(of []attempt) (count int) {
	for _, a := range of {
		if a.loop {
			count++
		}
	}
	return count
}
