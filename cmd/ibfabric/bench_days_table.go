package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// dayFigure is one number of a bad day. Less is better.
type dayFigure struct {
	name   string
	width  int
	format string
	of     func(r *baddayRun) float64
}

var dayFigures = []dayFigure{
	{"silence, s", 12, "%.2f", func(r *baddayRun) float64 { return r.Silence }},
	{"p99, ms", 12, "%.1f", func(r *baddayRun) float64 { return r.P99 }},
	{"SMPs", 16, "%.0f", func(r *baddayRun) float64 { return float64(totalSMPs(r.SMPs)) }},
	{"CPU, s", 12, "%.2f", func(r *baddayRun) float64 { return r.CPU }},
	{"memory, MB", 10, "%.0f", func(r *baddayRun) float64 { return r.Memory }},
	{"whole, s", 13, "%.2f", func(r *baddayRun) float64 {
		if r.Whole < 0 {
			return wholeLate.Seconds()
		}
		return r.Whole
	}},
	{"given up", 10, "%.0f", func(r *baddayRun) float64 { return float64(r.GivenUp) }},
}

// printDaysHead writes the head of the table. A cell has two figures, first OpenSM's.
func printDaysHead(w io.Writer) {
	fmt.Fprintf(w, "%-18s", "OpenSM, ibsm")
	for _, f := range dayFigures {
		fmt.Fprintf(w, " %*s ", f.width, f.name)
	}
	fmt.Fprintln(w, " check")
}

// printDay writes a row, the medians of each manager's runs. A star marks where ibsm is worse.
func printDay(w io.Writer, byManager [][]baddayRun) {
	fmt.Fprintf(w, "%-18s", byManager[0][0].name())
	for _, f := range dayFigures {
		var cells []string
		var medians []float64
		for _, runs := range byManager {
			var all []float64
			for i := range runs {
				all = append(all, f.of(&runs[i]))
			}
			medians = append(medians, median(all))
			cells = append(cells, fmt.Sprintf(f.format, median(all)))
		}
		worse := " "
		if len(medians) == 2 && medians[1] > medians[0] {
			worse = "*"
		}
		fmt.Fprintf(w, " %*s%s", f.width, strings.Join(cells, ", "), worse)
	}
	var checks []string
	for _, r := range slices.Concat(byManager...) {
		if r.Check != "" {
			checks = append(checks, r.Manager+": "+r.Check)
		}
	}
	fmt.Fprintln(w, " "+strings.Join(checks, "; "))
}
