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
	Base   float64 // of OpenSM, or of another ibsm
	IBSM   float64
	Ratio  float64
}

// figure is one number of a measurement.
type figure struct {
	name string
	// neutral says that runs on ibsim have this figure, too.
	neutral bool
	ofLost  bool // and so have those where a link is lost
	of      func(m *measurement) float64
}

var figures = []figure{
	{"user+system CPU, s", true, true, func(m *measurement) float64 { return m.User + m.System }},
	{"user CPU, s", true, false, func(m *measurement) float64 { return m.User }},
	{"system CPU, s", true, false, func(m *measurement) float64 { return m.System }},
	{"wall time, s", true, true, func(m *measurement) float64 { return m.Wall }},
	{"  to the first Set", false, false, func(m *measurement) float64 { return m.Phases.FirstSet }},
	{"  on to the first table", false, false, func(m *measurement) float64 { return m.Phases.FirstTable }},
	{"  on to the last table", false, false, func(m *measurement) float64 { return m.Phases.LastTable }},
	{"  on to the confirmation", false, false, func(m *measurement) float64 { return m.Phases.Confirmed }},
	{"peak memory, MB", true, false, func(m *measurement) float64 { return m.Memory }},
	{"SMPs", false, true, func(m *measurement) float64 { return float64(m.total()) }},
}

// compare puts the runs of one topology side by side.
func compare(all []measurement, spec string) (list []comparison) {
	for _, kind := range []string{"cold start", "takeover", lostLink, onIbsim} {
		var pairs [][2]*measurement // the base's and ours
		names := map[string]bool{}
		for i := range all {
			m := &all[i]
			if m.Spec != spec || m.Kind != kind {
				continue
			}
			for m.Run >= len(pairs) {
				pairs = append(pairs, [2]*measurement{})
			}
			who := 0
			if m.Manager == ibsm {
				who = 1
			}
			pairs[m.Run][who] = m
			for name := range m.SMPs {
				names[name] = true
			}
		}
		each := slices.Clone(figures)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			each = append(each, figure{"  " + name, false, true, func(m *measurement) float64 {
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
	return comparison{Kind: kind, Figure: strings.TrimSpace(f.name), Base: median(theirs), IBSM: median(ours),
		Ratio: median(ratios)}
}

// median of nothing is 0.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// printComparison writes the table. Of a figure that the base has none of there is no
// ratio.
func printComparison(w io.Writer, spec, base string, list []comparison) {
	kind := ""
	for _, c := range list {
		if c.Kind != kind {
			kind = c.Kind
			fmt.Fprintf(w, "\n%-28s %12s %12s %8s\n", kind+", "+spec, base, ibsm, "ratio")
		}
		ratio := "-"
		if c.Base > 0 {
			ratio = fmt.Sprintf("%.3f", c.Ratio)
		}
		fmt.Fprintf(w, "%-28s %12s %12s %8s\n", c.Figure, number(c.Base), number(c.IBSM), ratio)
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
