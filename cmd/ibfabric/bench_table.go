package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// comparison is one figure of both managers: medians, and the median of the pairs'
// ratios.
type comparison struct {
	Kind   string
	Figure string
	OpenSM float64
	IBSM   float64
	Ratio  float64
	Bar    float64 // maximum ratio, 0 for none
}

// figure is one number of a measurement.
type figure struct {
	name string
	bar  float64 // of a cold start
	// neutral says that runs on ibsim have this figure, too.
	neutral bool
	ofLost  bool // and so have those where a link is lost
	of      func(m *measurement) float64
}

var figures = []figure{
	{"user+system CPU, s", 0.2, true, true, func(m *measurement) float64 { return m.User + m.System }},
	{"user CPU, s", 0.1, true, false, func(m *measurement) float64 { return m.User }},
	{"system CPU, s", 0, true, false, func(m *measurement) float64 { return m.System }},
	{"wall time, s", 0, true, true, func(m *measurement) float64 { return m.Wall }},
	{"  to the first Set", 0, false, false, func(m *measurement) float64 { return m.Phases.FirstSet }},
	{"  on to the first table", 0, false, false, func(m *measurement) float64 { return m.Phases.FirstTable }},
	{"  on to the last table", 0, false, false, func(m *measurement) float64 { return m.Phases.LastTable }},
	{"  on to the confirmation", 0, false, false, func(m *measurement) float64 { return m.Phases.Confirmed }},
	{"peak memory, MB", 0.25, true, false, func(m *measurement) float64 { return m.Memory }},
	{"SMPs", 1, false, true, func(m *measurement) float64 { return float64(m.total()) }},
}

// compare puts the runs of one topology side by side.
func compare(all []measurement, spec string) (list []comparison) {
	for _, kind := range []string{"cold start", "takeover", lostLink, onIbsim} {
		var pairs [][2]*measurement // OpenSM's and ours
		names := map[string]bool{}
		for i := range all {
			m := &all[i]
			if m.Spec != spec || m.Kind != kind {
				continue
			}
			for m.Run >= len(pairs) {
				pairs = append(pairs, [2]*measurement{})
			}
			who := 1
			if m.Manager == openSM {
				who = 0
			}
			pairs[m.Run][who] = m
			for name := range m.SMPs {
				names[name] = true
			}
		}
		each := slices.Clone(figures)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			each = append(each, figure{"  " + name, 0, false, true, func(m *measurement) float64 {
				return float64(m.SMPs[name])
			}})
		}
		for _, f := range each {
			if kind == onIbsim && !f.neutral || kind == lostLink && !f.ofLost {
				continue
			}
			list = append(list, f.compare(kind, pairs))
		}
	}
	return list
}

func (f figure) compare(kind string, pairs [][2]*measurement) comparison {
	var theirs, ours, ratios []float64
	for _, p := range pairs {
		a, b := f.of(p[0]), f.of(p[1])
		theirs, ours = append(theirs, a), append(ours, b)
		if a > 0 {
			ratios = append(ratios, b/a)
		}
	}
	c := comparison{Kind: kind, Figure: strings.TrimSpace(f.name), OpenSM: median(theirs), IBSM: median(ours),
		Ratio: median(ratios)}
	if kind == "cold start" || kind == onIbsim {
		c.Bar = f.bar
	}
	return c
}

// median of nothing is 0.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// printComparison writes the table. Of a figure that OpenSM has none of there is no
// ratio.
func printComparison(w io.Writer, spec string, list []comparison) {
	kind := ""
	for _, c := range list {
		if c.Kind != kind {
			kind = c.Kind
			fmt.Fprintf(w, "\n%-28s %12s %12s %8s  %s\n", kind+", "+spec, "OpenSM", "ibsm", "ratio", "bar")
		}
		ratio, bar := "-", ""
		if c.OpenSM > 0 {
			ratio = fmt.Sprintf("%.3f", c.Ratio)
		}
		if c.Bar > 0 {
			bar = fmt.Sprintf("%.2f", c.Bar)
			if c.Ratio > c.Bar {
				bar += " missed"
			}
		}
		fmt.Fprintf(w, "%-28s %12s %12s %8s  %s\n", c.Figure, number(c.OpenSM), number(c.IBSM), ratio, bar)
	}
	fmt.Fprintln(w)
}

// number prints counts whole and the rest with two decimals.
func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
