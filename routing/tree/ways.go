package tree

import (
	"bytes"
	"context"
	"encoding/binary"

	"ibsm/routing"
	"ibsm/topo"
)

// ways are the links of the shortest ways between all switches: of those that lead down only, and of those that go up and then down. Up to 126 links are
// counted; ways with more are none.
type ways struct {
	width int     // of a row: a byte for each destination, whole chunks
	falls []uint8 // by switch * width + destination: links by going down only
	any   []uint8 // likewise: falls where there is such a way, and otherwise links by going up first
}

const (
	noWay = 0x7f
	chunk = 128 // destinations that are searched for at once
	words = chunk / 8
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// newWays finds them for all destinations at once: eight in a word, each in seven bits.
func (n *network) newWays(ctx context.Context) (*ways, error) {
	count := len(n.level)
	w := &ways{width: (count + chunk - 1) / chunk * chunk}
	w.falls, w.any = bytes.Repeat([]uint8{noWay}, count*w.width), make([]uint8, count*w.width)
	return w, routing.Parallel(ctx, n.Workers, w.width/chunk, func() func(int) {
		return func(i int) {
			for _, s := range n.byHeight {
				var least [words]uint64
				row := w.begin(w.falls, s, i, &least)
				for _, g := range n.down[s] {
					w.least(w.falls, g.to, i, &least)
				}
				further(row, &least)
				if int(s)/chunk == i {
					row[int(s)%chunk] = 0
				}
			}
			for h := len(n.byHeight) - 1; h >= 0; h-- {
				s := n.byHeight[h]
				var least [words]uint64
				row := w.begin(w.any, s, i, &least)
				for _, r := range n.higher[s] {
					w.least(w.any, r, i, &least)
				}
				further(row, &least)
				for d, links := range w.falls[int(s)*w.width+i*chunk:][:chunk] {
					if links != noWay {
						row[d] = links
					}
				}
			}
		}
	})
}

// begin is the part of a row that is one chunk. No way is known yet.
func (w *ways) begin(rows []uint8, s topo.SwitchIdx, i int, least *[words]uint64) []uint8 {
	for k := range least {
		least[k] = noWay * ones
	}
	return rows[int(s)*w.width+i*chunk:][:chunk]
}

// least takes the ways from a switch where they are shorter.
func (w *ways) least(rows []uint8, from topo.SwitchIdx, i int, least *[words]uint64) {
	row := rows[int(from)*w.width+i*chunk:][:chunk]
	for k := range least {
		is, other := least[k], binary.LittleEndian.Uint64(row[8*k:])
		longer := ((is | highs) - other) & highs // by byte: is at least as long
		longer -= longer >> 7
		least[k] = other&longer | is&^longer
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
func (w *ways) from(rows []uint8, s topo.SwitchIdx) []uint8 { return rows[int(s)*w.width:][:w.width] }
