package creditloop

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"ibsm/routing"
	"ibsm/topo"
)

// follow adds the dependencies of the routes to some LIDs, and those of multicast packets. The error is that of ctx.
func (g *graph) follow(ctx context.Context, lids routing.LIDSet) error {
	follow := g.followEach
	if g.alike() {
		follow = g.followTogether
	}
	err := follow(ctx, lids)
	sp := newSpreader(g)
	for i := range g.Multicast {
		sp.spread(&g.Multicast[i], g.sources, sp.note)
	}
	return err
}

// followEach adds the dependencies of the routes to some LIDs, by one LID after the other.
func (g *graph) followEach(ctx context.Context, lids routing.LIDSet) error {
	var two routing.LIDSet // LIDs to which switches have two routes
	if len(g.rules) > 1 && !lids.Empty() {
		two = g.Changed(g.rules[1].Forwarding)
	}
	var workers []*walker
	var mutex sync.Mutex
	err := routing.Parallel(ctx, g.Workers, len(lids), func() func(int) {
		w := &walker{graph: g, passed: make([]uint16, g.inputs), sls: make([]uint16, len(g.sources)), column: noColumn}
		for i := range g.rules {
			w.egress[i] = make([]uint8, len(g.Rows)*routing.BlockSize)
		}
		if g.used != nil {
			w.used = make([]uint16, g.count)
		}
		mutex.Lock()
		workers = append(workers, w)
		mutex.Unlock()
		return func(block int) {
			if lids[block] != 0 {
				w.followBlock(block, lids[block], two)
			}
		}
	})
	for _, w := range workers {
		for stream, sls := range w.used {
			g.used[stream] |= sls
		}
	}
	return err
}

// walker follows the routes of a block of LIDs. It belongs to one goroutine.
type walker struct {
	*graph
	egress [2][]uint8 // for each rules, by LID of the block * switches + SwitchIdx: the port to it, NoPath for none
	passed []uint16   // by input: with these SLs the routes to the LID in hand have been followed
	sls    []uint16   // by index in sources: those of packets to the LID in hand
	column int32      // of that LID, with rules of one time
	used   []uint16   // as in graph
	stack  []packets
}

// packets are at a switch.
type packets struct {
	at    topo.SwitchIdx
	class uint8 // of the port by which they came in
	sls   uint16
}

func (w *walker) followBlock(block int, lids uint64, two routing.LIDSet) {
	n := len(w.Rows)
	several := uint64(0)
	if block < len(two) {
		several = two[block]
	}
	w.transpose(0, block, lids)
	if several &= lids; several != 0 {
		w.transpose(1, block, several)
	}
	for ; lids != 0; lids &= lids - 1 {
		i := bits.TrailingZeros64(lids)
		switch lid := block*routing.BlockSize + i; {
		case lid >= len(w.dests) || !w.dests[lid]:
		case several>>i&1 != 0:
			w.followBoth(lid, [2][]uint8{w.egress[0][i*n:][:n], w.egress[1][i*n:][:n]})
		default:
			w.followLID(lid, w.egress[0][i*n:][:n])
		}
	}
}

// transpose sets egress of some rules to those of some LIDs of a block.
func (w *walker) transpose(rules, block int, lids uint64) {
	first, n := block*routing.BlockSize, len(w.Rows)
	for s, row := range w.rules[rules].Forwarding.Rows {
		row = blockOf(row, first)
		if lids == routing.WholeBlock && len(row) == routing.BlockSize {
			for i, port := range row {
				if int(port) >= w.ports {
					port = routing.NoPath
				}
				w.egress[rules][i*n+s] = port
			}
			continue
		}
		for rest := lids; rest != 0; rest &= rest - 1 {
			i, port := bits.TrailingZeros64(rest), uint8(routing.NoPath)
			if i < len(row) && int(row[i]) < w.ports {
				port = row[i]
			}
			w.egress[rules][i*n+s] = port
		}
	}
}

// followLID goes from each source towards a LID, up to where it has been with the same SLs.
// egress is the port to the LID by SwitchIdx.
func (w *walker) followLID(lid int, egress []uint8) {
	clear(w.passed)
	w.slsTo(lid)
	for i := range w.sources {
		from := &w.sources[i]
		input, s, sls := w.input(from.at, from.class), int(from.at), w.sls[i]
		for port := int(egress[s]); port != routing.NoPath; {
			if sls &^= w.passed[input]; sls == 0 {
				break
			}
			w.passed[input] |= sls
			c := s*w.graph.ports + port
			stream := c
			if w.classes != nil {
				stream = int(w.first[input]) + port*int(w.classes[s].count)
			}
			sls = w.leave(stream, sls)
			next := w.next[c]
			if next < 0 {
				break
			}
			input, s = int(next), int(next)
			if w.into != nil {
				input = int(w.into[c])
			}
			if port = int(egress[s]); port != routing.NoPath && w.next[s*w.graph.ports+port] >= 0 {
				w.depend(stream, sls, uint8(port))
			}
		}
	}
}

// noColumn is that of no LID.
const noColumn = -2

// slsTo sets the SLs to a LID. LIDs of one column have the same, and mostly follow each other.
func (w *walker) slsTo(lid int) {
	column := int32(-1)
	if s := w.SLs; s != nil && lid < len(s.To) {
		column = s.To[lid]
	}
	if column == w.column && len(w.rules) == 1 {
		return
	}
	w.column = column
	for i := range w.sources {
		w.sls[i] = w.slsOf(&w.sources[i], lid)
	}
}

// leave notes the SLs of packets in a stream, and returns those whose packets go on.
func (w *walker) leave(stream int, sls uint16) uint16 {
	if w.used != nil {
		w.used[stream] |= sls
	}
	if w.lost != nil {
		sls &^= w.lost[stream]
	}
	return sls
}

// followBoth is followLID where switches have two routes.
func (w *walker) followBoth(lid int, egress [2][]uint8) {
	clear(w.passed)
	for i := range w.sources {
		w.stack = append(w.stack[:0], packets{w.sources[i].at, w.sources[i].class, w.slsOf(&w.sources[i], lid)})
		for len(w.stack) > 0 {
			p := w.stack[len(w.stack)-1]
			w.stack = w.stack[:len(w.stack)-1]
			input := w.input(p.at, p.class)
			if p.sls &^= w.passed[input]; p.sls == 0 {
				continue
			}
			w.passed[input] |= p.sls
			for j, ports := range egress {
				if port := ports[p.at]; port != routing.NoPath && (j == 0 || port != egress[0][p.at]) {
					w.step(p, port, &egress)
				}
			}
		}
	}
}

// step is one step of followBoth: packets leave by a port.
func (w *walker) step(p packets, port uint8, egress *[2][]uint8) {
	stream, c := w.stream(p.at, port, p.class), int(p.at)*w.ports+int(port)
	sls, to := w.leave(stream, p.sls), w.next[c]
	if to < 0 {
		return
	}
	for _, ports := range egress {
		if next := ports[to]; next != routing.NoPath && w.next[int(to)*w.ports+int(next)] >= 0 {
			w.depend(stream, sls, next)
		}
	}
	w.stack = append(w.stack, packets{to, w.after(c), sls})
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

// blockOf is what a row has of the block that begins with a LID.
func blockOf(row []uint8, first int) []uint8 {
	return row[min(first, len(row)):min(first+routing.BlockSize, len(row))]
}
