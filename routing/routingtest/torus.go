package routingtest

import (
	"fmt"
	"regexp"
	"strconv"

	"ibsm/mad"
)

const torus2QoS = "torus-2QoS"

var boxes = regexp.MustCompile(`^(torus|mesh):dims=(\d+)x(\d+)(?:x(\d+))?,`)

// box is what a torus or mesh has been made of: its radices, and the GUIDs of its switches by coordinates.
type box struct {
	radix [3]int
	open  bool
	at    map[[3]int]mad.GUID
}

func (d *draw) box(spec string) *box {
	m := boxes.FindStringSubmatch(spec)
	if m == nil {
		m = boxes.FindStringSubmatch("torus:dims=3x3,") // something else than the fabric
	}
	b := &box{open: m[1] == "mesh", at: map[[3]int]mad.GUID{}}
	names := "switch-%d-%d-%d"
	if m[4] == "" {
		names, m[4] = "switch-%d-%d", "1"
	}
	for dim := range b.radix {
		b.radix[dim], _ = strconv.Atoi(m[2+dim])
	}
	for _, n := range d.topo.Switches {
		var at [3]int
		node := &d.topo.Nodes[n]
		if found, _ := fmt.Sscanf(node.Desc.String(), names, &at[0], &at[1], &at[2]); found >= 2 {
			b.at[at] = node.GUID
		}
	}
	return b
}

// next is the place next to another along a dimension; ok is false beyond the end of an open row, and of one of two.
func (b *box) next(at [3]int, dim, sign int) (to [3]int, ok bool) {
	radix := b.radix[dim]
	to = at
	to[dim] += sign
	if ok = to[dim] >= 0 && to[dim] < radix; !ok && !b.open && radix > 2 {
		to[dim], ok = (to[dim]+radix)%radix, true
	}
	return to, ok
}

// torus is the spec of a torus or mesh, of two or three dimensions.
func (d *draw) torus() string {
	n := func(from, to int) int { return from + d.IntN(to-from+1) }
	kind := []string{"torus", "torus", "mesh"}[d.IntN(3)]
	spec := fmt.Sprintf("%s:dims=%dx%dx%d,hosts=%d", kind, n(2, 5), n(2, 5), n(2, 4), n(1, 2))
	if d.one(3) {
		spec = fmt.Sprintf("%s:dims=%dx%d,hosts=%d", kind, n(2, 7), n(2, 7), n(1, 2))
	}
	switch d.IntN(4) {
	case 0:
		spec += fmt.Sprintf(",missing-links=%d", n(1, 4))
	case 1:
		spec += fmt.Sprintf(",missing-links=%d%%", n(1, 10))
	case 2:
		spec += ",missing-switches=1"
	}
	return spec + fmt.Sprintf(",devices=ideal,sharp=none,seed=%d", n(1, 1<<20))
}

// torusFile is a torus-2QoS.conf: of a few seeds, each a switch and some or all next to it. Rarely a seed is not what
// it should be, or has a switch that is missing.
func (d *draw) torusFile(spec string) (lines []string) {
	b := d.box(spec)
	topology := map[bool]string{true: "mesh", false: "torus"}[b.open]
	for _, radix := range b.radix {
		topology += fmt.Sprintf(" %d", radix)
	}
	lines = append(lines, topology)
	if d.one(4) {
		lines = append(lines, fmt.Sprintf("portgroup_max_ports %d", 2+d.IntN(8)))
	}
	if d.one(4) {
		order := "port_order"
		for _, p := range d.Perm(8)[:1+d.IntN(8)] {
			order += fmt.Sprintf(" %d", p)
		}
		lines = append(lines, order)
	}
	if d.one(4) {
		lines = append(lines, fmt.Sprintf("max_changes %d", d.IntN(40)))
	}
	for n := range 1 + d.IntN(3) {
		if n > 0 {
			lines = append(lines, "next_seed")
		}
		lines = append(lines, d.torusSeed(b)...)
	}
	return lines
}

func (d *draw) torusSeed(b *box) (lines []string) {
	var at [3]int
	for dim, radix := range b.radix {
		at[dim] = d.IntN(radix)
	}
	guid := func(at [3]int) uint64 { return uint64(b.at[at]) } // 0 for a switch that is missing
	for dim, radix := range b.radix {
		if radix == 1 {
			continue
		}
		signs := []int{-1, 1}
		if d.one(2) && radix != 4 {
			signs = signs[d.IntN(2):][:1]
		}
		given := 0
		for _, sign := range append(signs, -signs[0]) {
			to, ok := b.next(at, dim, sign)
			if !ok || given == len(signs) {
				continue
			}
			given++
			if d.one(60) {
				to = at
			}
			lines = append(lines, fmt.Sprintf("%c%c_link %#x %#x", "xyz"[dim], "mp"[(sign+1)/2], guid(at), guid(to)))
		}
		switch {
		case b.open:
			lines = append(lines, fmt.Sprintf("%c_dateline %d", "xyz"[dim], -at[dim]))
		case d.one(2):
			lines = append(lines, fmt.Sprintf("%c_dateline %d", "xyz"[dim], d.IntN(2*radix-1)-radix+1))
		}
	}
	return lines
}
