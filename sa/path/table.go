package path

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// MaxTablePairs is how many pairs of ports or LIDs one Table tries: those of 2,000
// ports, which takes some seconds.
const MaxTablePairs = 1 << 22

// recordSize is the size of a PathRecord in bytes.
const recordSize = len(sarec.PathRecord{})

// Table gives all paths that a request allows as records back to back, destinations in
// the outer loop, each side in the order of GUIDs. NumbPath bounds those between two
// ports, where the request gives it; other components are as for Find. A request whose
// answer is longer than limit bytes, or that is about more than MaxTablePairs, is
// refused with StatusNoResources; and so is one during which ctx ends, for which nobody
// waits any more.
func (f *Finder) Table(ctx context.Context, want *sarec.PathRecord, comps mad.ComponentMask, limit int) ([]byte, mad.Status) {
	q, st := f.query(want, comps)
	if st != mad.StatusOK {
		return nil, st
	}
	all := f.view.Topo.EndPorts
	srcs, dsts := q.src.ports(all), q.dst.ports(all)
	q.walks = MaxTablePairs
	pairs := len(srcs) * len(dsts)
	if pairs > q.walks {
		return nil, mad.StatusNoResources
	}
	most := 1 << 14 // LIDs of two ports
	if comps.Has(sarec.PathNumbPath) {
		most = int(want.NumbPath())
	}
	table := slices.Grow([]byte(nil), min(limit, pairs*min(most, 1)*recordSize))
	var rec sarec.PathRecord
	for _, dst := range dsts {
		if ctx.Err() != nil {
			return nil, mad.StatusNoResources
		}
		for _, src := range srcs {
			found := 0
			for p := f.lidPairs(&q, src, dst); found < most && p.next(); {
				if q.walks <= 0 {
					return nil, mad.StatusNoResources
				}
				if !f.try(&q, src, dst, p.slid, p.dlid, &rec) {
					continue
				}
				if len(table)+recordSize > limit {
					return nil, mad.StatusNoResources
				}
				rec.SetPreference(p.preference)
				table = append(table, rec[:]...)
				found++
			}
		}
	}
	return table, mad.StatusOK
}
