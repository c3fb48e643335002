package draw

import (
	"cmp"
	"math"
	"slices"

	"ibsm/ctl/shape"
)

// Measures of a picture in a circle.
const (
	dotRadius   = 6
	dotPitch    = 15 // along the circle
	spokeHosts  = 16 // squares along a ray at most
	leastRadius = 120
)

// layCircle lays switches out in a circle, with their hosts and names outwards, in the
// order by name, or if the links are so shorter, in that of a walk along them.
func (p *picture) layCircle() {
	p.shorten()
	order := p.byName()
	if walk := p.walk(order); p.chords(walk) < p.chords(order) {
		order = walk
	}
	radius := max(float64(len(order))*dotPitch/2/math.Pi, leastRadius)
	outside := 0.0
	for s := range p.fabric.Switches {
		outside = max(outside, p.spokeHosts(s)+textWidth(p.spokeLabel(s))+dotRadius+12)
	}
	p.w, p.h = max(2*(radius+outside+margin), 640), 2*(radius+outside+margin)+headHeight
	cx, cy := p.w/2, headHeight+(p.h-headHeight)/2
	for i, s := range order {
		turn := 2*math.Pi*float64(i)/float64(len(order)) - math.Pi/2
		p.addKnot(knot{
			members: []int{s}, label: p.spokeLabel(s), shape: spoke, w: 2 * dotRadius, h: 2 * dotRadius,
			x: cx + radius*math.Cos(turn), y: cy + radius*math.Sin(turn), angle: turn * 180 / math.Pi,
		})
	}
	p.addEdges()
	for i := range p.edges {
		e := &p.edges[i]
		// The farther apart the ends are, the more the edge bends to the middle.
		toMiddle := 0.15 + 0.4*math.Hypot(e.x1-e.x2, e.y1-e.y2)/(2*radius)
		e.bend = true
		e.cx, e.cy = (e.x1+e.x2)/2*(1-toMiddle)+cx*toMiddle, (e.y1+e.y2)/2*(1-toMiddle)+cy*toMiddle
	}
}

// spokeHosts is the room along the ray for the hosts of a switch.
func (p *picture) spokeHosts(s int) float64 {
	if n := len(p.fabric.Switches[s].Hosts); p.hosts == hostCells && n <= spokeHosts {
		return float64(n) * cellPitch
	}
	return 0
}

// spokeLabel is the name of a switch, and how many hosts it has where they have no squares.
func (p *picture) spokeLabel(s int) string {
	label := p.labelOf(s)
	if n := len(p.fabric.Switches[s].Hosts); n > 0 && p.spokeHosts(s) == 0 {
		label += ", " + hostCount(n)
	}
	return label
}

// byName is the switches in the order of their names.
func (p *picture) byName() []int {
	order := make([]int, len(p.fabric.Switches))
	for s := range order {
		order[s] = s
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(shape.Natural(p.fabric.Switches[a].Name, p.fabric.Switches[b].Name), a-b)
	})
	return order
}

// walk is the switches in the order of a breadth-first walk.
func (p *picture) walk(from []int) (order []int) {
	seen := make([]bool, len(from))
	for _, first := range from {
		if seen[first] {
			continue
		}
		seen[first] = true
		order = append(order, first)
		for i := len(order) - 1; i < len(order); i++ {
			for _, t := range p.fabric.Switches[order[i]].Trunks {
				if o := p.fabric.Trunks[t].Other(order[i]); !seen[o] {
					seen[o] = true
					order = append(order, o)
				}
			}
		}
	}
	return order
}

// chords is the length of all trunks in places along the circle.
func (p *picture) chords(order []int) (sum int) {
	at := make([]int, len(order))
	for i, s := range order {
		at[s] = i
	}
	for i := range p.fabric.Trunks {
		d := at[p.fabric.Trunks[i].A] - at[p.fabric.Trunks[i].B]
		d = max(d, -d)
		sum += min(d, len(order)-d)
	}
	return sum
}
