package tree

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// ways are the lengths of the shortest paths between all switches, in links: of paths that only lead down, else of
// up-down paths. At most 126 links are counted; longer paths count as none.
type ways struct {
	width int       // of a row: a byte for each destination, whole chunks
	links [][]uint8 // by switch, then by destination: links, and downOnly where they lead down only
	// uneven is by network.higherSet, then by destination: 0 where the shortest ways from all of these switches have
	// the same number of links. Nil in what waysSince returns.
	uneven [][]uint8
}

const (
	noWay    = 0x7f // also what masks links
	downOnly = 0x80
	chunk    = 128 // destinations that are searched for at once
	words    = chunk / 8
	ones     = 0x0101010101010101
	highs    = 0x8080808080808080
)

// newWays finds them for all destinations at once: eight in a word, each in seven bits.
func (n *network) newWays(ctx context.Context) (*ways, error) {
	count := len(n.level)
	w := &ways{width: (count + chunk - 1) / chunk * chunk}
	w.links, w.uneven = newRows(count, w.width), newRows(n.higherSets, w.width)
	return w, routing.Parallel(ctx, n.Workers, w.width/chunk, func() func(int) {
		above, falls := make([]waysAbove, n.higherSets), make([]uint8, count*chunk)
		// by switch: some destination of the chunk is below, or the switch itself; without, falls say nothing
		fall := make([]bool, count)
		return func(i int) {
			for _, s := range n.byHeight {
				least := allOf(noWay)
				fall[s] = int(s)/chunk == i
				for _, g := range n.down[s] {
					if fall[g.to] {
						fall[s] = true
						shortest(&least, falls[int(g.to)*chunk:][:chunk])
					}
				}
				if !fall[s] {
					continue
				}
				row := falls[int(s)*chunk:][:chunk]
				writeFurther(row, &least)
				if int(s)/chunk == i {
					row[int(s)%chunk] = 0
				}
			}
			clear(above)
			for h := len(n.byHeight) - 1; h >= 0; h-- {
				s := n.byHeight[h]
				from := &above[n.higherSet[s]]
				if !from.known {
					*from = waysAbove{true, allOf(noWay)}
					most := allOf(0)
					for _, r := range n.higher[s] {
						row := part(w.links[r], i)
						shortest(&from.least, row)
						longest(&most, row)
					}
					writeUneven(part(w.uneven[n.higherSet[s]], i), &from.least, &most)
				}
				row := part(w.links[s], i)
				writeFurther(row, &from.least)
				if !fall[s] {
					continue
				}
				for d, links := range falls[int(s)*chunk:][:chunk] {
					if links != noWay {
						row[d] = links | downOnly
					}
				}
			}
		}
	})
}

// waysAbove are the shortest ways from the switches next to one above, to the destinations of a chunk.
type waysAbove struct {
	known bool
	least [words]uint64
}

func newRows(count, width int) [][]uint8 {
	rows, flat := make([][]uint8, count), make([]uint8, count*width)
	for i := range rows {
		rows[i] = flat[i*width:][:width:width]
	}
	return rows
}

// part is the part of a row that is one chunk.
func part(row []uint8, i int) []uint8 { return row[i*chunk:][:chunk] }

// waysSince derives the ways from those of a network with the same switches in the same order, in which some have other
// links: a row is computed anew only where links of the switch, or rows of switches next to it, are others. The other
// rows are shared. It returns nil where the switches are not the same.
func (n *network) waysSince(o *origin) *ways {
	if !slices.Equal(o.height, n.height) || !o.sameSwitches(n.Topo) {
		return nil
	}
	w := &ways{width: o.ways.width, links: slices.Clone(o.ways.links)}
	relinked := make([]bool, len(w.links))
	for s := range relinked {
		is, _ := n.graph.Edges(topo.SwitchIdx(s))
		was, _ := o.graph.Edges(topo.SwitchIdx(s))
		relinked[s] = !slices.Equal(is, was)
	}
	nowhere, row, was := slices.Repeat([]uint8{noWay}, w.width), make([]uint8, w.width), make([]uint8, w.width)
	others := make([][]uint8, len(w.links)) // rows of those from which other switches are below
	down := func(s topo.SwitchIdx) []uint8 {
		if others[s] != nil {
			return others[s]
		}
		return o.ways.links[s]
	}
	for _, s := range n.byHeight {
		if !relinked[s] && !slices.ContainsFunc(n.down[s], func(g group) bool { return others[g.to] != nil }) {
			continue
		}
		copy(row, nowhere)
		for _, g := range n.down[s] {
			addFalls(row, down(g.to))
		}
		row[s] = 0
		setFalls(row)
		copy(was, nowhere)
		if takeFalls(was, o.ways.links[s]); !bytes.Equal(row, was) {
			others[s] = slices.Clone(row)
		}
	}
	changed, above := make([]bool, len(w.links)), make([][]uint8, n.higherSets)
	for _, s := range slices.Backward(n.byHeight) {
		if !relinked[s] && others[s] == nil &&
			!slices.ContainsFunc(n.higher[s], func(r topo.SwitchIdx) bool { return changed[r] }) {
			continue
		}
		up := &above[n.higherSet[s]]
		if *up == nil {
			*up = slices.Clone(nowhere)
			for _, r := range n.higher[s] {
				addLinks(*up, w.links[r])
			}
		}
		copy(row, *up)
		if takeFalls(row, down(s)); !bytes.Equal(row, w.links[s]) {
			w.links[s], changed[s] = slices.Clone(row), true
		}
	}
	return w
}

// addLinks takes the paths of a switch next to one where they are shorter.
func addLinks(row, next []uint8) {
	for i := 0; i < len(row); i += 8 {
		is, links := binary.LittleEndian.Uint64(row[i:]), further(binary.LittleEndian.Uint64(next[i:])&^highs)
		longer := atLeast(is, links)
		binary.LittleEndian.PutUint64(row[i:], links&longer|is&^longer)
	}
}

// addFalls takes the paths of a lower switch that only lead down where they are shorter.
func addFalls(row, lower []uint8) {
	for i := 0; i < len(row); i += 8 {
		is, links := binary.LittleEndian.Uint64(row[i:]), binary.LittleEndian.Uint64(lower[i:])
		falls := links & highs >> 7 * noWay // masks
		links = further(links&falls | noWay*ones&^falls)
		longer := atLeast(is, links)
		binary.LittleEndian.PutUint64(row[i:], links&longer|is&^longer)
	}
}

// setFalls says of all paths of a row that they only lead down.
func setFalls(row []uint8) {
	for i := 0; i < len(row); i += 8 {
		links := binary.LittleEndian.Uint64(row[i:])
		binary.LittleEndian.PutUint64(row[i:], links|((links^noWay*ones)+noWay*ones)&highs)
	}
}

// takeFalls takes the paths of another row that only lead down.
func takeFalls(row, other []uint8) {
	for i := 0; i < len(row); i += 8 {
		links := binary.LittleEndian.Uint64(other[i:])
		falls := links & highs >> 7 * math.MaxUint8 // masks
		binary.LittleEndian.PutUint64(row[i:], links&falls|binary.LittleEndian.Uint64(row[i:])&^falls)
	}
}

func allOf(links uint64) (all [words]uint64) {
	for k := range all {
		all[k] = links * ones
	}
	return all
}

// shortest takes the paths of a row where they are shorter, including those that only lead down.
func shortest(least *[words]uint64, row []uint8) {
	for k := range least {
		is, other := least[k], binary.LittleEndian.Uint64(row[8*k:])&^highs
		longer := atLeast(is, other)
		least[k] = other&longer | is&^longer
	}
}

// longest takes the ways of a row where they are longer.
func longest(most *[words]uint64, row []uint8) {
	for k := range most {
		is, other := most[k], binary.LittleEndian.Uint64(row[8*k:])&^highs
		longer := atLeast(is, other)
		most[k] = is&longer | other&^longer
	}
}

// atLeast has all seven bits of each byte in which a is at least b.
func atLeast(a, b uint64) uint64 {
	is := ((a | highs) - b) & highs
	return is - is>>7
}

// writeUneven writes 1 where two differ.
func writeUneven(row []uint8, a, b *[words]uint64) {
	for k := range a {
		binary.LittleEndian.PutUint64(row[8*k:], (a[k]^b[k]+noWay*ones)>>7&ones)
	}
}

// writeFurther writes ways that have one link more.
func writeFurther(row []uint8, least *[words]uint64) {
	for k, links := range least {
		binary.LittleEndian.PutUint64(row[8*k:], further(links))
	}
}

// further adds a link to eight ways; none stays none.
func further(links uint64) uint64 {
	links += ones
	return links - links>>7&ones
}

// unequal makes a set of the destinations for which two rows differ.
func unequal(set []uint64, a, b []uint8) {
	for i := range set {
		set[i] = 0
		for k := range 8 {
			at := 64*i + 8*k
			differ := binary.LittleEndian.Uint64(a[at:]) ^ binary.LittleEndian.Uint64(b[at:])
			differ = (differ | (differ&^highs + noWay*ones)) & highs >> 7 // 1 for each byte that is not 0
			set[i] |= differ * gather >> 56 << (8 * k)
		}
	}
}

// gather moves the lowest bits of the bytes of a word into its highest byte.
const gather = 0x0102040810204080

// from are the links from a switch, by destination.
func (w *ways) from(s topo.SwitchIdx) []uint8 { return w.links[s] }
