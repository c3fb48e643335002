package path

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/routing/qos"
	"ibsm/topo"
)

// query is a request whose parts have been checked.
type query struct {
	from     topo.EndIdx // the requester
	want     *sarec.PathRecord
	comps    mad.ComponentMask
	src, dst side
	there    agreed      // of the ports under way, from the source
	back     agreed      // and from the destination
	hops     int         // of the path found
	match    qos.Request // of the ports under way
	walks    int         // that may still be tried
	limit    int         // of a table in bytes
	most     mad.Rate    // view.Subnet.MaxRate
}

// side is one end of a query: a port, which may be a vPort, or all of them, the LID at which the port must be
// met, 0 for any of its own, and the GUID by which it is known, 0 for all that it has.
type side struct {
	port   topo.EndIdx // None for all
	lid    mad.LID
	guid   mad.GUID
	beyond bool // the destination is behind the port, a router's
	one    [1]topo.EndIdx
}

// ports are those that the side allows, a view of all or of one.
func (s *side) ports(all []topo.EndIdx) []topo.EndIdx {
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
	if q.src, st = f.side(comps.Has(sarec.PathSGID), want.SGID(), comps.Has(sarec.PathSLID), want.SLID(),
		false); st != mad.StatusOK {
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
		s.port, s.guid = f.endOfGID(gid), gid.GUID()
		if isDest && !f.onSubnet(gid) {
			s.port, s.beyond = f.routerTo(gid), true
		}
		if s.port == topo.None {
			return s, mad.StatusNoRecords
		}
	}
	if hasLID {
		owner := f.endOfLID(lid)
		if owner == topo.None {
			return s, mad.StatusNoRecords
		}
		if !hasGID {
			s.port = owner
		} else if owner != s.port && !f.meetsAt(s.port, owner) {
			return s, mad.StatusReqInvalid
		}
		s.lid = lid
	}
	return s, mad.StatusOK
}

// admit decides whether the requester may know of a path between two ports: all three share a
// P_Key in pairs (IBA 10.9.3), and the request wants nothing that the ports have not agreed.
func (f *Finder) admit(q *query, src, dst topo.PortIdx) bool {
	if !f.mayTalk(q.from, src) || !f.mayTalk(q.from, dst) || !f.mayTalk(src, dst) {
		return false
	}
	if q.there = f.agree(q, src, dst); !q.there.ok {
		return false
	}
	if q.back = q.there; f.policy != nil { // or it is the same
		q.back = f.agree(q, dst, src)
	}
	return true
}

// terms are what an answer promises.
type terms struct {
	mtu      mad.MTU
	rate     mad.Rate
	lifeTime uint8
}

// terms are those of the way w, by what the ports have agreed, between ports that understand
// the known rates; ok is false when the request wants others, or the SL is not
// known to pass all ports on the way.
func (f *Finder) terms(q *query, a agreed, w *walk, known uint32) (t terms, ok bool) {
	if !a.ok || w.drops>>a.sl&1 != 0 {
		return t, false
	}
	t = terms{mad.MTU256, minRate, f.view.Subnet.SubnetTimeOut}
	known &= upTo(q.most)
	have := w.have
	if a.level != nil {
		have = have.and(limitsOf(a.level))
		t.lifeTime = a.level.PacketLife.Or(t.lifeTime)
	}
	if w.hops == 0 { // a port's way to itself
		t.lifeTime = 0
	}
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

// limitsOf are those of a QoS level.
func limitsOf(level *qos.Level) limits {
	l := limits{unlimited, unlimited}
	if level.MTU != 0 {
		l.mtu = uint8(level.MTU)
	}
	if rank := level.Rate.Rank(); rank != 0 {
		l.rank = uint8(rank)
	}
	return l
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
