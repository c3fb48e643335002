package path

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/topo"
)

// maxTableWalks is how many pairs of ports or LIDs one Table tries, which takes some
// seconds: those of 2,900 ports. What bounds the answer is its size in bytes; this bounds
// the time of a request to which nearly no path is an answer.
const maxTableWalks = 1 << 23

// recordSize is the size of a PathRecord in bytes.
const recordSize = len(sarec.PathRecord{})

// Table gives all paths that a request allows as records back to back, destinations in
// the outer loop, each side in the order of GUIDs, a port's own GUID before its aliases.
// NumbPath bounds those between two GUIDs, where the request gives it; other components
// are as for Find. A request whose answer is longer than limit bytes, or that is about
// too many pairs, is refused with StatusNoResources; and so is one during which ctx ends,
// for which nobody waits any more.
func (f *Finder) Table(ctx context.Context, from topo.PortIdx, want *sarec.PathRecord, comps mad.ComponentMask,
	limit int) ([]byte, mad.Status) {
	if isMulticast(want, comps) {
		return f.groupTable(ctx, from, want, comps, limit)
	}
	q, st := f.query(from, want, comps)
	if st != mad.StatusOK {
		return nil, st
	}
	q.walks, q.limit = maxTableWalks, limit
	most := 1 << 14 // LIDs of two ports
	if comps.Has(sarec.PathNumbPath) {
		most = int(want.NumbPath())
	}
	all := f.all
	srcs, dsts := q.src.ports(all), q.dst.ports(all)
	pairs := len(srcs) * len(dsts)
	if pairs > q.walks {
		return nil, mad.StatusNoResources
	}
	table := slices.Grow([]byte(nil), min(limit, pairs*min(most, 1)*recordSize))
	for _, dst := range dsts {
		if ctx.Err() != nil {
			return nil, mad.StatusNoResources
		}
		for _, src := range srcs {
			if table = f.appendPaths(table, &q, src, dst, most); len(table) > limit || q.walks <= 0 {
				return nil, mad.StatusNoResources
			}
		}
	}
	return table, mad.StatusOK
}

// appendPaths adds the paths between two ports, at most so many, once for each pair of
// GUIDs that they have.
func (f *Finder) appendPaths(table []byte, q *query, src, dst topo.PortIdx, most int) []byte {
	if !f.admit(q, src, dst) {
		q.walks--
		return table
	}
	var rec sarec.PathRecord
	start, found := len(table), 0
	for p := f.lidPairs(q, src, dst); found < most && p.next(); {
		if q.walks <= 0 {
			return table
		}
		if f.pathByLIDs(q, src, dst, p.slid, p.dlid, &rec) {
			rec.SetPreference(p.preference)
			table = append(table, rec[:]...)
			found++
		}
	}
	if found == 0 || f.reg.Counts().Aliases == 0 && !f.isVPort(src) && !f.isVPort(dst) {
		return table
	}
	return f.appendAliases(table, len(table)-start, q, src, dst)
}

// appendAliases adds the last n bytes of the table, which are the paths by the GUIDs of
// two ports, for the aliases of these ports that the request allows.
func (f *Finder) appendAliases(table []byte, n int, q *query, src, dst topo.PortIdx) []byte {
	paths := slices.Clone(table[len(table)-n:])
	srcs, dsts := f.guidsOf(&q.src, src), f.guidsOf(&q.dst, dst)
	for i, d := range dsts {
		for j, s := range srcs {
			if i == 0 && j == 0 {
				continue
			}
			if len(table) > q.limit {
				return table
			}
			for rec := range slices.Chunk(paths, recordSize) {
				rec := sarec.PathRecord(rec)
				if i > 0 {
					rec.SetDGID(mad.MakeGID(f.view.Subnet.Prefix, d))
				}
				if j > 0 {
					rec.SetSGID(mad.MakeGID(f.view.Subnet.Prefix, s))
				}
				table = append(table, rec[:]...)
			}
		}
	}
	return table
}

// guidsOf are the GUIDs by which a port is known: that which the request gives, or its
// own and its aliases.
func (f *Finder) guidsOf(s *side, p topo.PortIdx) []mad.GUID {
	if s.guid != 0 {
		return []mad.GUID{s.guid}
	}
	guids := append([]mad.GUID{f.ends[p].guid}, f.furtherGUIDs(p)...)
	for a := range f.reg.AliasesOf(f.ends[p].guid) {
		guids = append(guids, a.GUID)
	}
	return guids
}
