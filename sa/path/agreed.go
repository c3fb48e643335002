package path

import (
	"ibsm/conf/policyfile"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/routing/qos"
	"ibsm/topo"
)

// agreed is what does not depend on the way from one port to another.
type agreed struct {
	level *qos.Level // that the policy gives to the request; nil without a policy
	pkey  mad.PKey   // of the answer
	sl    uint8
	ok    bool // the request wants nothing else
}

// agree finds out what a request gets from one port to another: the P_Key that it wants, or the first
// of the QoS level, or the lowest that both have; and the SL of the level, or without a policy, the one that
// it wants or the partition's.
func (f *Finder) agree(q *query, src, dst topo.PortIdx) (a agreed) {
	if f.policy != nil {
		_, a.level = f.policy.Match(q.matched(f, src, dst))
	}
	partition := mad.PKey(0)
	switch {
	case q.comps.Has(sarec.PathRawTraffic) && q.want.RawTraffic():
		partition, _ = f.common(src, dst)
		a.ok = true
	case q.comps.Has(sarec.PathPKey):
		a.pkey = q.want.PKey()
		a.ok = f.share(src, dst, a.pkey) &&
			(a.level == nil || a.level.PKeys == nil || a.level.PKeys.Has(uint64(a.pkey.Base())))
	case a.level != nil && a.level.PKeys != nil:
		a.pkey, a.ok = f.firstShared(src, dst, a.level.PKeys)
	default:
		a.pkey, a.ok = f.common(src, dst)
	}
	wanted := q.comps.Has(sarec.PathSL)
	switch {
	case a.level != nil:
		a.sl = a.level.SL
		a.ok = a.ok && (!wanted || a.sl == q.want.SL())
	case wanted:
		a.sl = q.want.SL()
	default:
		a.sl = f.slOf(partition | a.pkey)
	}
	return a
}

// routed is what two ports have agreed for a pair of LIDs: the SL that the routing engine gives to their
// path takes precedence, as with OpenSM, and a request for another one has no answer.
func (f *Finder) routed(q *query, a agreed, slid, dlid mad.LID) agreed {
	if sls := f.view.Tables.SLs; sls != nil {
		a.sl = sls.For(slid, dlid, a.sl)
		a.ok = a.ok && (!q.comps.Has(sarec.PathSL) || a.sl == q.want.SL())
	}
	return a
}

// allowsSource reports whether a path may start at a LID of its source: the level has a list of the
// offsets of LIDs, and the request names none. Where the port has no LID of the list, it has a path all
// the same.
func (f *Finder) allowsSource(q *query, src topo.PortIdx, slid mad.LID) bool {
	level := q.there.level
	if level == nil || level.PathBits == nil || q.src.lid != 0 {
		return true
	}
	if f.isVPort(src) { // it has one LID
		return true
	}
	base, count := f.view.LIDs.Base[src], mad.LID(f.view.LIDs.Count(src))
	if level.PathBits.Has(uint64(slid - base)) {
		return true
	}
	for offset := range count {
		if level.PathBits.Has(uint64(offset)) {
			return false
		}
	}
	return true
}

// matched is what rules are about in the request.
func (q *query) matched(f *Finder, src, dst topo.EndIdx) *qos.Request {
	q.match = qos.Request{
		Source: f.physical(src), Destination: f.physical(dst), ServiceID: q.want.ServiceID(),
		Class: q.want.QoSClass(), PKey: q.want.PKey(),
		HasServiceID: q.comps.Has(bothServiceID), HasClass: q.comps.Has(sarec.PathQoSClass),
		HasPKey: q.comps.Has(sarec.PathPKey),
	}
	return &q.match
}

// firstShared is the lowest key of a list in whose partition two ports may talk, as a policy writes
// it: without the membership bit, as in OpenSM. To itself a port may talk in any of its own, best in
// one of which it is a full member.
func (f *Finder) firstShared(src, dst topo.PortIdx, list policyfile.Ranges) (lowest mad.PKey, found bool) {
	best := false // src may talk to others of its kind
	for _, k := range f.keys(src).Keys() {
		if !k.Valid() || !list.Has(uint64(k.Base())) || !f.share(src, dst, k|mad.FullMember) {
			continue
		}
		full := src != dst || k&mad.FullMember != 0
		if !found || full && !best || full == best && k.Base() < lowest {
			lowest, found, best = k.Base(), true, full
		}
	}
	return lowest, found
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
