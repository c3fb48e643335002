// Package draw makes pictures of a subnet, as SVG: its switches level by level with the
// hosts below them, a torus or another grid as a grid, and what is neither in a circle.
// It is pure: the same shape gives the same bytes.
package draw

import (
	"bufio"
	"io"

	"ibsm/ctl"
	"ibsm/ctl/shape"
)

// Colour is what the colours of links say.
type Colour string

// Colours.
const (
	ByState Colour = "state" // which links are not Active, avoided or slower than others
	ByLoad  Colour = "load"  // how many routes lead through them; needs ctl.Link.Routes
)

// Options are the options of a picture.
type Options struct {
	Colour Colour
	Note   string // printed below the heading, such as where the subnet is from
	// Stateless is set for a subnet from a file or generator, which says nothing of states.
	Stateless bool
}

// SVG draws a subnet. The error is that of w.
func SVG(w io.Writer, f *shape.Fabric, o Options) error {
	out := bufio.NewWriterSize(w, 1<<16)
	lay(f, o).write(out)
	return out.Flush()
}

// lay gives everything its place.
func lay(f *shape.Fabric, o Options) *picture {
	p := &picture{fabric: f, options: o, paint: newPainter(f, o.Colour), knotOf: make([]int, len(f.Switches))}
	p.chooseHosts()
	switch grid := f.Grid(); {
	case len(f.Switches) == 0:
		p.layAlone()
	case f.Levels > 0:
		p.layLevels()
	case grid != nil:
		p.layGrid(grid)
	default:
		p.layCircle()
	}
	return p
}

// picture is a picture under construction. Lengths are in pixels, y grows downwards.
type picture struct {
	fabric  *shape.Fabric
	options Options
	paint   *painter
	knots   []knot
	knotOf  []int // by switch
	edges   []edge
	hosts   hostStyle
	w, h    float64
	prefix  string // of all switches' names, left out of labels
}

// knot is a switch, or a box of several.
type knot struct {
	members []int // switches
	label   string
	x, y    float64 // of its middle
	w, h    float64
	shape   knotShape
	angle   float64 // of a spoke, in degrees
}

// knotShape is how a knot is drawn.
type knotShape uint8

const (
	wide  knotShape = 0 // a box with its label in it
	tall  knotShape = 1 // the same, read upwards
	crate knotShape = 2 // a box with a cell for each of several switches
	spoke knotShape = 3 // a dot with its label and hosts along a ray
)

// edge is all cables between two knots.
type edge struct {
	a, b           int // knots
	links          []*ctl.Link
	x1, y1, x2, y2 float64
	bend           bool
	cx, cy         float64 // where it bends to
}

// addKnot adds a knot for some switches.
func (p *picture) addKnot(k knot) {
	for _, s := range k.members {
		p.knotOf[s] = len(p.knots)
	}
	p.knots = append(p.knots, k)
}

// addEdges adds an edge for each two knots that are cabled, from middle to middle.
func (p *picture) addEdges() {
	at := map[[2]int]int{}
	for i := range p.fabric.Trunks {
		t := &p.fabric.Trunks[i]
		a, b := p.knotOf[t.A], p.knotOf[t.B]
		if a == b {
			continue
		}
		pair := [2]int{min(a, b), max(a, b)}
		e, ok := at[pair]
		if !ok {
			e = len(p.edges)
			at[pair] = e
			from, to := &p.knots[pair[0]], &p.knots[pair[1]]
			p.edges = append(p.edges, edge{a: pair[0], b: pair[1], x1: from.x, y1: from.y, x2: to.x, y2: to.y})
		}
		p.edges[e].links = append(p.edges[e].links, t.Links...)
	}
}

// hostsOf counts the ports of hosts on a knot.
func (p *picture) hostsOf(k *knot) (n int) {
	for _, s := range k.members {
		n += len(p.fabric.Switches[s].Hosts)
	}
	return n
}
