package creditloop

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"ibsm/routing"
	"ibsm/topo"
)

// follow adds the dependencies of the routes to some LIDs, and of multicast packets. The error is that of ctx.
func (g *graph) follow(ctx context.Context, lids routing.LIDSet) error {
	err := g.followRoutes(ctx, lids)
	sp := newSpreader(g)
	for i := range g.Multicast {
		sp.spread(&g.Multicast[i], g.sources, sp.note)
	}
	return err
}

// followRoutes adds the dependencies of the routes to some LIDs. Because each flood visits all switches, it handles as
// many whole blocks of LIDs at once as floodSize permits.
func (g *graph) followRoutes(ctx context.Context, lids routing.LIDSet) error {
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
	var floods []*flood
	var mutex sync.Mutex
	err := routing.Parallel(ctx, g.Workers, len(ends)-1, func() func(int) {
		f := newFlood(g)
		mutex.Lock()
		floods = append(floods, f)
		mutex.Unlock()
		return func(i int) { f.follow(all[ends[i]:ends[i+1]]) }
	})
	for _, f := range floods {
		for stream, sls := range f.used {
			g.used[stream] |= sls
		}
	}
	return err
}

// flood follows the routes to several LIDs together, for packets of one SL after the other: packets of one SL that are
// at a switch, to one LID, and came in by ports of one class, are alike. So it is enough to know to which of the LIDs
// some come there. It belongs to one goroutine.
type flood struct {
	*graph
	lids   []int32     // those in hand, at most floodSize; the sets below have a bit for each
	sends  []uint64    // by SL * sources + source: to which of them it sends packets of that SL
	came   []uint64    // by input: to which of them packets of the SL in hand come there
	left   []uint64    // by input: those of them that have not been followed on from there
	queue  []place     // where left has some
	by     [256]uint64 // by port of the switch in hand: LIDs to which packets leave by it
	ports  []uint8     // those of by that have some, in no order
	onward []onward    // by switch: what was found last. Packets from several switches are often to the same LIDs
	used   []uint16    // as in graph
}

// place is where packets come to: a switch, and the class of the port by which they came in.
type place struct {
	at    topo.SwitchIdx
	class uint8
}

// floodSize is how many LIDs are followed together: as many as a word has bits.
const floodSize = 64

// onward are the ports that lead on from a switch, to other switches, of packets to some of the LIDs.
type onward struct {
	lids  uint64
	ports routing.PortMask
}

func newFlood(g *graph) *flood {
	f := &flood{
		graph: g, sends: make([]uint64, g.sls*len(g.sources)), came: make([]uint64, g.inputs),
		left: make([]uint64, g.inputs), onward: make([]onward, len(g.Rows)),
	}
	if g.used != nil {
		f.used = make([]uint16, g.count)
	}
	return f
}

// follow follows the routes to some LIDs, at most floodSize.
func (f *flood) follow(lids []int32) {
	f.lids = lids
	clear(f.onward)
	f.setSends()
	for sl := range uint8(f.sls) {
		sends := f.sends[int(sl)*len(f.sources):][:len(f.sources)]
		clear(f.came)
		f.queue = f.queue[:0]
		for i, lids := range sends {
			f.come(place{f.sources[i].at, f.sources[i].class}, lids)
		}
		for i := 0; i < len(f.queue); i++ {
			at := f.queue[i]
			left := &f.left[f.input(at.at, at.class)]
			now := *left
			*left = 0
			f.leave(at, now, sl)
		}
	}
}

// setSends finds which source sends to which of the LIDs on which SL. LIDs of one column of SLs have the same, and
// mostly follow each other.
func (f *flood) setSends() {
	clear(f.sends)
	all := ^uint64(0) >> (floodSize - len(f.lids))
	if f.sls == 1 {
		for i := range f.sources {
			f.sends[i] = all
		}
		return
	}
	for first := 0; first < len(f.lids); {
		end := first + 1
		for end < len(f.lids) && f.sameColumns(f.lids[first], f.lids[end]) {
			end++
		}
		some := all >> (len(f.lids) - end) &^ (1<<first - 1)
		for i := range f.sources {
			for sls := f.slsOf(&f.sources[i], int(f.lids[first])); sls != 0; sls &= sls - 1 {
				f.sends[bits.TrailingZeros16(sls)*len(f.sources)+i] |= some
			}
		}
		first = end
	}
}

// sameColumns reports whether packets to two LIDs have the same SLs, whatever sends them.
func (g *graph) sameColumns(a, b int32) bool {
	return !slices.ContainsFunc(g.rules, func(r Rules) bool { return r.column(a) != r.column(b) })
}

// column is the column of the SLs of packets to a LID, negative if there is none.
func (r *Rules) column(lid int32) int32 {
	if r.SLs == nil || int(lid) >= len(r.SLs.To) {
		return topo.None
	}
	return max(r.SLs.To[lid], topo.None)
}

// come notes that packets come to a switch.
func (f *flood) come(to place, lids uint64) {
	input := f.input(to.at, to.class)
	if lids &^= f.came[input]; lids != 0 {
		if f.left[input] == 0 {
			f.queue = append(f.queue, to)
		}
		f.came[input] |= lids
		f.left[input] |= lids
	}
}

// leave follows packets of an SL that leave a switch.
func (f *flood) leave(from place, lids uint64, sl uint8) {
	for i := range f.rules {
		if i == 0 || !routing.SameRow(f.rules[0].Forwarding.Rows[from.at], f.rules[i].Forwarding.Rows[from.at]) {
			f.sort(f.rules[i].Forwarding.Rows[from.at], lids)
		}
	}
	for _, port := range f.ports {
		lids := f.by[port]
		f.by[port] = 0
		if int(port) >= f.graph.ports {
			continue
		}
		c := int(from.at)*f.graph.ports + int(port)
		stream := f.stream(from.at, port, from.class)
		if f.used != nil {
			f.used[stream] |= 1 << sl
		}
		to := f.next[c]
		if to < 0 || f.lost != nil && f.lost[stream]>>sl&1 != 0 {
			continue
		}
		f.come(place{to, f.after(c)}, lids)
		at := (stream*f.sls + int(sl)) * f.words
		for i, bits := range f.onwardFrom(to, lids).ports[:f.words] {
			if word := &f.deps[at+i]; bits&^atomic.LoadUint64(word) != 0 {
				atomic.OrUint64(word, bits)
			}
		}
	}
	f.ports = f.ports[:0]
}

// sort adds to by and ports the ports by which packets to some LIDs leave a switch that has a row.
func (f *flood) sort(row []uint8, lids uint64) {
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
		if i > 0 && routing.SameRow(row, f.rules[0].Forwarding.Rows[s]) {
			continue
		}
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

// depend notes that packets of a stream go on by a port.
func (g *graph) depend(stream int, sls uint16, port uint8) {
	bit := uint64(1) << (port % 64)
	for ; sls != 0; sls &= sls - 1 {
		word := &g.deps[(stream*g.sls+bits.TrailingZeros16(sls))*g.words+int(port/64)]
		if atomic.LoadUint64(word)&bit == 0 {
			atomic.OrUint64(word, bit)
		}
	}
}

// depended reports whether a stream's packets of an SL go on by a port.
func (g *graph) depended(stream int, sl, port uint8) bool {
	return g.deps[(stream*g.sls+int(sl))*g.words+int(port/64)]>>(port%64)&1 != 0
}
