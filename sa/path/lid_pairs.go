package path

import (
	"ibsm/mad"
	"ibsm/topo"
)

// Preferences of the paths between two ports that own several LIDs.
const (
	preferSameOffset  = 0 // both LIDs at the same offset from their base
	preferOtherOffset = 2
)

// lidPairs goes through the LIDs of two ports: pairs at the same offset, then the
// others, destination fastest.
type lidPairs struct {
	slid, dlid mad.LID // of the pair
	preference uint8   // of its path

	sbase, sn mad.LID // n LIDs from base on
	dbase, dn mad.LID
	i, j      mad.LID // offsets of the next pair; while the offsets are the same, i
}

func (f *Finder) lidPairs(q *query, src, dst topo.PortIdx) (p lidPairs) {
	p.preference = preferSameOffset
	p.sbase, p.sn = f.lids(&q.src, src)
	p.dbase, p.dn = f.lids(&q.dst, dst)
	return p
}

// lids are the LIDs at which the port may be met: n from base on.
func (f *Finder) lids(s *side, p topo.PortIdx) (base, n mad.LID) {
	if s.lid != 0 {
		return s.lid, 1
	}
	if f.isVPort(p) {
		return f.lidOf(p), 1
	}
	return f.view.LIDs.Base[p], mad.LID(f.view.LIDs.Count(p))
}

// next moves to the next pair; false when there is none.
func (p *lidPairs) next() bool {
	if p.preference == preferSameOffset {
		if p.i < min(p.sn, p.dn) {
			p.slid, p.dlid = p.sbase+p.i, p.dbase+p.i
			p.i++
			return true
		}
		p.preference, p.i = preferOtherOffset, 0
	}
	for ; p.i < p.sn; p.i, p.j = p.i+1, 0 {
		for p.j < p.dn {
			p.slid, p.dlid = p.sbase+p.i, p.dbase+p.j
			p.j++
			if p.slid-p.sbase != p.dlid-p.dbase {
				return true
			}
		}
	}
	return false
}
