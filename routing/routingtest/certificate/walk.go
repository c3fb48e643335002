package certificate

import (
	"math/bits"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// walk follows packets to one LID after the other. It belongs to one goroutine.
type walk struct {
	*checker
	seen      []uint16 // by port of a switch: SLs of the packets to the LID in hand that have come in by it
	touched   []int32  // ports with such packets
	stack     []int32  // ports of switches from which packets to a multicast LID come
	violation *Violation
}

// route follows the routes from all starts to a LID.
func (w *walk) route(lid mad.LID) {
	for i := range w.starts {
		w.follow(lid, int32(w.starts[i].at)*int32(w.width)+int32(w.starts[i].port), w.sls(&w.starts[i], lid))
	}
	w.forget()
}

func (w *walk) forget() {
	for _, in := range w.touched {
		w.seen[in] = 0
	}
	w.touched = w.touched[:0]
}

// enter notes packets that come in by a port of a switch, and returns the SLs of those that are the
// first.
func (w *walk) enter(in int32, sls uint16) uint16 {
	if w.seen[in] == 0 {
		w.touched = append(w.touched, in)
	}
	sls &^= w.seen[in]
	w.seen[in] |= sls
	return sls
}

// follow goes with packets to a LID from the port of a switch that they come in by, as far as
// nobody has gone with packets of their SLs.
func (w *walk) follow(lid mad.LID, in int32, sls uint16) {
	out := w.out(in, lid)
	for out >= 0 {
		if sls = w.enter(in, sls); sls == 0 {
			return
		}
		next := w.next[out]
		if next < 0 {
			return
		}
		after := w.out(next, lid)
		sls = w.compare(in, out, next, after, sls, lid)
		in, out = next, after
	}
}

// out is the port of a switch by which packets to a LID leave that came in by another; -1 for none.
func (w *walk) out(in int32, lid mad.LID) int32 {
	s := in / int32(w.width)
	row := w.Tables.LFT[s]
	if int(lid) >= len(row) || lid > w.Tables.Top || row[lid] == 0 || int(row[lid]) >= w.width {
		return -1
	}
	return s*int32(w.width) + int32(row[lid])
}

// compare compares the numbers of a channel and the next one, for packets of some SLs, and
// returns the SLs of packets that come as far as the next switch. in and next are the ports by which
// they come in, out and after those by which they leave; after is -1 if they go no farther.
func (w *walk) compare(in, out, next, after int32, sls uint16, dest mad.LID) (come uint16) {
	for ; sls != 0; sls &= sls - 1 {
		sl := uint8(bits.TrailingZeros16(sls))
		from, leaves := w.step(in, out, sl)
		if !leaves {
			continue
		}
		come |= 1 << sl
		if after < 0 || w.next[after] < 0 {
			continue
		}
		if to, goes := w.step(next, after, sl); goes && to.Number <= from.Number && w.violation == nil {
			w.violation = &Violation{from, to, dest, sl}
		}
	}
	return come
}

// step is the channel of packets of an SL that leave by a port of a switch; false if they are
// dropped.
func (w *walk) step(in, out int32, sl uint8) (Step, bool) {
	s, port := topo.SwitchIdx(out/int32(w.width)), uint8(out%int32(w.width))
	lane := sl
	if w.Maps != nil || w.Lanes != nil {
		p := w.Topo.Port(w.Topo.Switches[s], port)
		lane = w.Maps.Table(uint8(in%int32(w.width)), p).VL(sl)
		if w.Lanes != nil && w.Lanes[p] > 0 && lane >= w.Lanes[p] || lane == routing.DropVL {
			return Step{}, false
		}
	}
	return Step{s, port, lane, w.Number(s, port, lane)}, true
}

// spread follows the packets to a multicast LID from all its end ports.
func (w *walk) spread(g mcast.Group) {
	masks := map[int32]mcast.PortMask{}
	for _, b := range g.Tree.Branches {
		masks[int32(b.Switch)] = b.Ports
	}
	for lid, p := range w.LIDs.Owner {
		if !w.counts(p) {
			continue
		}
		if s, port := w.entry(p); s != topo.None && w.LIDs.Base[p] == mad.LID(lid) {
			w.push(int32(s)*int32(w.width)+int32(port), g.SL)
		}
	}
	for len(w.stack) > 0 {
		in := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		s := in / int32(w.width)
		for port := range masks[s].Ports() {
			out := s*int32(w.width) + int32(port)
			if int(port) >= w.width || out == in || w.next[out] < 0 {
				continue
			}
			next := w.next[out]
			come := w.compare(in, out, next, -1, 1<<g.SL, g.Tree.MLID)
			for on := range masks[next/int32(w.width)].Ports() {
				if after := next/int32(w.width)*int32(w.width) + int32(on); int(on) < w.width && after != next {
					w.compare(in, out, next, after, 1<<g.SL, g.Tree.MLID)
				}
			}
			if come != 0 {
				w.push(next, g.SL)
			}
		}
	}
	w.forget()
}

func (w *walk) push(in int32, sl uint8) {
	if w.enter(in, 1<<sl) != 0 {
		w.stack = append(w.stack, in)
	}
}
