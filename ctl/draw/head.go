package draw

import (
	"fmt"
	"strings"

	"ibsm/plural"
)

// writeHead writes the heading and what the colours mean.
func (p *picture) writeHead(w *svg) {
	f := p.fabric
	levels := ""
	if f.Levels > 1 {
		levels = fmt.Sprintf(" on %d levels", f.Levels)
	}
	switches, adapters := len(f.Switches), 0
	classes := map[string]int{}
	for s := range f.Switches {
		classes[p.switchClass(s)]++
	}
	switches -= classes["k g"]
	for _, h := range f.Hosts {
		if h.Absent == nil {
			adapters++
		}
	}
	w.text(margin, 28, "h", fmt.Sprintf("%s%s, %s, %s", plural.Of(switches, "switch"), levels,
		plural.Of(adapters, "adapter"), plural.Of(f.Links, "link")))
	note := p.options.Note
	if p.prefix != "" {
		note = strings.TrimPrefix(fmt.Sprintf("%s; names of switches begin with %q", note, p.prefix), "; ")
	}
	w.text(margin, 46, "c", note)
	x := float64(margin)
	if p.paint.byLoad {
		x = p.writeLoads(w, x)
	}
	var used [len(stateNames)]int
	for l, kind := range p.paint.kinds {
		if kind == hostKind || !p.paint.byLoad {
			used[p.paint.state(l)]++
		}
	}
	for _, c := range []struct{ class, text string }{
		{"k g", "absent switches"}, {"k x", "switches that do not answer"},
		{"k y", "switches with fewer cables to others than most on their level"},
	} {
		if n := classes[c.class]; n > 0 {
			x = legend(w, x, c.class, fmt.Sprintf("%s: %d", c.text, n))
		}
	}
	if n := len(f.Hosts) - adapters; n > 0 {
		x = legend(w, x, fmt.Sprintf("s%d", absent), fmt.Sprintf("absent adapters: %d", n))
	}
	for class, n := range used {
		if n == 0 {
			continue
		}
		what := "links"
		if p.paint.byLoad { // only hosts show it
			what = "adapters' links"
		}
		name := stateNames[class]
		if p.options.Stateless {
			name = strings.TrimLeft(strings.TrimPrefix(name, stateNames[fine]), ", ")
		}
		x = legend(w, x, fmt.Sprintf("s%d", class), fmt.Sprintf("%s: %d", strings.TrimSpace(what+" "+name), n))
	}
}

// legend writes a square and what it means, and returns where the next one may begin.
func legend(w *svg, x float64, class, text string) float64 {
	fmt.Fprintf(w, `<rect x="%s" y="58" width="12" height="12" class="%s"/>`+"\n", number(x), class)
	w.text(x+17, 68, "c", text)
	return x + 17 + textWidth(text) + 14
}

// writeLoads writes the scale of loads.
func (p *picture) writeLoads(w *svg, x float64) float64 {
	w.text(x, 68, "c", "routes, busiest cable:")
	x += textWidth("routes, busiest cable:")
	for step := range loadSteps + 1 {
		fmt.Fprintf(w, `<rect x="%s" y="58" width="10" height="12" class="l%d"/>`+"\n", number(x+float64(step)*10),
			step)
	}
	for i, text := range []string{"0", fmt.Sprintf("mean %.0f", p.paint.mean),
		fmt.Sprintf("%.0f or more", 2*p.paint.mean)} {
		w.text(x+float64(i*loadSteps/2)*10+5, 80, "t m", text)
	}
	x += float64(loadSteps+1)*10 + 14
	text := fmt.Sprintf("most %d", p.paint.most)
	w.text(x, 68, "c", text)
	return x + textWidth(text) + 14
}
