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
		w := &walker{graph: g, egress: make([]uint8, len(g.Rows)*routing.BlockSize), passed: make([]uint64, len(g.Rows))}
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
	passed []uint64 // by SwitchIdx, a bit for each LID of the block
}

func (w *walker) followBlock(block int, lids uint64) {
	clear(w.passed)
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
			w.followLID(w.egress[i*n:][:n], 1<<i)
		}
	}
}

// followLID goes from each source towards a LID, up to where it has been. egress is the port
// to the LID by SwitchIdx, bit that of the LID in passed.
func (w *walker) followLID(egress []uint8, bit uint64) {
	for _, s := range w.sources {
		port := egress[s]
		for port != routing.NoPath && w.passed[s]&bit == 0 {
			w.passed[s] |= bit
			c := int(s)*w.ports + int(port)
			if s = w.next[c]; s < 0 {
				break
			}
			if port = egress[s]; port != routing.NoPath && w.next[int(s)*w.ports+int(port)] >= 0 {
				w.depend(c, port)
			}
		}
	}
}

// depend notes that packets that came by a channel go on by a port.
func (g *graph) depend(from int, port uint8) {
	word, bit := &g.deps[from*g.words+int(port/64)], uint64(1)<<(port%64)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
}

// each calls do for each channel that packets take after a channel.
func (g *graph) each(from int, do func(to int)) {
	for w, word := range g.deps[from*g.words:][:g.words] {
		for ; word != 0; word &= word - 1 {
			do(int(g.next[from])*g.ports + 64*w + bits.TrailingZeros64(word))
		}
	}
}

// witness is one channel, and packets that go from it to another.
func (g *graph) witness(from, to int) Channel {
	w := Channel{Switch: topo.SwitchIdx(from / g.ports), Port: uint8(from % g.ports)}
	for lid := range g.dests {
		if !g.dests[lid] || g.channel(int32(w.Switch), lid) != from || g.channel(g.next[from], lid) != to {
			continue
		}
		if source := g.source(from, lid); source != topo.None {
			w.Source, w.Dest = source, mad.LID(lid)
			break
		}
	}
	return w
}

// source is a switch where packets to a LID start that take a channel, the one of the lowest
// number; None if there is none.
func (g *graph) source(channel, lid int) topo.SwitchIdx {
	for _, source := range g.sources {
		s := source
		for range len(g.Rows) { // more channels are a circle
			c := g.channel(s, lid)
			if c < 0 {
				break
			}
			if c == channel {
				return topo.SwitchIdx(source)
			}
			s = g.next[c]
		}
	}
	return topo.None
}
