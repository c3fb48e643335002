package creditloop

import (
	"context"
	"math/bits"
	"sync/atomic"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// follow adds the dependencies of the routes to some LIDs.
func (g *graph) follow(ctx context.Context, lids routing.LIDSet) error {
	return routing.Parallel(ctx, len(lids), func() func(int) {
		w := &walker{graph: g, egress: make([]uint8, len(g.Rows)*routing.BlockSize), passed: make([]uint16, len(g.Rows))}
		return func(block int) {
			if lids[block] != 0 {
				w.followBlock(block, lids[block])
			}
		}
	})
}

// walker follows the routes of a block of LIDs. It belongs to one goroutine.
type walker struct {
	*graph
	egress []uint8  // by LID of the block * switches + SwitchIdx: the port to it, NoPath for none
	passed []uint16 // by SwitchIdx: on these lanes the route to the LID in hand has been followed
}

func (w *walker) followBlock(block int, lids uint64) {
	first, n := block*routing.BlockSize, len(w.Rows)
	for s, row := range w.Rows {
		row = row[min(first, len(row)):min(first+routing.BlockSize, len(row))]
		for i := range routing.BlockSize {
			port := uint8(routing.NoPath)
			if i < len(row) && int(row[i]) < w.ports {
				port = row[i]
			}
			w.egress[i*n+s] = port
		}
	}
	for ; lids != 0; lids &= lids - 1 {
		i := bits.TrailingZeros64(lids)
		if lid := first + i; lid < len(w.dests) && w.dests[lid] {
			w.followLID(lid, w.egress[i*n:][:n])
		}
	}
}

// followLID goes from each source towards a LID, up to where it has been on the same lanes.
// egress is the port to the LID by SwitchIdx.
func (w *walker) followLID(lid int, egress []uint8) {
	clear(w.passed)
	for i, s := range w.sources {
		lanes := w.lanesOf(i, lid)
		for port := egress[s]; port != routing.NoPath; {
			if lanes &^= w.passed[s]; lanes == 0 {
				break
			}
			w.passed[s] |= lanes
			c := int(s)*w.ports + int(port)
			if s = w.next[c]; s < 0 {
				break
			}
			if port = egress[s]; port != routing.NoPath && w.next[int(s)*w.ports+int(port)] >= 0 {
				for left := lanes; left != 0; left &= left - 1 {
					w.depend(bits.TrailingZeros16(left)*len(w.next)+c, port)
				}
			}
		}
	}
}

// lanesOf are the lanes of packets to a LID from a source, by its index.
func (g *graph) lanesOf(source, lid int) (lanes uint16) {
	if g.sls == nil {
		return 1
	}
	for _, row := range g.rows[source] {
		sl := uint8(0)
		if row >= 0 && lid < len(g.sls.To) && g.sls.To[lid] >= 0 {
			sl = g.sls.Rows[row][g.sls.To[lid]]
		}
		lanes |= 1 << sl
	}
	return lanes
}

// depend notes that packets that came by a channel go on by a port.
func (g *graph) depend(from int, port uint8) {
	word, bit := &g.deps[from*g.words+int(port/64)], uint64(1)<<(port%64)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
}

// each calls do for each channel that packets take after a channel, both on a lane.
func (g *graph) each(from int, do func(to int)) {
	lane, next := from/len(g.next), g.next[from%len(g.next)]
	for w, word := range g.deps[from*g.words:][:g.words] {
		for ; word != 0; word &= word - 1 {
			do(lane*len(g.next) + int(next)*g.ports + 64*w + bits.TrailingZeros64(word))
		}
	}
}

// witness is one channel on a lane, and packets that go from it to another.
func (g *graph) witness(from, to int) Channel {
	lane, from, to := from/len(g.next), from%len(g.next), to%len(g.next)
	w := Channel{Switch: topo.SwitchIdx(from / g.ports), Port: uint8(from % g.ports), Lane: uint8(lane)}
	for lid := range g.dests {
		if !g.dests[lid] || g.channel(int32(w.Switch), lid) != from || g.channel(g.next[from], lid) != to {
			continue
		}
		if source := g.source(from, lane, lid); source != topo.None {
			w.Source, w.Dest = source, mad.LID(lid)
			break
		}
	}
	return w
}

// source is a switch where packets to a LID start that take a channel on a lane, the one of the
// lowest number; None if there is none.
func (g *graph) source(channel, lane, lid int) topo.SwitchIdx {
	for i, s := range g.sources {
		if g.lanesOf(i, lid)>>lane&1 == 0 {
			continue
		}
		for range len(g.Rows) { // more channels are a circle
			c := g.channel(s, lid)
			if c < 0 {
				break
			}
			if c == channel {
				return topo.SwitchIdx(g.sources[i])
			}
			s = g.next[c]
		}
	}
	return topo.None
}
