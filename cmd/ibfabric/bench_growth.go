package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
)

// growthSpecs are three-level fat trees of 128 to 43,904 hosts. The last has 47,824 LIDs; a subnet can have 49,151.
var growthSpecs = []string{"fattree:k=8", "fattree:k=12", "fattree:k=16", "fattree:k=24", "fattree:k=36",
	"fattree:k=46", "fattree:k=56"}

// grown is what a cold start of one size cost.
type grown struct {
	hosts, switches int
	entries         float64 // of all forwarding tables: LIDs times switches
	figures         []float64
}

// growthFigures are measured of each size.
var growthFigures = []string{"walk, s", "routes, proof, plan, s", "programming, s", "CPU, s", "peak memory, MB", "SMPs"}

func newBenchGrowth() *cobra.Command {
	b := &bench{}
	c := &cobra.Command{Use: "growth [SPEC]... [OPTION]...", Short: "measure how a cold start grows with the subnet",
		Long: `
Brings up subnets of several sizes, one after the other, each with a manager in a process of its own, and
shows what that took, and with which power of the number of hosts and of forwarding table entries each
figure grows: 1 is as fast as these.

SPEC is as for ibfabric serve; without one, fat trees of 128 to 43,904 hosts.`}
	b.ownOptions(c)
	picture := c.Flags().String("svg", "", "draw the figures by the number of hosts to `FILE`")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		b.out = cmd.OutOrStdout()
		specs := args
		if len(specs) == 0 {
			specs = growthSpecs
		}
		if len(specs) < 2 {
			return cli.UsageError("one size does not grow", "give two SPECs or more, or none")
		}
		fmt.Fprintf(b.out, "| hosts | switches |")
		for _, f := range growthFigures {
			fmt.Fprintf(b.out, " %s |", f)
		}
		fmt.Fprintf(b.out, "\n| ---: | ---: |%s\n", strings.Repeat(" ---: |", len(growthFigures)))
		var all []grown
		err := b.each(cmd.Context(), specs, func(ctx context.Context, spec string) error {
			g, err := b.grow(ctx, spec)
			if err == nil {
				all = append(all, g)
				fmt.Fprintf(b.out, "| %d | %d |", g.hosts, g.switches)
				for _, v := range g.figures {
					fmt.Fprintf(b.out, " %s |", rounded(v))
				}
				fmt.Fprintln(b.out)
			}
			return err
		})
		if err != nil {
			return err
		}
		b.exponents(all)
		if *picture == "" {
			return nil
		}
		return atomicfile.Write(*picture, 0o666, plotGrowth(all))
	}
	return c
}

// grow measures one size.
func (b *bench) grow(ctx context.Context, spec string) (g grown, err error) {
	n, err := loadNet(spec)
	if err != nil {
		return g, err
	}
	g.hosts = countHosts(n)
	g.switches = len(n.Nodes) - g.hosts
	g.entries = float64(len(n.Nodes)) * float64(g.switches)
	place, err := newBenchPlace(n)
	if err != nil {
		return g, err
	}
	defer place.close()
	place.server.Do(place.begin)
	run, err := place.start(b.ownSM("minhop"), "growth", b.keep)
	if err != nil {
		return g, err
	}
	var r measurement
	var phases map[string]float64
	if err = place.await(ctx, run, false, &r); err == nil {
		phases, err = run.phases(ctx)
	}
	err = errors.Join(err, run.kill(&r), place.awaitFarewell(ctx))
	g.figures = []float64{phases["walking"], phases["computing"], phases["programming"], r.User + r.System, r.Memory,
		float64(r.total())}
	return g, err
}

// rounded is a figure with two digits, or whole.
func rounded(v float64) string {
	if v >= 10 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// exponents shows by which power figures grow, over the larger half of the sizes: in small ones prevails what does not
// grow.
func (b *bench) exponents(all []grown) {
	all = all[(len(all)-1)/2:]
	fmt.Fprintf(b.out, "\n%d to %d hosts:\n\n| figure | power of the hosts | power of the table entries |\n| --- | ---: | ---: |\n",
		all[0].hosts, all[len(all)-1].hosts)
	for i, f := range growthFigures {
		var byHosts, byEntries []dot
		for _, g := range all {
			byHosts = append(byHosts, dot{float64(g.hosts), g.figures[i]})
			byEntries = append(byEntries, dot{g.entries, g.figures[i]})
		}
		fmt.Fprintf(b.out, "| %s | %.2f | %.2f |\n", f, exponent(byHosts), exponent(byEntries))
	}
}

// dot is a dot of a chart.
type dot struct{ x, y float64 }

// exponent is the power of x by which y grows: the slope of the line of least squares through the logarithms.
func exponent(points []dot) float64 {
	var n, x, y, xx, xy float64
	for _, p := range points {
		if p.x > 0 && p.y > 0 {
			a, b := math.Log(p.x), math.Log(p.y)
			n, x, y, xx, xy = n+1, x+a, y+b, xx+a*a, xy+a*b
		}
	}
	return (n*xy - x*y) / (n*xx - x*x)
}

// plotGrowth draws each figure by the number of hosts, both in powers of ten. A line that is as steep as the dotted one
// grows as the hosts do.
func plotGrowth(all []grown) []byte {
	var b bytes.Buffer
	const columns, width, height = 3, 230, 170
	rows := (len(growthFigures) + columns - 1) / columns
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`+"\n",
		columns*width, rows*height)
	b.WriteString(`<style>text{font:10px sans-serif;fill:#222}.h{font-size:12px;font-weight:bold}.e{text-anchor:end}` +
		`.m{text-anchor:middle}path,circle{stroke:#222;fill:none}circle{fill:#222}.a{stroke:#ccc}` +
		`.d{stroke:#999;stroke-dasharray:2 3}</style>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" style="fill:#fff;stroke:none"/>`+"\n", columns*width, rows*height)
	for i, f := range growthFigures {
		var points []dot
		for _, g := range all {
			if g.figures[i] > 0 {
				points = append(points, dot{float64(g.hosts), g.figures[i]})
			}
		}
		fmt.Fprintf(&b, `<g transform="translate(%d %d)"><text x="44" y="16" class="h">%s</text>`+"\n",
			i%columns*width, i/columns*height, f)
		drawLogarithmic(&b, points)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// drawLogarithmic draws a line through points, on axes of powers of ten.
func drawLogarithmic(b *bytes.Buffer, points []dot) {
	const left, top, width, height = 44.0, 26.0, 170.0, 110.0
	if len(points) == 0 {
		return
	}
	low, high := points[0], points[0]
	for _, p := range points {
		low, high = dot{min(low.x, p.x), min(low.y, p.y)}, dot{max(high.x, p.x), max(high.y, p.y)}
	}
	decade := func(v float64, up bool) float64 {
		if up {
			return math.Ceil(math.Log10(v))
		}
		return math.Floor(math.Log10(v))
	}
	x0, x1 := decade(low.x, false), max(decade(high.x, true), decade(low.x, false)+1)
	y0, y1 := decade(low.y, false), max(decade(high.y, true), decade(low.y, false)+1)
	x := func(v float64) float64 { return left + (math.Log10(v)-x0)/(x1-x0)*width }
	y := func(v float64) float64 { return top + height - (math.Log10(v)-y0)/(y1-y0)*height }
	for e := x0; e <= x1; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path class="a" d="M%s %gv%g"/><text x="%s" y="%g" class="m">%s</text>`, tenth(x(v)), top, height,
			tenth(x(v)), top+height+13, strconv.FormatFloat(v, 'f', -1, 64))
	}
	for e := y0; e <= y1; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(b, `<path class="a" d="M%g %sh%g"/><text x="%g" y="%s" class="e">%s</text>`, left, tenth(y(v)), width,
			left-4, tenth(y(v)+3), strconv.FormatFloat(v, 'f', -1, 64))
	}
	last := points[len(points)-1]
	begin := max(low.x, last.x*math.Pow(10, y0)/last.y)
	fmt.Fprintf(b, `<path class="d" d="M%s %sL%s %s"/>`+"\n", tenth(x(begin)), tenth(y(last.y*begin/last.x)), tenth(x(last.x)),
		tenth(y(last.y)))
	way, pen := "", 'M'
	for _, p := range points {
		way += fmt.Sprintf("%c%s %s", pen, tenth(x(p.x)), tenth(y(p.y)))
		pen = 'L'
	}
	fmt.Fprintf(b, `<path d="%s"/>`, way)
	for _, p := range points {
		fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="2.5"/>`, tenth(x(p.x)), tenth(y(p.y)))
	}
	b.WriteByte('\n')
}
