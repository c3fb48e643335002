package draw

import (
	"fmt"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/ctl/shape"
	"ibsm/mad"
)

// Classes of links by state, the worse the higher.
const (
	fine    = 0
	slow    = 1 // than most of its kind
	pending = 2 // not yet Active
	avoided = 3 // by routes
	down    = 4
	absent  = 5 // since the manager started
)

var stateNames = [...]string{fine: "Active", slow: "Active, slower than most", pending: "Initialize or Armed",
	avoided: "avoided by routes", down: "Down", absent: "absent"}

// Palettes. Good is quiet, so that what is not stands out.
var (
	stateColours = [...]string{fine: "#8ea3b8", slow: "#e0b000", pending: "#e67e00", avoided: "#b0389e",
		down: "#d62020", absent: "#d62020"}
	loadStops = [...][3]float64{{0xd5, 0xdc, 0xe4}, {0x3f, 0x86, 0xc0}, {0x8e, 0x3f, 0xa8}, {0xe0, 0x1c, 0x24}}
)

// loadSteps is how many colours there are for loads, from none to twice the mean.
const loadSteps = 16

// hostKind is the kind of links between a host and a switch; others' are by level.
const hostKind = "host"

// painter finds the colours of links.
type painter struct {
	byLoad bool
	mean   float64              // routes in one direction of a link between switches
	most   uint32               // of any of these
	usual  map[string]int       // rank of most links of a kind
	kinds  map[*ctl.Link]string // of every link
	// by switch that has fewer cables to others than most on its level: what most have; else 0
	usualCables []int
}

func newPainter(f *shape.Fabric, c Colour) *painter {
	p := &painter{byLoad: c == ByLoad, usual: map[string]int{}, kinds: map[*ctl.Link]string{}}
	count := map[string]map[int]int{}
	note := func(kind string, l *ctl.Link) {
		p.kinds[l] = kind
		if count[kind] == nil {
			count[kind] = map[int]int{}
		}
		r := rank(l)
		count[kind][r]++
		if n, most := count[kind][r], count[kind][p.usual[kind]]; n > most || n == most && r > p.usual[kind] {
			p.usual[kind] = r
		}
	}
	for _, l := range f.Direct {
		note(hostKind, l)
	}
	routes, directions := 0.0, 0
	for i := range f.Trunks {
		t := &f.Trunks[i]
		levels := fmt.Sprint(min(f.Switches[t.A].Level, f.Switches[t.B].Level))
		for _, l := range t.Links {
			note(levels, l)
			if l.Routes != nil {
				routes += float64(l.Routes.Out) + float64(l.Routes.In)
				directions += 2
				p.most = max(p.most, l.Routes.Out, l.Routes.In)
			}
		}
	}
	for i := range f.Switches {
		for _, h := range f.Switches[i].Hosts {
			note(hostKind, h.Link)
		}
	}
	if directions > 0 {
		p.mean = routes / float64(directions)
	}
	p.usualCables = usualCables(f)
	return p
}

// usualCables finds the switches that have fewer cables to others than at least half of their
// level have, and how many those have: a cable that is out or dead is in no list of links.
func usualCables(f *shape.Fabric) []int {
	cables := make([]int, len(f.Switches))
	for i := range f.Trunks {
		t := &f.Trunks[i]
		cables[t.A] += shape.Present(t.Links)
		cables[t.B] += shape.Present(t.Links)
	}
	usual := make([]int, len(f.Switches))
	for level := 1; level <= f.Levels; level++ {
		count, all := map[int]int{}, 0
		for s, n := range cables {
			if f.Switches[s].Level == level && f.Switches[s].Absent == nil {
				count[n]++
				all++
			}
		}
		most := 0
		for n, times := range count {
			if 2*times >= all {
				most = max(most, n)
			}
		}
		for s, n := range cables {
			if f.Switches[s].Level == level && f.Switches[s].Absent == nil && n < most {
				usual[s] = most
			}
		}
	}
	return usual
}

// rank orders links by what gets through, 0 if unknown.
func rank(l *ctl.Link) int {
	speed, _ := mad.ParseLinkSpeed(l.Speed)
	for _, w := range []mad.LinkWidth{mad.Width1x, mad.Width2x, mad.Width4x, mad.Width8x, mad.Width12x} {
		if w.String() == l.Width {
			return mad.LinkRate(w, speed).Rank()
		}
	}
	return 0
}

// state is the class of a link.
func (p *painter) state(l *ctl.Link) int {
	switch {
	case l.State == ctl.Absent:
		return absent
	case l.State == "Down":
		return down
	case l.Unhealthy:
		return avoided
	case l.State != "Active":
		return pending
	case rank(l) != 0 && rank(l) < p.usual[p.kinds[l]]:
		return slow
	}
	return fine
}

// worst is the class of several links.
func (p *painter) worst(links []*ctl.Link) (class int) {
	for _, l := range links {
		class = max(class, p.state(l))
	}
	return class
}

// busiest is the most routes in one direction of any of the links.
func busiest(links []*ctl.Link) (most uint32) {
	for _, l := range links {
		if l.Routes != nil {
			most = max(most, l.Routes.Out, l.Routes.In)
		}
	}
	return most
}

// edge is the class of an edge in the style sheet, and its z-order.
func (p *painter) edge(links []*ctl.Link) (class string, front int) {
	if !p.byLoad {
		worst := p.worst(links)
		return "s" + strconv.Itoa(worst), worst
	}
	step := 0
	if p.mean > 0 {
		step = min(int(float64(busiest(links))/p.mean/2*loadSteps+0.5), loadSteps)
	}
	return "l" + strconv.Itoa(step), step
}

// host is the class of a host's cell: its link's state, for every route to it leads there.
func (p *painter) host(l *ctl.Link) string { return "s" + strconv.Itoa(p.state(l)) }

// loadColour is that of a step.
func loadColour(step int) string {
	at := 2 * float64(step) / loadSteps // in means, of which the first stop is none, the second one
	if at > 1 {
		at = 1 + 2*(at-1)
	}
	at = min(at, float64(len(loadStops)-1))
	i := min(int(at), len(loadStops)-2)
	var rgb [3]int
	for c := range rgb {
		rgb[c] = int(loadStops[i][c] + (loadStops[i+1][c]-loadStops[i][c])*(at-float64(i)) + 0.5)
	}
	return fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2])
}

// style is the style sheet.
func (p *painter) style() string {
	var b strings.Builder
	for class, colour := range stateColours {
		fmt.Fprintf(&b, "path.s%d{stroke:%s}rect.s%d{fill:%s}", class, colour, class, colour)
	}
	fmt.Fprintf(&b, "path.s%d{stroke-dasharray:4 3}rect.s%[1]d{fill:#fff;stroke:%s;stroke-dasharray:2 1}", absent,
		stateColours[absent])
	if p.byLoad {
		for step := range loadSteps + 1 {
			fmt.Fprintf(&b, "path.l%d{stroke:%s}rect.l%d{fill:%s}", step, loadColour(step), step, loadColour(step))
		}
	}
	return b.String()
}
