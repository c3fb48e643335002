package registry

import (
	"bytes"
	"cmp"
	"iter"

	"ibsm/mad"
)

type mlidKey struct {
	mlid mad.LID
	mgid mad.GID
}

func compareMLIDs(a, b mlidKey) int {
	if c := cmp.Compare(a.mlid, b.mlid); c != 0 {
		return c
	}
	return compareGIDs(a.mgid, b.mgid)
}

// OnMLID iterates over the groups whose packets carry an MLID, in order of MGID.
func (s *State) OnMLID(mlid mad.LID) iter.Seq[Group] {
	return func(yield func(Group) bool) {
		for k := range s.mlids.from(mlidKey{mlid: mlid}) {
			if k.mlid != mlid {
				return
			}
			if g, _ := s.groups.get(k.mgid); !yield(g.Group) {
				return
			}
		}
	}
}

// Agrees reports whether two groups may share an MLID: one tree with one rate and SL
// serves both, and no port gets packets of a partition that it is not in.
func (g *Group) Agrees(o *Group) bool {
	return g.PKey == o.PKey && g.MTU == o.MTU && g.Rate == o.Rate && g.SL == o.SL
}

// mlidUse counts the groups on each MLID.
type mlidUse struct {
	groups [int(mad.PermissiveLID - mad.MinMulticastLID)]uint32
	low    int // none below is free
	used   int // MLIDs with groups
}

func (r *Registry) takeMLID(g *Group) {
	r.mlids.put(r.owner, mlidKey{g.MLID, g.MGID}, struct{}{})
	n := &r.use.groups[g.MLID-mad.MinMulticastLID]
	if *n++; *n == 1 {
		r.use.used++
	}
}

func (r *Registry) releaseMLID(g *Group) {
	r.mlids.remove(r.owner, mlidKey{g.MLID, g.MGID})
	i := int(g.MLID - mad.MinMulticastLID)
	if r.use.groups[i]--; r.use.groups[i] == 0 {
		r.use.used--
		r.use.low = min(r.use.low, i)
	}
}

// MLIDPolicy says how AllotMLID chooses.
type MLIDPolicy struct {
	Last mad.LID // the highest that all switches can forward; 0 for the end of the space
	// ShareSolicitedNode puts the IPv6 solicited-node groups of a partition and scope
	// on one MLID as far as they agree (OpenSM's consolidate_ipv6_snm_req).
	ShareSolicitedNode bool
	// Share takes no free MLID: the group has to share one.
	Share bool
}

// last is the index of the highest MLID.
func (p *MLIDPolicy) last() int {
	last := int(mad.PermissiveLID-1) - int(mad.MinMulticastLID)
	if p.Last >= mad.MinMulticastLID {
		last = min(last, int(p.Last-mad.MinMulticastLID))
	}
	return last
}

// FreeMLIDs is how many MLIDs are left.
func (r *Registry) FreeMLIDs(p MLIDPolicy) int { return max(p.last()+1-r.use.used, 0) }

// AllotMLID chooses the MLID for a new group: the lowest that is
// free, and when none is, of those whose groups agree with g in P_Key, MTU, rate and SL
// the one with the fewest. It reports false when there is none. The MLID is taken when
// the group is put.
func (r *Registry) AllotMLID(g *Group, p MLIDPolicy) (mad.LID, bool) {
	if p.ShareSolicitedNode {
		if mlid, found := r.solicitedNodeMLID(g); found {
			return mlid, true
		}
	}
	last, use := p.last(), &r.use
	for use.low < len(use.groups) && use.groups[use.low] > 0 {
		use.low++
	}
	if use.low <= last && !p.Share {
		return mad.MinMulticastLID + mad.LID(use.low), true
	}
	best := -1
	for k := range r.mlids.all() {
		i := int(k.mlid - mad.MinMulticastLID)
		if i > last || best >= 0 && use.groups[i] >= use.groups[best] {
			continue
		}
		if other, _ := r.groups.get(k.mgid); other.Agrees(g) {
			best = i
		}
	}
	return mad.MinMulticastLID + mad.LID(max(best, 0)), best >= 0
}

// snmPrefix is the length of what the solicited-node groups of a partition and scope
// have in common: ff1S:601b:PPPP:0:0:1:ff, before the 24 bits of the address.
const snmPrefix = 13

// solicitedNodeMLID finds a solicited-node group that g may share the MLID of.
func (r *Registry) solicitedNodeMLID(g *Group) (mad.LID, bool) {
	if g.MGID[2] != 0x60 || g.MGID[3] != 0x1b || !bytes.Equal(g.MGID[6:snmPrefix], []byte{0, 0, 0, 0, 0, 1, 0xff}) {
		return 0, false
	}
	var first mad.GID
	copy(first[:], g.MGID[:snmPrefix])
	for mgid, other := range r.groups.from(first) {
		if !bytes.Equal(mgid[:snmPrefix], first[:snmPrefix]) {
			break
		}
		if other.Agrees(g) {
			return other.MLID, true
		}
	}
	return 0, false
}
