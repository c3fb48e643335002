package main

import (
	"fmt"
	"strconv"
	"strings"

	"ibsm/ctl"
)

// timesRow is how long answers of one way took, between the two looks and since the start.
type timesRow struct {
	way         string
	lately, all []ctl.TimeBucket
	rate        float64
	total       uint64
}

// times are the ways to an answer on which there was one since the start.
func (v *topView) times() (rows []timesRow) {
	for _, now := range v.now.SA.Times {
		r := timesRow{way: now.Way, all: now.Buckets, total: now.Count, rate: v.rate(func(a *ctl.Activity) uint64 {
			return timesOf(a, now.Way).Count
		})}
		if v.was != nil {
			r.lately = grown(timesOf(v.was, now.Way).Buckets, now.Buckets)
		}
		rows = append(rows, r)
	}
	return rows
}

// timesOf are those of one way, none where there was no answer.
func timesOf(a *ctl.Activity, way string) ctl.SATimes {
	for _, t := range a.SA.Times {
		if t.Way == way {
			return t
		}
	}
	return ctl.SATimes{}
}

// grown returns the new counts since the previous request.
func grown(was, now []ctl.TimeBucket) (more []ctl.TimeBucket) {
	before := map[float64]uint64{}
	for _, b := range was {
		before[b.Over] = b.Count
	}
	for _, b := range now {
		if n := before[b.Over]; n > b.Count { // a manager that began anew
			return now
		} else if b.Count -= n; b.Count > 0 {
			more = append(more, b)
		}
	}
	return more
}

// timesText is how long answers took between the two looks, "" where there was none.
func (v *topView) timesText() string {
	var ways []string
	for _, r := range v.times() {
		if r.lately != nil {
			ways = append(ways, r.way+" "+quantile(r.lately, 0.5)+" "+quantile(r.lately, 0.99))
		}
	}
	if ways == nil {
		return ""
	}
	return "p50 p99  " + strings.Join(ways, ", ")
}

// timesTable is how long answers took.
func (v *topView) timesTable(width int) []line {
	rows := v.times()
	if rows == nil {
		return nil
	}
	t := &table{columns: []column{{head: "RESPONSES TO"}, {head: "PER SECOND", right: true}, {head: "P50", right: true},
		{head: "P99", right: true},
		{head: "TOTAL", right: true}, {head: "P50", right: true}, {head: "P99", right: true}}}
	for _, r := range rows {
		t.add(r.way, rateText(r.rate), quantile(r.lately, 0.5), quantile(r.lately, 0.99),
			strconv.FormatUint(r.total, 10), quantile(r.all, 0.5), quantile(r.all, 0.99))
	}
	return append(tableLines(t, width), line{})
}

// quantile is one in few characters, "-" of nothing.
func quantile(buckets []ctl.TimeBucket, q float64) string {
	if len(buckets) == 0 {
		return "-"
	}
	return shortTime(ctl.Quantile(buckets, q))
}

// shortTime is a time in seconds in two digits or so, and a unit.
func shortTime(seconds float64) string {
	switch {
	case seconds < 1e-3:
		return twoDigits(seconds*1e6) + "us"
	case seconds < 1:
		return twoDigits(seconds*1e3) + "ms"
	}
	return twoDigits(seconds) + "s"
}

func twoDigits(x float64) string {
	if x < 9.95 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
	}
	return fmt.Sprintf("%.0f", x)
}
