package draw

import (
	"math"
	"slices"
	"strings"

	"ibsm/ctl/shape"
)

// grid is the coordinates of the switches of a torus, a mesh or the like.
type grid struct {
	at   [][]int // by switch and dimension, from 0
	size []int   // by dimension
}

// mostDimensions is how many a grid may have.
const mostDimensions = 6

// findGrid reads coordinates from the numbers in the switches' names. They count if no
// two switches have the same and nine in ten neighbours differ in one of them alone; nil
// if they do not, or there are fewer than two dimensions.
func findGrid(f *shape.Fabric) *grid {
	g := &grid{at: make([][]int, len(f.Switches))}
	digits := bitNames(f)
	for s := range f.Switches {
		g.at[s] = numbers(f.Switches[s].Name, digits)
		if len(g.at[s]) != len(g.at[0]) {
			return nil
		}
	}
	if len(g.at) < 4 {
		return nil
	}
	g.compact()
	if len(g.size) < 2 || len(g.size) > mostDimensions || !g.unique() {
		return nil
	}
	straight := 0
	for i := range f.Trunks {
		if len(g.differ(f.Trunks[i].A, f.Trunks[i].B)) == 1 {
			straight++
		}
	}
	if len(f.Trunks) == 0 || 10*straight < 9*len(f.Trunks) {
		return nil
	}
	return g
}

// bitNames reports whether each name has one number, of zeros and ones alone and as long
// as all others: those of a hypercube.
func bitNames(f *shape.Fabric) bool {
	length := -1
	for s := range f.Switches {
		words := strings.FieldsFunc(f.Switches[s].Name, notDigit)
		if len(words) != 1 || strings.Trim(words[0], "01") != "" || length >= 0 && len(words[0]) != length {
			return false
		}
		length = len(words[0])
	}
	return length > 1
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// numbers are those in a name, or its single digits; nil if there are too many.
func numbers(name string, digits bool) (all []int) {
	for _, word := range strings.FieldsFunc(name, notDigit) {
		if digits {
			for i := range len(word) {
				all = append(all, int(word[i]-'0'))
			}
			continue
		}
		n := 0
		for i := range min(len(word), 9) {
			n = 10*n + int(word[i]-'0')
		}
		all = append(all, n)
	}
	return all
}

// compact takes away dimensions in which there is one coordinate, and has the others
// count from 0 without gaps.
func (g *grid) compact() {
	at := make([][]int, len(g.at))
	for dim := range g.at[0] {
		var values []int
		for _, c := range g.at {
			values = append(values, c[dim])
		}
		slices.Sort(values)
		values = slices.Compact(values)
		if len(values) == 1 {
			continue
		}
		g.size = append(g.size, len(values))
		for s, c := range g.at {
			n, _ := slices.BinarySearch(values, c[dim])
			at[s] = append(at[s], n)
		}
	}
	g.at = at
}

func (g *grid) unique() bool {
	all := slices.Clone(g.at)
	slices.SortFunc(all, slices.Compare)
	return len(slices.CompactFunc(all, slices.Equal)) == len(g.at)
}

// differ lists the dimensions in which two switches differ.
func (g *grid) differ(a, b int) (dims []int) {
	for dim := range g.size {
		if g.at[a][dim] != g.at[b][dim] {
			dims = append(dims, dim)
		}
	}
	return dims
}

// vectors are how far apart neighbours are along each dimension: the first two make rows
// and columns, each pair of others a smaller, slanting grid at every place of the former,
// so that no two links lie on one line.
func (g *grid) vectors(w, h float64) [][2]float64 {
	v := make([][2]float64, len(g.size))
	across, up := w+10, h+6
	for dim := len(g.size) - 1; dim >= 2; dim-- {
		n := float64(g.size[dim])
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
func (p *picture) layGrid(g *grid) {
	p.shorten()
	k := knot{w: 16, h: 16}
	for s := range p.fabric.Switches {
		k.w = max(k.w, textWidth(p.labelOf(s))+8)
	}
	below := 0.0
	for s := range p.fabric.Switches {
		below = max(below, p.hostsHeight(&knot{members: []int{s}, w: k.w}))
	}
	v := g.vectors(k.w, k.h+below)
	for s := range p.fabric.Switches {
		k.members, k.label, k.x, k.y = []int{s}, p.labelOf(s), 0, 0
		for dim, at := range g.at[s] {
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
func (p *picture) bendRow(g *grid, v [][2]float64, e *edge) {
	a, b := p.knots[e.a].members[0], p.knots[e.b].members[0]
	dims := g.differ(a, b)
	if len(dims) != 1 {
		return
	}
	dim := dims[0]
	far := g.at[a][dim] - g.at[b][dim]
	if far = max(far, -far); far < 2 {
		return
	}
	dx, dy := v[dim][0], v[dim][1]
	reach := 0.25 + 0.4*float64(far)/float64(g.size[dim])
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
