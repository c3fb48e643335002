package path

import (
	"context"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/topo"
)

// mostMultiPaths is how many paths an answer has when the request does not say.
const mostMultiPaths = 127

// Multi gives the paths from each of some ports to each of others as PathRecords back to
// back, at most NumbPath in all. Two paths from two sources to two destinations are for
// path migration: they run between pairs of ports without one in common, of the two ways
// to pair them the shorter one. Refusals are as those of Table.
func (f *Finder) Multi(ctx context.Context, from topo.PortIdx, want *sarec.MultiPathRecord,
	comps mad.ComponentMask) ([]byte, mad.Status) {
	srcs, dsts, st := f.multiEnds(want, comps)
	if st != mad.StatusOK {
		return nil, st
	}
	rec, pathComps := pathOf(want, comps)
	q, st := f.query(from, &rec, pathComps)
	if st != mad.StatusOK {
		return nil, st
	}
	q.walks, q.limit = maxWalks, mostMultiPaths*recordSize
	most := mostMultiPaths
	if comps.Has(sarec.MultiPathNumbPath) {
		most = int(want.NumbPath())
	}
	q.comps |= sarec.PathSGID // which is answered as it was asked for
	if len(srcs) == 2 && len(dsts) == 2 && most == 2 {
		return f.migration(&q, srcs, dsts), mad.StatusOK
	}
	var table []byte
	for _, dst := range dsts {
		for _, src := range srcs {
			q.setEnds(&src, &dst)
			left := most - len(table)/recordSize
			table = f.appendPaths(table, &q, src.port, dst.port, left)
			if q.walks <= 0 || ctx.Err() != nil {
				return nil, mad.StatusNoResources
			}
		}
	}
	return table, mad.StatusOK
}

// multiEnd is a source or destination of a Multi.
type multiEnd struct {
	port topo.PortIdx
	gid  mad.GID
}

// multiEnds are the ports that a request names. GIDs for which a packet has no room are
// left out.
func (f *Finder) multiEnds(want *sarec.MultiPathRecord, comps mad.ComponentMask) (srcs, dsts []multiEnd,
	st mad.Status) {
	if !comps.Has(sarec.MultiPathSGIDCount | sarec.MultiPathDGIDCount) {
		return nil, nil, mad.StatusReqInsufficient
	}
	ns, nd := int(want.SGIDCount()), int(want.DGIDCount())
	if ns == 0 || nd == 0 {
		return nil, nil, mad.StatusReqInvalid
	}
	for i := range min(ns+nd, sarec.MultiPathMaxGIDs) {
		e := multiEnd{gid: want.GID(i)}
		if e.port = f.endOfGID(e.gid); e.port == topo.None {
			return nil, nil, mad.StatusReqInvalidGID
		}
		if i < ns {
			srcs = append(srcs, e)
		} else {
			dsts = append(dsts, e)
		}
	}
	return srcs, dsts, mad.StatusOK
}

// pathOf is what a request asks of each path, without its ends.
func pathOf(want *sarec.MultiPathRecord, comps mad.ComponentMask) (rec sarec.PathRecord, pathComps mad.ComponentMask) {
	rec.SetServiceID(uint64(want.ServiceIDHigh())<<56 | want.ServiceIDLow())
	rec.SetRawTraffic(want.RawTraffic())
	rec.SetReversible(want.Reversible())
	rec.SetPKey(want.PKey())
	rec.SetQoSClass(want.QoSClass())
	rec.SetSL(want.SL())
	rec.SetMTU(want.MTU())
	rec.SetRate(want.Rate())
	rec.SetPacketLifeTime(want.PacketLifeTime())
	for _, c := range [...]struct{ multi, path mad.ComponentMask }{
		{sarec.MultiPathServiceIDHigh, sarec.PathServiceIDHigh}, {sarec.MultiPathServiceIDLow, sarec.PathServiceIDLow},
		{sarec.MultiPathRawTraffic, sarec.PathRawTraffic}, {sarec.MultiPathReversible, sarec.PathReversible},
		{sarec.MultiPathPKey, sarec.PathPKey}, {sarec.MultiPathSL, sarec.PathSL},
		{sarec.MultiPathQoSClass, sarec.PathQoSClass},
		{sarec.MultiPathMTUSelector, sarec.PathMTUSelector}, {sarec.MultiPathMTU, sarec.PathMTU},
		{sarec.MultiPathRateSelector, sarec.PathRateSelector}, {sarec.MultiPathRate, sarec.PathRate},
		{sarec.MultiPathPacketLifeTimeSelector, sarec.PathPacketLifeTimeSelector},
		{sarec.MultiPathPacketLifeTime, sarec.PathPacketLifeTime},
	} {
		if comps.Has(c.multi) {
			pathComps |= c.path
		}
	}
	return rec, pathComps
}

// setEnds has a query be about two ports by the GIDs that name them.
func (q *query) setEnds(src, dst *multiEnd) {
	q.src = side{port: src.port, guid: src.gid.GUID()}
	q.dst = side{port: dst.port, guid: dst.gid.GUID()}
	q.want.SetSGID(src.gid)
}

// migration is a path for each of two pairs, or those of them that there are.
func (f *Finder) migration(q *query, srcs, dsts []multiEnd) []byte {
	straight, straightHops := f.twoPaths(q, &srcs[0], &dsts[0], &srcs[1], &dsts[1])
	crossed, crossedHops := f.twoPaths(q, &srcs[0], &dsts[1], &srcs[1], &dsts[0])
	if len(crossed) > len(straight) || len(crossed) == len(straight) && crossedHops < straightHops {
		return crossed
	}
	return straight
}

// twoPaths are the first path of each of two pairs, and how long they are in all.
func (f *Finder) twoPaths(q *query, src1, dst1, src2, dst2 *multiEnd) (table []byte, hops int) {
	for _, pair := range [2][2]*multiEnd{{src1, dst1}, {src2, dst2}} {
		q.setEnds(pair[0], pair[1])
		before := len(table)
		if table = f.appendPaths(table, q, pair[0].port, pair[1].port, 1); len(table) > before {
			hops += q.hops
		}
	}
	return table, hops
}
