package creditloop

import (
	"context"
	"math/bits"
	"sync/atomic"

	"ibsm/routing"
	"ibsm/topo"
)

// alike reports whether all packets that are at a switch, to one LID, are forwarded alike, and stop nowhere: they have one SL.
func (g *graph) alike() bool {
	return g.sls == 1 && g.classes == nil && g.used == nil && g.lost == nil
}

// flood follows the routes to several LIDs together, where packets are alike: then it is enough to know to which of them some come to a
// switch. It belongs to one goroutine.
type flood struct {
	*graph
	lids   []int32  // those in hand, at most floodSize; the sets below have a bit for each
	came   []uint64 // by switch: to which of them packets come there
	left   []uint64 // by switch: those of them that have not been followed on from there
	queue  []topo.SwitchIdx
	by     [256]uint64 // by port of the switch in hand: LIDs to which packets leave by it
	ports  []uint8     // those of by that have some, in no order
	onward []onward    // by switch: what was found last. Packets from several switches are often to the same LIDs
}

// floodSize is how many LIDs are followed together: as many as a word has bits.
const floodSize = 64

// onward are the ports that lead on from a switch, to other switches, of packets to some of the LIDs.
type onward struct {
	lids  uint64
	ports routing.PortMask
}

// followTogether adds the dependencies of the routes to some LIDs, where packets are alike: to those of as many whole blocks at once as floodSize
// permits, as each flood passes all switches.
func (g *graph) followTogether(ctx context.Context, lids routing.LIDSet) error {
	var all []int32
	ends := []int{0} // in all: of those that are followed together
	for block, word := range lids {
		begin := len(all)
		for ; word != 0; word &= word - 1 {
			if lid := block*routing.BlockSize + bits.TrailingZeros64(word); lid < len(g.dests) && g.dests[lid] {
				all = append(all, int32(lid))
			}
		}
		if last := len(ends) - 1; last > 0 && len(all)-ends[last-1] <= floodSize {
			ends[last] = len(all)
		} else if len(all) > begin {
			ends = append(ends, len(all))
		}
	}
	return routing.Parallel(ctx, g.Workers, len(ends)-1, func() func(int) {
		f := newFlood(g)
		return func(i int) { f.follow(all[ends[i]:ends[i+1]]) }
	})
}

func newFlood(g *graph) *flood {
	return &flood{graph: g, came: make([]uint64, len(g.Rows)), left: make([]uint64, len(g.Rows)), onward: make([]onward, len(g.Rows))}
}

// follow follows the routes to some LIDs, at most floodSize.
func (f *flood) follow(lids []int32) {
	f.lids = lids
	all := ^uint64(0) >> (floodSize - len(lids))
	clear(f.came)
	clear(f.onward)
	f.queue = f.queue[:0]
	for i := range f.sources {
		f.come(f.sources[i].at, all)
	}
	for i := 0; i < len(f.queue); i++ {
		s := f.queue[i]
		now := f.left[s]
		f.left[s] = 0
		for rules := range f.rules {
			f.leave(rules, s, now)
		}
	}
}

// come notes that packets come to a switch.
func (f *flood) come(s topo.SwitchIdx, lids uint64) {
	if lids &^= f.came[s]; lids != 0 {
		if f.left[s] == 0 {
			f.queue = append(f.queue, s)
		}
		f.came[s] |= lids
		f.left[s] |= lids
	}
}

// leave follows packets that leave a switch by some rules.
func (f *flood) leave(rules int, s topo.SwitchIdx, lids uint64) {
	row := f.rules[rules].Forwarding.Rows[s]
	for ; lids != 0; lids &= lids - 1 {
		lid := int(f.lids[bits.TrailingZeros64(lids)])
		if lid >= len(row) {
			break
		}
		port := row[lid]
		if f.by[port] == 0 {
			f.ports = append(f.ports, port)
		}
		f.by[port] |= lids & -lids
	}
	for _, port := range f.ports {
		lids := f.by[port]
		f.by[port] = 0
		if int(port) >= f.graph.ports {
			continue
		}
		c := int(s)*f.graph.ports + int(port)
		to := f.next[c]
		if to < 0 {
			continue
		}
		f.come(to, lids)
		for i, bits := range f.onwardFrom(to, lids).ports[:f.words] {
			if word := &f.deps[c*f.words+i]; bits&^atomic.LoadUint64(word) != 0 {
				atomic.OrUint64(word, bits)
			}
		}
	}
	f.ports = f.ports[:0]
}

// onwardFrom are the ports that lead on from a switch by any rules.
func (f *flood) onwardFrom(s topo.SwitchIdx, lids uint64) *onward {
	to := &f.onward[s]
	if to.lids == lids {
		return to
	}
	*to = onward{lids: lids}
	next := f.next[int(s)*f.graph.ports:][:f.graph.ports]
	for i := range f.rules {
		row := f.rules[i].Forwarding.Rows[s]
		for rest := lids; rest != 0; rest &= rest - 1 {
			lid := int(f.lids[bits.TrailingZeros64(rest)])
			if lid >= len(row) {
				break
			}
			if port := row[lid]; int(port) < len(next) && next[port] >= 0 {
				to.ports.Add(port)
			}
		}
	}
	return to
}
