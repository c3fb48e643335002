package draw

import (
	"cmp"
	"fmt"
	"slices"

	"ibsm/ctl/shape"
)

// Measures of a picture in levels.
const (
	charWidth  = 6.3 // of labels, of which each is as wide as the font makes it: this is generous
	lineHeight = 11
	boxHeight  = 22
	boxGap     = 8
	podGap     = 14
	cellSize   = 8
	cellPitch  = 10
	margin     = 24
	headHeight = 92
)

// More boxes than these on a level are put together, as far as there is something that
// they have in common; a row that is still wider than widestRow gets tall boxes.
const (
	mostBoxes = 64
	widestRow = 2700
)

// layLevels lays switches out level by level, leafs at the bottom.
func (p *picture) layLevels() {
	rows := make([][]int, p.fabric.Levels)
	for level := 1; level <= p.fabric.Levels; level++ {
		var boxes []knot
		width := 0.0
		for _, members := range p.boxes(level) {
			boxes = append(boxes, p.box(members))
			width += boxes[len(boxes)-1].w + boxGap
		}
		for _, k := range boxes {
			if width > widestRow && k.shape == wide {
				k.shape, k.w, k.h = tall, p.tallWidth(&k), textWidth(k.label)+10
			}
			rows[level-1] = append(rows[level-1], len(p.knots))
			p.addKnot(k)
		}
	}
	p.addEdges()
	p.order(rows)
	p.placeRows(rows)
	p.placeLevels(rows)
	p.attach()
}

// boxes divides the switches of a level into those that share a box: one each if there
// are not too many, else those that the levels below the top, or for the top those above
// the leafs, connect.
func (p *picture) boxes(level int) [][]int {
	f, top := p.fabric, p.fabric.Levels
	var members []int
	for s := range f.Switches {
		if f.Switches[s].Level == level {
			members = append(members, s)
		}
	}
	pods := f.Components(1, max(top-1, 1))
	podName := map[int]string{} // the first of each
	for _, s := range members {
		if was, ok := podName[pods[s]]; !ok || shape.Natural(f.Switches[s].Name, was) < 0 {
			podName[pods[s]] = f.Switches[s].Name
		}
	}
	slices.SortFunc(members, func(a, b int) int {
		return cmp.Or(shape.Natural(podName[pods[a]], podName[pods[b]]),
			shape.Natural(f.Switches[a].Name, f.Switches[b].Name), a-b)
	})
	best := splitBy(members, func(s int) int { return s })
	if len(best) <= mostBoxes {
		return best
	}
	for l := level; l < top; l++ {
		part := f.Components(1, l)
		if best = splitBy(members, func(s int) int { return part[s] }); len(best) <= mostBoxes {
			return best
		}
	}
	for l := level - 1; level == top && l > 1; l-- {
		part := f.Components(l, top)
		if best = splitBy(members, func(s int) int { return part[s] }); len(best) <= mostBoxes {
			return best
		}
	}
	return best
}

// splitBy divides switches by a key; the groups are in the order of their first ones.
func splitBy(members []int, key func(int) int) (groups [][]int) {
	at := map[int]int{}
	for _, s := range members {
		g, ok := at[key(s)]
		if !ok {
			g = len(groups)
			at[key(s)] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], s)
	}
	return groups
}

// box is a knot for switches that share a box, without a place.
func (p *picture) box(members []int) knot {
	k := knot{members: members, label: p.fabric.Switches[members[0]].Name, h: boxHeight}
	if n := len(members); n > 1 {
		k.shape = crate
		k.label += fmt.Sprintf(" +%d", n-1)
		k.w = max(float64(crateColumns(n))*cellPitch+8, textWidth(k.label)+10)
		k.h = lineHeight + 8 + float64((n-1)/crateColumns(n)+1)*cellPitch
		return k
	}
	k.w = max(textWidth(k.label)+10, 34)
	if p.hosts == hostNames {
		for _, h := range p.fabric.Switches[members[0]].Hosts {
			k.w = max(k.w, textWidth(p.hostName(h.Host))+cellPitch+4)
		}
	}
	return k
}

// tallWidth is how wide a tall box is: its hosts stand two by two below it.
func (p *picture) tallWidth(k *knot) float64 {
	switch n := p.hostsOf(k); {
	case p.hosts == hostNames && n > 0:
		return k.w
	case p.hosts == hostCells && n > 4:
		return 2*cellPitch + 2
	}
	return 14
}

// crateColumns is how many cells of a crate are side by side.
func crateColumns(n int) int {
	columns := 1
	for columns*columns < 2*n {
		columns++
	}
	return columns
}

func textWidth(s string) float64 { return float64(len([]rune(s))) * charWidth }

// placeRows gives the knots their x: the leafs side by side, and what is above them as
// near above what it is cabled to as there is room.
func (p *picture) placeRows(rows [][]int) {
	x := float64(margin)
	pods := p.fabric.Components(1, max(p.fabric.Levels-1, 1))
	widest := 0
	for i, row := range rows {
		if p.rowWidth(row) > p.rowWidth(rows[widest]) {
			widest = i
		}
	}
	if widest > 0 && p.rowWidth(rows[widest]) > 1.3*p.rowWidth(rows[0]) { // leafs are spread
		x = margin + (p.rowWidth(rows[widest])-p.rowWidth(rows[0]))/2
	}
	for i, n := range rows[0] {
		k := &p.knots[n]
		if i > 0 {
			x += boxGap
			if pods[k.members[0]] != pods[p.knots[rows[0][i-1]].members[0]] {
				x += podGap
			}
		}
		k.x = x + k.w/2
		x += k.w
	}
	p.w = max(x+margin, p.rowWidth(rows[widest])+2*margin, 640)
	for _, row := range rows[1:] {
		p.placeAbove(row)
	}
}

func (p *picture) rowWidth(row []int) (w float64) {
	for _, n := range row {
		w += p.knots[n].w + boxGap
	}
	return w
}

// placeAbove places a row whose order is settled, each knot at the mean of those that it
// is cabled to below, and no two closer than the gap: where they would be, they share the
// mean of their places.
func (p *picture) placeAbove(row []int) {
	below := p.below()
	gap := min(max((p.w-2*margin-p.rowWidth(row))/float64(len(row)+1), 0)+boxGap, 70)
	type block struct {
		sum, at float64 // at is sum / n
		n       int
	}
	var blocks []block
	offset := make([]float64, len(row)) // from the first knot, were they as near as may be
	for i, n := range row {
		if i > 0 {
			offset[i] = offset[i-1] + p.knots[row[i-1]].w/2 + gap + p.knots[n].w/2
		}
		want := p.w / 2
		if len(below[n]) > 0 {
			want = 0
			for _, o := range below[n] {
				want += p.knots[o].x / float64(len(below[n]))
			}
		}
		b := block{want - offset[i], want - offset[i], 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].at > b.at {
			last := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			b = block{b.sum + last.sum, (b.sum + last.sum) / float64(b.n+last.n), b.n + last.n}
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for range b.n {
			p.knots[row[i]].x = b.at + offset[i]
			i++
		}
	}
	if len(row) == 0 {
		return
	}
	first, last := &p.knots[row[0]], &p.knots[row[len(row)-1]]
	shift := min(max(margin+first.w/2-first.x, 0), max(p.w-margin-last.w/2-last.x, 0)) - max(last.x+last.w/2+margin-p.w,
		0)
	for _, n := range row {
		p.knots[n].x += shift
	}
}

// below lists by knot those on lower levels that it is cabled to.
func (p *picture) below() [][]int {
	list := make([][]int, len(p.knots))
	for i := range p.edges {
		e := &p.edges[i]
		a, b := p.level(e.a), p.level(e.b)
		if a < b {
			list[e.b] = append(list[e.b], e.a)
		} else if b < a {
			list[e.a] = append(list[e.a], e.b)
		}
	}
	return list
}

func (p *picture) level(k int) int { return p.fabric.Switches[p.knots[k].members[0]].Level }

// placeLevels gives the knots their y, and the picture its height.
func (p *picture) placeLevels(rows [][]int) {
	gap := min(max(p.w*0.13, 90), 320)
	y := float64(headHeight)
	for level := len(rows) - 1; level >= 0; level-- {
		height := 0.0
		for _, n := range rows[level] {
			height = max(height, p.knots[n].h)
		}
		for _, n := range rows[level] {
			p.knots[n].y = y + height/2
			if level == 0 {
				p.knots[n].y = y + p.knots[n].h/2
			}
		}
		y += height + gap
	}
	p.h = y - gap + margin
	for i := range p.knots {
		k := &p.knots[i]
		p.h = max(p.h, k.y+k.h/2+p.hostsHeight(k)+margin)
	}
}
