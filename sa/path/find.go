package path

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/topo"
)

// maxWalks is how many pairs of LIDs one Find tries before it is refused with
// StatusNoResources: all of a full subnet from or to one LID. A query that names
// neither end and asks for what no path has would otherwise take minutes.
const maxWalks = 1 << 16

// Find answers a request with the first path that it allows, destinations in the
// outer loop, each side in the order of GUIDs. out is written only when the status
// is StatusOK. The components TClass, FlowLabel, HopLimit and NumbPath do not narrow
// the choice, because clients give values there that no path within the subnet has;
// QoSClass and ServiceID have a say in it only by the policy. A DGID or DLID of multicast asks for the path to a group.
func (f *Finder) Find(from topo.PortIdx, want *sarec.PathRecord, comps mad.ComponentMask,
	out *sarec.PathRecord) mad.Status {
	if isMulticast(want, comps) {
		return f.findGroup(from, want, comps, out)
	}
	q, st := f.query(from, want, comps)
	if st != mad.StatusOK {
		return st
	}
	q.walks = maxWalks
	all := f.all
	srcs := q.src.ports(all)
	for _, dst := range q.dst.ports(all) {
		for _, src := range srcs {
			if f.pathFor(&q, src, dst, out) {
				return mad.StatusOK
			}
			if q.walks <= 0 {
				return mad.StatusNoResources
			}
		}
	}
	return mad.StatusNoRecords
}

// beyondHopLimit is the HopLimit of paths to other subnets.
const beyondHopLimit = 0xff

// pathFor finds the first path between two ports.
func (f *Finder) pathFor(q *query, src, dst topo.PortIdx, out *sarec.PathRecord) bool {
	if !f.admit(q, src, dst) {
		q.walks--
		return false
	}
	for p := f.lidPairs(q, src, dst); p.next(); {
		if f.pathByLIDs(q, src, dst, p.slid, p.dlid, out) {
			out.SetPreference(p.preference)
			return true
		}
	}
	return false
}

// pathByLIDs writes out and returns true when the tables lead from src to dst by these
// LIDs in a way that the request allows.
func (f *Finder) pathByLIDs(q *query, src, dst topo.PortIdx, slid, dlid mad.LID, out *sarec.PathRecord) bool {
	if q.walks--; q.walks < 0 {
		return false
	}
	if !f.allowsSource(q, src, slid) {
		return false
	}
	there, back := f.walkBoth(src, dst, slid, dlid)
	if there.state != arrived {
		return false
	}
	rates := known[f.ends[src].caps] & known[f.ends[dst].caps]
	forth := f.routed(q, q.there, f.routeLID(src, slid), f.routeLID(dst, dlid))
	terms, ok := f.terms(q, forth, &there, rates)
	if !ok {
		return false
	}
	reversible := false
	if back.state == arrived {
		_, reversible = f.terms(q, f.routed(q, q.back, f.routeLID(dst, dlid), f.routeLID(src, slid)), &back, rates)
	}
	if q.comps.Has(sarec.PathReversible) && q.want.Reversible() && !reversible {
		return false
	}
	q.hops = int(there.hops)
	f.fill(q, src, dst, out)
	out.SetSL(forth.sl)
	out.SetSLID(slid)
	out.SetDLID(dlid)
	out.SetReversible(reversible)
	out.SetMTU(sarec.Exactly, terms.mtu)
	out.SetRate(sarec.Exactly, terms.rate)
	out.SetPacketLifeTime(sarec.Exactly, terms.lifeTime)
	return true
}

// fill writes what does not depend on the way: GIDs and P_Key. The source is
// repeated as it was asked for, so that a client that knows itself by the prefix
// it powered up with finds its own GID.
func (f *Finder) fill(q *query, src, dst topo.PortIdx, out *sarec.PathRecord) {
	prefix := f.view.Subnet.Prefix
	*out = sarec.PathRecord{}
	switch {
	case q.dst.beyond:
		out.SetDGID(q.want.DGID())
		out.SetHopLimit(beyondHopLimit)
	case q.dst.guid != 0:
		out.SetDGID(mad.MakeGID(prefix, q.dst.guid))
	default:
		out.SetDGID(mad.MakeGID(prefix, f.ends[dst].guid))
	}
	if !q.dst.beyond {
		out.SetHopLimit(max(f.hopLimit(src), f.hopLimit(dst)))
	}
	out.SetSGID(mad.MakeGID(prefix, f.ends[src].guid))
	if q.comps.Has(sarec.PathSGID) {
		out.SetSGID(q.want.SGID())
	}
	out.SetRawTraffic(q.comps.Has(sarec.PathRawTraffic) && q.want.RawTraffic())
	out.SetPKey(q.there.pkey)
}
