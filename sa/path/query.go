package path

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/topo"
)

// query is a request whose parts have been checked.
type query struct {
	from     topo.PortIdx // of the requester
	want     *sarec.PathRecord
	comps    mad.ComponentMask
	src, dst side
	pkey     mad.PKey // of the answer
	sl       uint8    // of the partition in which the ports may talk
	hops     int      // of the path found
	walks    int      // that may still be tried
	limit    int      // of a table in bytes
	most     mad.Rate // view.Subnet.MaxRate
}

// side is one end of a query: a port or all of them, the LID at which the port must be
// met, 0 for any of its own, and the GUID by which it is known, 0 for all that it has.
type side struct {
	port   topo.PortIdx // None for all
	lid    mad.LID
	guid   mad.GUID
	beyond bool // the destination is behind the port, a router's
	one    [1]topo.PortIdx
}

// ports are those that the side allows, a view of all or of one.
func (s *side) ports(all []topo.PortIdx) []topo.PortIdx {
	if s.port == topo.None {
		return all
	}
	s.one[0] = s.port
	return s.one[:]
}

const (
	bothServiceID = sarec.PathServiceIDHigh | sarec.PathServiceIDLow
	bothMTU       = sarec.PathMTUSelector | sarec.PathMTU
	bothRate      = sarec.PathRateSelector | sarec.PathRate
	bothLifeTime  = sarec.PathPacketLifeTimeSelector | sarec.PathPacketLifeTime
)

// query checks a request in the order in which OpenSM does.
func (f *Finder) query(from topo.PortIdx, want *sarec.PathRecord, comps mad.ComponentMask) (q query, st mad.Status) {
	q = query{from: from, want: want, comps: comps, most: f.view.Subnet.MaxRate}
	if _, rate := want.Rate(); comps.Has(bothRate) && rate.Rank() == 0 {
		return q, mad.StatusReqInvalid
	}
	if _, mtu := want.MTU(); comps.Has(bothMTU) && mtu.Bytes() == 0 {
		return q, mad.StatusReqInvalid
	}
	if id := comps & bothServiceID; id != 0 && id != bothServiceID {
		return q, mad.StatusReqInsufficient
	}
	if q.src, st = f.side(comps.Has(sarec.PathSGID), want.SGID(), comps.Has(sarec.PathSLID), want.SLID(), false); st != mad.StatusOK {
		return q, st
	}
	q.dst, st = f.side(comps.Has(sarec.PathDGID), want.DGID(), comps.Has(sarec.PathDLID), want.DLID(), true)
	return q, st
}

// side is the port that a GID and a LID of the request agree on. A destination may be on
// another subnet.
func (f *Finder) side(hasGID bool, gid mad.GID, hasLID bool, lid mad.LID, isDest bool) (side, mad.Status) {
	s := side{port: topo.None}
	if hasGID {
		s.port, s.guid = f.portOfGID(gid), gid.GUID()
		if isDest && !f.onSubnet(gid) {
			s.port, s.beyond = f.routerTo(gid), true
		}
		if s.port == topo.None {
			return s, mad.StatusNoRecords
		}
	}
	if hasLID {
		owner := f.view.LIDs.PortOf(lid)
		if owner == topo.None {
			return s, mad.StatusNoRecords
		}
		if hasGID && owner != s.port {
			return s, mad.StatusReqInvalid
		}
		s.port, s.lid = owner, lid
	}
	return s, mad.StatusOK
}

// admit decides whether the requester may know of a path between two ports, and by which
// P_Key they may talk (IBA 10.9.3): all three share one in pairs.
func (f *Finder) admit(q *query, src, dst topo.PortIdx) bool {
	if !f.mayTalk(q.from, src) || !f.mayTalk(q.from, dst) || !f.mayTalk(src, dst) {
		return false
	}
	var ok bool
	switch {
	case q.comps.Has(sarec.PathRawTraffic) && q.want.RawTraffic():
		key, _ := f.common(src, dst)
		q.sl = f.slOf(key)
		q.pkey = 0
		return true
	case q.comps.Has(sarec.PathPKey):
		q.pkey, ok = q.want.PKey(), f.share(src, dst, q.want.PKey())
	default:
		q.pkey, ok = f.common(src, dst)
	}
	q.sl = f.slOf(q.pkey)
	return ok
}

// slOf is the SL of paths in the partition of a key.
func (f *Finder) slOf(k mad.PKey) uint8 { return f.view.SLs[k&^mad.FullMember] }

// mayTalk is Topo.MayTalk of two end ports.
func (f *Finder) mayTalk(a, b topo.PortIdx) bool {
	x, y := f.ends[a].keys, f.ends[b].keys
	if a == b || x == nil || y == nil {
		return true
	}
	_, ok := x.Common(y)
	return ok
}

// unknownKeys stand for a table that is not known.
var unknownKeys = topo.NewPKeyTable([]mad.PKey{mad.DefaultPKey})

func (f *Finder) keys(p topo.PortIdx) *topo.PKeyTable {
	if k := f.ends[p].keys; k != nil {
		return k
	}
	return unknownKeys
}

// share reports whether two ports may talk in the partition of k. A source that is a
// member of both kinds does so as the one that k is.
func (f *Finder) share(src, dst topo.PortIdx, k mad.PKey) bool {
	a, inA := f.keys(src).Find(k)
	if k&mad.FullMember == 0 && f.keys(src).Has(k) {
		a = k
	}
	b, inB := f.keys(dst).Find(k)
	return inA && inB && (src == dst || a.Matches(b))
}

// common is the source's entry of the lowest partition in which two ports may talk. To
// itself a port may talk in any of its own.
func (f *Finder) common(src, dst topo.PortIdx) (mad.PKey, bool) {
	a, b := f.keys(src), f.keys(dst)
	if k, ok := a.Common(b); ok || src != dst {
		return k, ok
	}
	for _, k := range a.Keys() {
		if k.Valid() {
			return k, true
		}
	}
	return 0, false
}

// terms are what an answer promises.
type terms struct {
	mtu      mad.MTU
	rate     mad.Rate
	lifeTime uint8
}

// terms are those of a path that can carry have between ports that understand the
// known rates; ok is false when the request wants others.
func (q *query) terms(have limits, known uint32, lifeTime uint8) (t terms, ok bool) {
	t = terms{mad.MTU256, minRate, lifeTime}
	known &= upTo(q.most)
	if have.mtu != unlimited {
		t.mtu = mad.MTU(have.mtu)
	}
	if have.rank != unlimited {
		t.rate = highest(known, LimitRate(rateOfRank[have.rank], q.most), false)
	}
	if q.comps.Has(bothMTU) {
		s, asked := q.want.MTU()
		mtu, ok := bound(s, uint8(asked), uint8(t.mtu))
		if !ok || mtu < uint8(mad.MTU256) {
			return t, false
		}
		t.mtu = mad.MTU(mtu)
	}
	if q.comps.Has(bothRate) {
		if t.rate, ok = boundRate(q.want, t.rate, known); !ok {
			return t, false
		}
	}
	if q.comps.Has(bothLifeTime) {
		s, asked := q.want.PacketLifeTime()
		if t.lifeTime, ok = bound(s, asked, t.lifeTime); !ok {
			return t, false
		}
	}
	return t, true
}

// bound is what a path that has MTU or lifetime have answers to what was asked: a
// path may always be used for less than it can do.
func bound(s sarec.Selector, asked, have uint8) (v uint8, ok bool) {
	switch s {
	case sarec.GreaterThan:
		return have, have > asked
	case sarec.LessThan:
		if asked == 0 {
			return 0, false
		}
		return min(have, asked-1), true
	case sarec.Exactly:
		return asked, have >= asked
	}
	return have, true
}

// boundRate is bound for rates, which a sender cannot choose below the path's:
// exactly means so.
func boundRate(want *sarec.PathRecord, have mad.Rate, known uint32) (r mad.Rate, ok bool) {
	s, asked := want.Rate()
	switch s {
	case sarec.GreaterThan:
		return have, have.Rank() > asked.Rank()
	case sarec.LessThan:
		if have.Rank() >= asked.Rank() {
			have = highest(known, asked, true)
		}
		return have, have != 0
	case sarec.Exactly:
		return have, have == asked
	}
	return have, true
}
