package draw

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/shape"
	"ibsm/plural"
)

// svg writes elements. Errors are the writer's, which keeps them.
type svg struct{ *bufio.Writer }

func (w svg) escaped(s string) { xml.EscapeText(w, []byte(s)) }

// number prints a length as short as a tenth of a pixel allows.
func number(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

func (w svg) title(s string) {
	w.WriteString("<title>")
	// Line breaks stay as they are: programs show a title in lines.
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.WriteByte('\n')
		}
		w.escaped(line)
	}
	w.WriteString("</title>")
}

func (w svg) text(x, y float64, class, s string) {
	fmt.Fprintf(w, `<text x="%s" y="%s" class="%s">`, number(x), number(y), class)
	w.escaped(s)
	w.WriteString("</text>\n")
}

// turned writes text turned by an angle in degrees.
func (w svg) turned(x, y, angle float64, class, s string) {
	fmt.Fprintf(w, `<text transform="translate(%s %s) rotate(%s)" class="%s">`, number(x), number(y), number(angle),
		class)
	w.escaped(s)
	w.WriteString("</text>\n")
}

func (w svg) cell(x, y, size float64, class, transform, title string) {
	if transform != "" {
		transform = fmt.Sprintf(` transform="%s"`, transform)
	}
	fmt.Fprintf(w, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"%s>`, number(x), number(y), number(size),
		number(size), class, transform)
	w.title(title)
	w.WriteString("</rect>\n")
}

const styleSheet = `text{font:10px sans-serif;fill:#222}.t{font-size:9px;fill:#444}.m{text-anchor:middle}.e{text-anchor:end}` +
	`.h{font-size:16px;font-weight:bold}.c{font-size:11px;fill:#555}path{fill:none}` +
	`.k{stroke:#55606c;stroke-width:1}.v1{fill:#eaf3ea}.v2{fill:#e7eef8}.v3{fill:#f3ebf6}.v4,.v5,.v6,.v7{fill:#f7f1e4}.x{fill:#f9c9c4;stroke:#d62020}.g{fill:#fff;stroke:#d62020;stroke-dasharray:4 3}.n{font-size:9px;fill:#444;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:3}.y{fill:#fff0b8;stroke:#b08600}` +
	`path:hover{stroke:#000;stroke-opacity:1;stroke-width:4}rect:hover,circle:hover{stroke:#000;stroke-width:2}`

// write writes the picture: edges, the worst or busiest last so that they are in front,
// then boxes, then what explains it.
func (p *picture) write(out *bufio.Writer) {
	w := &svg{out}
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s">`+"\n",
		number(p.w), number(p.h))
	w.WriteString("<style>" + styleSheet + p.paint.style() + "</style>\n")
	fmt.Fprintf(w, `<rect width="%s" height="%s" fill="#fff" stroke="none" pointer-events="none"/>`+"\n", number(p.w),
		number(p.h))
	opacity := 0.85
	if len(p.edges) > manyEdges {
		opacity = 0.6
	}
	fmt.Fprintf(w, `<g stroke-opacity="%v">`+"\n", opacity)
	p.writeEdges(w)
	w.WriteString("</g>\n")
	for i := range p.knots {
		p.writeKnot(w, &p.knots[i])
	}
	p.writeAlone(w)
	p.writeHead(w)
	w.WriteString("</svg>\n")
}

// manyEdges is how many edges make a picture so full that they are drawn fainter.
const manyEdges = 150

func (p *picture) writeEdges(w *svg) {
	thickening := 0.8
	if len(p.edges) > manyEdges {
		thickening = 0.25
	}
	order := make([]*edge, len(p.edges))
	for i := range p.edges {
		order[i] = &p.edges[i]
	}
	front := func(e *edge) int {
		_, n := p.paint.edge(e.links)
		return n
	}
	slices.SortStableFunc(order, func(a, b *edge) int { return cmp.Compare(front(a), front(b)) })
	for _, e := range order {
		class, _ := p.paint.edge(e.links)
		way := fmt.Sprintf("L%s %s", number(e.x2), number(e.y2))
		if e.bend {
			way = fmt.Sprintf("Q%s %s %s %s", number(e.cx), number(e.cy), number(e.x2), number(e.y2))
		}
		fmt.Fprintf(w, `<path d="M%s %s%s" class="%s" stroke-width="%s">`, number(e.x1), number(e.y1), way, class,
			number(1.2+thickening*math.Log2(float64(len(e.links)))))
		w.title(p.edgeTitle(e))
		w.WriteString("</path>\n")
	}
	if len(p.edges) > manyEdges {
		return
	}
	for _, e := range order {
		if text := cables(e.links); text != "1" {
			x, y := (e.x1+e.x2)/2, (e.y1+e.y2)/2
			if e.bend {
				x, y = (e.x1+2*e.cx+e.x2)/4, (e.y1+2*e.cy+e.y2)/4
			}
			w.text(x, y+3, "n", text)
		}
	}
}

// cables is the number of parallel cables, such as 2, or 1 of 2 where some are absent.
func cables(links []*ctl.Link) string {
	n, all := shape.Present(links), len(links)
	if n == all {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d of %d", n, all)
}

// titleLinks is how many links the title of an edge names.
const titleLinks = 4

// edgeTitle describes an edge.
func (p *picture) edgeTitle(e *edge) string {
	a, b := &p.knots[e.a], &p.knots[e.b]
	var t strings.Builder
	fmt.Fprintf(&t, "%s - %s: ", p.knotName(a), p.knotName(b))
	t.WriteString(cables(e.links) + " link")
	if len(e.links) != 1 {
		t.WriteString("s")
	}
	if n := busiest(e.links); p.paint.byLoad {
		fmt.Fprintf(&t, ", up to %d routes", n)
	}
	links := slices.Clone(e.links)
	// what is wrong first
	slices.SortStableFunc(links, func(x, y *ctl.Link) int { return p.paint.state(y) - p.paint.state(x) })
	for i, l := range links {
		if i == titleLinks && len(links) > titleLinks+1 {
			fmt.Fprintf(&t, "\nand %d more", len(links)-i)
			break
		}
		t.WriteString("\n" + p.linkTitle(l))
	}
	return t.String()
}

// linkTitle describes a link.
func (p *picture) linkTitle(l *ctl.Link) string {
	text := fmt.Sprintf("%s port %d - %s port %d:", l.From.Desc, l.From.Port, l.To.Desc, l.To.Port)
	for _, word := range []string{l.Width, l.Speed, l.State} {
		if word != "" && !(p.options.Stateless && word == l.State) {
			text += " " + word
		}
	}
	if l.Unhealthy {
		text += ", avoided by routes"
	}
	if l.Routes != nil {
		text += fmt.Sprintf(", routes %d and back %d", l.Routes.Out, l.Routes.In)
	}
	return text
}

func (p *picture) knotName(k *knot) string {
	first := p.fabric.Switches[k.members[0]].Name
	if n := len(k.members); n > 1 {
		return fmt.Sprintf("%s to %s", first, p.fabric.Switches[k.members[n-1]].Name)
	}
	return first
}

// switchTitle describes a switch.
func (p *picture) switchTitle(s int) string {
	sw := &p.fabric.Switches[s]
	text := fmt.Sprintf("%s\nGUID %s, LID %d\n", sw.Desc, sw.GUID, sw.LID)
	switch {
	case sw.Absent != nil:
		return text + "absent since " + sw.Absent.Format(time.DateTime)
	case p.options.Stateless:
		text += fmt.Sprintf("%d of %d ports cabled, %s", sw.Up, sw.Ports, hostCount(len(sw.Hosts)))
	default:
		text += fmt.Sprintf("%d of %d ports Active, %s", sw.Up, sw.Ports, hostCount(len(sw.Hosts)))
	}
	if sw.Missed > 0 {
		text += "\nhas not answered for " + plural.Of(int(sw.Missed), "sweep")
	}
	if usual := p.paint.usualCables[s]; usual > 0 {
		n := 0
		for _, i := range sw.Trunks {
			n += shape.Present(p.fabric.Trunks[i].Links)
		}
		text += fmt.Sprintf("\nhas %d cables to switches, most on its level have %d", n, usual)
	}
	return text
}

// switchClass is the class of a switch: its level, that it is absent, does not answer, or lacks
// cables.
func (p *picture) switchClass(s int) string {
	switch {
	case p.fabric.Switches[s].Absent != nil:
		return "k g"
	case p.fabric.Switches[s].Missed > 0:
		return "k x"
	case p.paint.usualCables[s] > 0:
		return "k y"
	}
	return fmt.Sprintf("k v%d", min(p.fabric.Switches[s].Level, 7))
}

func (p *picture) writeKnot(w *svg, k *knot) {
	left, top := k.x-k.w/2, k.y-k.h/2
	first := k.members[0]
	switch k.shape {
	case spoke:
		p.writeSpoke(w, k)
		return
	case crate:
		fmt.Fprintf(w, `<rect x="%s" y="%s" width="%s" height="%s" rx="3" class="k" fill="#fff"/>`+"\n", number(left),
			number(top), number(k.w), number(k.h))
		w.text(k.x, top+lineHeight, "m", k.label)
		columns := crateColumns(len(k.members))
		indent := (k.w - float64(columns)*cellPitch + cellPitch - cellSize) / 2
		for i, s := range k.members {
			w.cell(left+indent+float64(i%columns)*cellPitch, top+lineHeight+5+float64(i/columns)*cellPitch, cellSize,
				p.switchClass(s), "", p.switchTitle(s))
		}
	default:
		fmt.Fprintf(w, `<g><rect x="%s" y="%s" width="%s" height="%s" rx="3" class="%s"/>`, number(left), number(top),
			number(k.w), number(k.h), p.switchClass(first))
		w.title(p.switchTitle(first))
		if k.shape == tall {
			w.turned(k.x+3.5, k.y+k.h/2-5, -90, "", k.label)
		} else {
			w.text(k.x, k.y+3.5, "m", k.label)
		}
		w.WriteString("</g>\n")
	}
	p.writeHosts(w, k)
}

// writeSpoke draws a switch of a circle: a dot, squares for its hosts, its name. On the
// left half the name is turned once more, so that it is not upside down.
func (p *picture) writeSpoke(w *svg, k *knot) {
	s := k.members[0]
	fmt.Fprintf(w, `<circle cx="%s" cy="%s" r="%d" class="%s">`, number(k.x), number(k.y), dotRadius, p.switchClass(s))
	w.title(p.switchTitle(s))
	w.WriteString("</circle>\n")
	ray := fmt.Sprintf("translate(%s %s) rotate(%s)", number(k.x), number(k.y), number(k.angle))
	out := float64(dotRadius + 4)
	if room := p.spokeHosts(s); room > 0 {
		for i, h := range p.fabric.Switches[s].Hosts {
			p.writeHost(w, h, out+float64(i)*cellPitch, -cellSize/2, ray)
		}
		out += room
	}
	turn := k.angle * math.Pi / 180
	x, y := k.x+(out+2)*math.Cos(turn), k.y+(out+2)*math.Sin(turn)
	if math.Cos(turn) < -1e-9 {
		w.turned(x+3*math.Sin(turn), y-3*math.Cos(turn), k.angle+180, "e", k.label)
	} else {
		w.turned(x-3*math.Sin(turn), y+3*math.Cos(turn), k.angle, "", k.label)
	}
}
