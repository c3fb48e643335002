package path

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sweep/topo"
)

// query is a request whose parts have been checked.
type query struct {
	want     *sarec.PathRecord
	comps    mad.ComponentMask
	src, dst side
	pkey     mad.PKey // of the answer
	walks    int      // that may still be tried
}

// side is one end of a query: a port or all of them, and the LID at which the
// port must be met, 0 for any of its own.
type side struct {
	port topo.PortIdx // None for all
	lid  mad.LID
	one  [1]topo.PortIdx
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
func (f *Finder) query(want *sarec.PathRecord, comps mad.ComponentMask) (q query, st mad.Status) {
	q = query{want: want, comps: comps}
	if _, rate := want.Rate(); comps.Has(bothRate) && rate.Rank() == 0 {
		return q, mad.StatusReqInvalid
	}
	if _, mtu := want.MTU(); comps.Has(bothMTU) && mtu.Bytes() == 0 {
		return q, mad.StatusReqInvalid
	}
	if id := comps & bothServiceID; id != 0 && id != bothServiceID {
		return q, mad.StatusReqInsufficient
	}
	if q.src, st = f.side(comps.Has(sarec.PathSGID), want.SGID(), comps.Has(sarec.PathSLID), want.SLID()); st != mad.StatusOK {
		return q, st
	}
	if q.dst, st = f.side(comps.Has(sarec.PathDGID), want.DGID(), comps.Has(sarec.PathDLID), want.DLID()); st != mad.StatusOK {
		return q, st
	}
	var shared bool
	if q.pkey, shared = choosePKey(want, comps); !shared {
		return q, mad.StatusNoRecords
	}
	return q, mad.StatusOK
}

// side is the port that a GID and a LID of the request agree on.
func (f *Finder) side(hasGID bool, gid mad.GID, hasLID bool, lid mad.LID) (side, mad.Status) {
	s := side{port: topo.None}
	if hasGID {
		if s.port = f.portOfGID(gid); s.port == topo.None {
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

// choosePKey is the key of the answer. Every port is a full member of the default
// partition and of no other.
func choosePKey(want *sarec.PathRecord, comps mad.ComponentMask) (k mad.PKey, shared bool) {
	if comps.Has(sarec.PathRawTraffic) && want.RawTraffic() {
		return 0, true
	}
	if comps.Has(sarec.PathPKey) {
		return want.PKey(), want.PKey().Base() == mad.DefaultPKey.Base()
	}
	return mad.DefaultPKey, true
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
	if have.mtu != unlimited {
		t.mtu = mad.MTU(have.mtu)
	}
	if have.rank != unlimited {
		t.rate = highest(known, rateOfRank[have.rank], false)
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
