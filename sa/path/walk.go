package path

import (
	"ibsm/mad"
	"ibsm/topo"
)

// maxHops is the number of switches after which a walk is taken for a loop.
const maxHops = 64

// walk is a packet on its way along the forwarding tables.
type walk struct {
	dst   topo.PortIdx
	dlid  mad.LID
	at    hop
	have  limits // of the way so far
	drops uint16 // SLs that are not known to pass it, by bit
	hops  uint8
	state walkState
}

// walkState says whether a packet has come to its end.
type walkState uint8

const (
	underWay walkState = iota
	arrived
	lost // at another port, at no port, or where a switch does not forward it
)

// end ends the walk where no switch forwards the packet.
func (w *walk) end(atDestination bool) {
	w.state = lost
	if atDestination {
		w.state = arrived
	}
}

// start puts a packet for dlid, one of dst's, on the wire at src.
func (f *Finder) start(src, dst topo.EndIdx, dlid mad.LID) walk {
	src, dst = f.physical(src), f.physical(dst)
	w := walk{dst: dst, dlid: dlid, at: f.hops[src], have: f.ends[src].own, drops: f.ends[src].drops}
	if src == dst {
		w.state = arrived
	}
	return w
}

// step takes the packet over the link it is on and through the switch behind it.
func (f *Finder) step(w *walk) {
	w.have = w.have.and(w.at.link)
	w.hops++
	if w.at.to < 0 {
		w.end(w.at.to == toPort(w.dst))
		return
	}
	sw := &f.switches[w.at.to]
	if int(w.dlid) >= len(sw.lft) {
		w.state = lost
		return
	}
	egress := sw.lft[w.dlid]
	if sw.drops != nil && egress <= sw.ports {
		w.drops |= sw.drops[int(w.at.in)*(int(sw.ports)+1)+int(egress)]
	}
	switch {
	case egress == 0:
		w.have = w.have.and(f.ends[w.dst].own)
		w.end(sw.first == w.dst)
	case egress > sw.ports:
		w.state = lost
	default:
		w.at = f.hops[sw.first+topo.PortIdx(egress)]
	}
}

// walkBoth follows the tables from src to dst and back. The two go in step,
// because each waits for memory at every hop, and so they wait together.
func (f *Finder) walkBoth(src, dst topo.PortIdx, slid, dlid mad.LID) (there, back walk) {
	there, back = f.start(src, dst, dlid), f.start(dst, src, slid)
	for range maxHops {
		if there.state == underWay {
			f.step(&there)
		}
		if back.state == underWay {
			f.step(&back)
		}
		if there.state != underWay && back.state != underWay {
			break
		}
	}
	return there, back
}
