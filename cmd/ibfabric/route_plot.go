package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"

	"ibsm/routing/quality"
)

// point is what an engine made of a share of missing cables: the middle one of each figure of the draws.
type point struct {
	engine  string
	percent int
	of      []attempt // none where the engine refuses
}

// panel is one chart: a figure by the share of cables that are missing.
type panel struct {
	title, meaning string
	figure         func(a attempt) float64
}

// panels are the charts for what was measured. Hosts with several LIDs, and rails, have one of their own.
func panels(points []point) []panel {
	all := []panel{
		{"Fullest link", "routes on it, as a multiple of the mean", func(a attempt) float64 {
			return float64(a.Fullest) / max(1, a.Mean)
		}},
		{"Unused links", "percent of their directions", func(a attempt) float64 {
			return 100 * float64(a.Unused) / float64(max(1, a.Links))
		}},
		{"Shifts", "flows on the fullest link, mean", func(a attempt) float64 { return a.Shift }},
		{"Bisection", "share of a link's bandwidth", func(a attempt) float64 { return a.Bisection }},
	}
	has := func(what func(a attempt) bool) bool {
		return slices.ContainsFunc(points, func(p point) bool { return slices.ContainsFunc(p.of, what) })
	}
	if has(func(a attempt) bool { return a.rails > 0 }) {
		all = append(all, panel{"Shifts within rails", "flows on the fullest link, mean", func(a attempt) float64 {
			return a.rails
		}})
	}
	if has(func(a attempt) bool { return a.Several > 0 }) {
		all = append(all, panel{"Cut by one switch", "percent of hosts with several LIDs", func(a attempt) float64 {
			return 100 * a.Cut
		}})
	}
	return all
}

// Sizes in pixels.
const (
	panelWidth, panelHeight = 250, 150
	plotLeft, plotTop       = 34, 40
	plotWidth, plotHeight   = 190, 80
	legendHeight            = 24 // of a row
	legendColumns           = 5
	legendWidth             = 90
)

// dashes and marks distinguish as many engines without colours.
var (
	dashes = []string{"", "6 3", "2 2", "8 2 2 2", "1 3", "12 4"}
	marks  = []string{`<circle r="3"/>`, `<rect x="-3" y="-3" width="6" height="6"/>`, `<path d="M0 -4L4 3L-4 3Z"/>`,
		`<path d="M-3 -3L3 3M3 -3L-3 3"/>`, `<circle r="3" fill="#fff"/>`, `<path d="M0 -4L4 0L0 4L-4 0Z"/>`}
)

// plot draws the figures of engines by the share of missing cables, of len(marks) at most, in shades of no colour:
// lines differ by dashes and marks.
func plot(engines []string, shares []int, points []point) []byte {
	all := panels(points)
	legend := (len(engines) + legendColumns - 1) / legendColumns * legendHeight
	width, height := 2*panelWidth, (len(all)+1)/2*panelHeight+legend
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`+"\n",
		width, height)
	b.WriteString(
		`<style>text{font:10px sans-serif;fill:#222}.h{font-size:12px;font-weight:bold}.e{text-anchor:end}.m{text-anchor:middle}path,circle,rect{stroke:#222;fill:none}.a{stroke:#999}.k circle,.k rect{fill:#222}</style>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" style="fill:#fff;stroke:none"/>`+"\n", width, height)
	for i, name := range engines {
		x, y := 10+i%legendColumns*legendWidth, 12+i/legendColumns*legendHeight
		fmt.Fprintf(
			&b, `<path d="M%d %dh30" stroke-dasharray="%s"/><g class="k" transform="translate(%d %d)">%s</g><text x="%d" y="%d">`, x, y, dashes[i], x+15, y, marks[i], x+35, y+4)
		xml.EscapeText(&b, []byte(name))
		b.WriteString("</text>\n")
	}
	for i, p := range all {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%2*panelWidth, legend+i/2*panelHeight)
		p.draw(&b, engines, shares, points)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// draw draws one chart.
func (p *panel) draw(b *bytes.Buffer, engines []string, shares []int, points []point) {
	most := 0.0
	value := func(at point) float64 { return quality.Median(at.of, p.figure) }
	for _, at := range points {
		if len(at.of) > 0 {
			most = max(most, value(at))
		}
	}
	top := nice(most)
	last := float64(max(1, shares[len(shares)-1]-shares[0]))
	x := func(percent int) float64 { return plotLeft + float64(percent-shares[0])/last*plotWidth }
	y := func(v float64) float64 { return plotTop + plotHeight*(1-v/top) }
	fmt.Fprintf(b, `<text x="%d" y="14" class="h">%s</text><text x="%[1]d" y="28">%[3]s</text>`+"\n", plotLeft, p.title,
		p.meaning)
	for i := range 3 {
		v := top * float64(i) / 2
		fmt.Fprintf(b, `<path class="a" d="M%d %sh%d"/><text x="%d" y="%s" class="e">%s</text>`+"\n", plotLeft,
			tenth(y(v)), plotWidth, plotLeft-4, tenth(y(v)+3), strconv.FormatFloat(v, 'g', 3, 64))
	}
	for _, share := range shares {
		fmt.Fprintf(b, `<text x="%s" y="%d" class="m">%d%%</text>`, tenth(x(share)), plotTop+plotHeight+13, share)
	}
	b.WriteByte('\n')
	for i, name := range engines {
		way, pen := "", 'M'
		var marked bytes.Buffer
		for _, at := range points {
			switch {
			case at.engine != name:
			case len(at.of) == 0:
				pen = 'M' // the engine refuses: the line has a gap
			default:
				px, py := tenth(x(at.percent)), tenth(y(value(at)))
				way += fmt.Sprintf("%c%s %s", pen, px, py)
				pen = 'L'
				fmt.Fprintf(&marked, `<g class="k" transform="translate(%s %s)">%s</g>`, px, py, marks[i])
			}
		}
		if way != "" {
			fmt.Fprintf(b, `<path d="%s" stroke-dasharray="%s"/>%s`+"\n", way, dashes[i], marked.String())
		}
	}
}

// nice is a round number that is no less than a value.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 4, 6, 8, 10} {
		if n*unit >= v {
			return n * unit
		}
	}
	return 10 * unit
}

// tenth prints a length as short as a tenth of a pixel allows.
func tenth(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }
