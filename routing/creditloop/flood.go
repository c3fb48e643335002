package creditloop

import (
	"math/bits"
	"sync/atomic"

	"ibsm/routing"
	"ibsm/topo"
)

// alike reports whether all packets that are at a switch, to one LID, are forwarded alike, and stop nowhere: they have one SL.
func (g *graph) alike() bool {
	return g.sls == 1 && g.classes == nil && g.used == nil && g.lost == nil
}

// flood follows the routes to all LIDs of a block together, where packets are alike: then it is enough to know to which of them some come to a
// switch. It belongs to one goroutine.
type flood struct {
	*graph
	came   []uint64 // by switch: LIDs of the block to which packets come there
	left   []uint64 // by switch: those of them that have not been followed on from there
	queue  []topo.SwitchIdx
	by     [256]uint64 // by port of the switch in hand: LIDs to which packets leave by it
	ports  []uint8     // those of by that have some, in no order
	onward []onward    // by switch: what was found last. Packets from several switches are often to the same LIDs
}

// onward are the ports that lead on from a switch, to other switches, of packets to some LIDs of a block.
type onward struct {
	lids  uint64
	ports routing.PortMask
}

func newFlood(g *graph) *flood {
	return &flood{graph: g, came: make([]uint64, len(g.Rows)), left: make([]uint64, len(g.Rows)), onward: make([]onward, len(g.Rows))}
}

func (f *flood) follow(block int, lids uint64) {
	first := block * routing.BlockSize
	for i := range routing.BlockSize {
		if lid := first + i; lid >= len(f.dests) || !f.dests[lid] {
			lids &^= 1 << i
		}
	}
	if lids == 0 {
		return
	}
	clear(f.came)
	clear(f.onward)
	f.queue = f.queue[:0]
	for i := range f.sources {
		f.come(f.sources[i].at, lids)
	}
	for i := 0; i < len(f.queue); i++ {
		s := f.queue[i]
		now := f.left[s]
		f.left[s] = 0
		for rules := range f.rules {
			f.leave(rules, s, first, now)
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
func (f *flood) leave(rules int, s topo.SwitchIdx, first int, lids uint64) {
	row := blockOf(f.rules[rules].Forwarding.Rows[s], first)
	for lids &= 1<<len(row) - 1; lids != 0; lids &= lids - 1 {
		port := row[bits.TrailingZeros64(lids)]
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
		for i, bits := range f.onwardFrom(to, first, lids).ports[:f.words] {
			if word := &f.deps[c*f.words+i]; bits&^atomic.LoadUint64(word) != 0 {
				atomic.OrUint64(word, bits)
			}
		}
	}
	f.ports = f.ports[:0]
}

// onwardFrom are the ports that lead on from a switch by any rules.
func (f *flood) onwardFrom(s topo.SwitchIdx, first int, lids uint64) *onward {
	to := &f.onward[s]
	if to.lids == lids {
		return to
	}
	*to = onward{lids: lids}
	next := f.next[int(s)*f.graph.ports:][:f.graph.ports]
	for i := range f.rules {
		row := blockOf(f.rules[i].Forwarding.Rows[s], first)
		for rest := lids & (1<<len(row) - 1); rest != 0; rest &= rest - 1 {
			if port := row[bits.TrailingZeros64(rest)]; int(port) < len(next) && next[port] >= 0 {
				to.ports.Add(port)
			}
		}
	}
	return to
}

// blockOf is what a row has of the block that begins with a LID.
func blockOf(row []uint8, first int) []uint8 {
	return row[min(first, len(row)):min(first+routing.BlockSize, len(row))]
}
