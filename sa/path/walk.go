package path

import (
	"ibsm/mad"
	"ibsm/sweep/topo"
)

// maxHops is the number of switches after which a walk is taken for a loop.
const maxHops = 64

// walk follows the forwarding tables from src towards dlid. ok is false when they
// do not lead to dst.
func (f *Finder) walk(src, dst topo.PortIdx, dlid mad.LID) (have limits, ok bool) {
	p := &f.ports[src]
	have = p.own
	if src == dst {
		return have, true
	}
	for range maxHops {
		have = have.and(p.link)
		if p.peer == dst {
			return have, true
		}
		sw := p.enter
		if sw == topo.None {
			return have, false
		}
		row := f.view.Tables.LFT[sw]
		if int(dlid) >= len(row) {
			return have, false
		}
		egress := row[dlid]
		if egress == 0 {
			return have.and(f.ports[dst].own), f.first[sw] == dst
		}
		if egress > f.count[sw] {
			return have, false
		}
		p = &f.ports[f.first[sw]+topo.PortIdx(egress)]
	}
	return have, false
}
