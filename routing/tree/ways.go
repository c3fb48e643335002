package tree

import (
	"context"
	"encoding/binary"

	"ibsm/routing"
	"ibsm/topo"
)

// ways are the lengths of the shortest paths between all switches, in links: of paths that only lead down, else of
// up-down paths. At most 126 links are counted; longer paths count as none.
type ways struct {
	width int     // of a row: a byte for each destination, whole chunks
	links []uint8 // by switch * width + destination: links, and downOnly where they lead down only
	// uneven is by network.higherSet * width + destination: 0 where the shortest ways from all of these switches have
	// the same number of links.
	uneven []uint8
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
	w.links, w.uneven = make([]uint8, count*w.width), make([]uint8, n.higherSets*w.width)
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
				further(row, &least)
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
						row := w.part(w.links, int(r), i)
						shortest(&from.least, row)
						longest(&most, row)
					}
					unequal(w.part(w.uneven, int(n.higherSet[s]), i), &from.least, &most)
				}
				row := w.part(w.links, int(s), i)
				further(row, &from.least)
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

// part is the part of a row that is one chunk.
func (w *ways) part(rows []uint8, row, i int) []uint8 { return rows[row*w.width+i*chunk:][:chunk] }

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

// unequal writes 1 where two differ.
func unequal(row []uint8, a, b *[words]uint64) {
	for k := range a {
		binary.LittleEndian.PutUint64(row[8*k:], (a[k]^b[k]+noWay*ones)>>7&ones)
	}
}

// further writes ways that have one link more.
func further(row []uint8, least *[words]uint64) {
	for k, links := range least {
		links += ones
		binary.LittleEndian.PutUint64(row[8*k:], links-links>>7&ones) // none stays none
	}
}

// from are the links from a switch, by destination.
func (w *ways) from(s topo.SwitchIdx) []uint8 { return w.links[int(s)*w.width:][:w.width] }
