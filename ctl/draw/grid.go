package draw

import (
	"math"
	"strings"

	"ibsm/ctl/shape"
)

// vectors are how far apart neighbours are along each dimension: the first two make rows
// and columns, each pair of others a smaller, slanting grid at every place of the former,
// so that no two links lie on one line.
func vectors(g *shape.Grid, w, h float64) [][2]float64 {
	v := make([][2]float64, len(g.Size))
	across, up := w+10, h+6
	for dim := len(g.Size) - 1; dim >= 2; dim-- {
		n := float64(g.Size[dim])
		if dim%2 == 0 {
			slant := 0.62 * across / float64(dim/2) // another for each, lest lines coincide
			v[dim] = [2]float64{slant, -up}
			across, up = across+n*slant, n*up+h*0.6
		} else {
			v[dim] = [2]float64{across, 0.3 * up}
			across, up = across*n, up*(1+0.3*n)
		}
	}
	v[0], v[1] = [2]float64{max(across+14, 40), 0}, [2]float64{0, max(up+14, 40)}
	return v
}

// layGrid lays switches out by their coordinates.
func (p *picture) layGrid(g *shape.Grid) {
	p.shorten()
	k := knot{w: 16, h: 16}
	for s := range p.fabric.Switches {
		k.w = max(k.w, textWidth(p.labelOf(s))+8)
	}
	below := 0.0
	for s := range p.fabric.Switches {
		below = max(below, p.hostsHeight(&knot{members: []int{s}, w: k.w}))
	}
	v := vectors(g, k.w, k.h+below)
	for s := range p.fabric.Switches {
		k.members, k.label, k.x, k.y = []int{s}, p.labelOf(s), 0, 0
		for dim, at := range g.At[s] {
			k.x += float64(at) * v[dim][0]
			k.y += float64(at) * v[dim][1]
		}
		p.addKnot(k)
	}
	p.addEdges()
	for i := range p.edges {
		p.bendRow(g, v, &p.edges[i])
	}
	p.fit(below)
}

// bendRow makes an arc of an edge that leads past other switches of its row.
func (p *picture) bendRow(g *shape.Grid, v [][2]float64, e *edge) {
	a, b := p.knots[e.a].members[0], p.knots[e.b].members[0]
	dims := g.Differ(a, b)
	if len(dims) != 1 {
		return
	}
	dim := dims[0]
	far := g.At[a][dim] - g.At[b][dim]
	if far = max(far, -far); far < 2 {
		return
	}
	dx, dy := v[dim][0], v[dim][1]
	reach := 0.25 + 0.4*float64(far)/float64(g.Size[dim])
	if dx == 0 {
		reach *= v[0][0] / dy * 0.8 // into the gap between columns
	} else if dy == 0 {
		reach *= v[1][1] / dx * 1.1
	}
	e.bend = true
	e.cx, e.cy = (e.x1+e.x2)/2+dy*reach, (e.y1+e.y2)/2-dx*reach
}

// fit moves everything into the picture, and gives it its size. Below each knot there must
// be some room.
func (p *picture) fit(below float64) {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i := range p.knots {
		k := &p.knots[i]
		left, right = min(left, k.x-k.w/2), max(right, k.x+k.w/2)
		top, bottom = min(top, k.y-k.h/2), max(bottom, k.y+k.h/2+below)
	}
	for i := range p.edges {
		if e := &p.edges[i]; e.bend { // the middle of an arc is half way to where it bends to
			x, y := (e.x1+e.x2+2*e.cx)/4, (e.y1+e.y2+2*e.cy)/4
			left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
		}
	}
	p.w, p.h = max(right-left+2*margin, 640), bottom-top+margin+headHeight
	dx, dy := (p.w-left-right)/2, headHeight-top
	for i := range p.knots {
		p.knots[i].x += dx
		p.knots[i].y += dy
	}
	for i := range p.edges {
		e := &p.edges[i]
		e.x1, e.x2, e.cx = e.x1+dx, e.x2+dx, e.cx+dx
		e.y1, e.y2, e.cy = e.y1+dy, e.y2+dy, e.cy+dy
	}
}

// shorten finds what all names of switches begin with, up to a number.
func (p *picture) shorten() {
	prefix := p.fabric.Switches[0].Name
	for s := range p.fabric.Switches {
		for !strings.HasPrefix(p.fabric.Switches[s].Name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	p.prefix = strings.TrimRight(prefix, "0123456789")
}

// labelOf is the name of a switch without what all begin with.
func (p *picture) labelOf(s int) string {
	return strings.TrimPrefix(p.fabric.Switches[s].Name, p.prefix)
}
