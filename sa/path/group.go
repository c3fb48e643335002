package path

import (
	"context"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/topo"
)

// isMulticast reports whether a request is about paths to groups.
func isMulticast(want *sarec.PathRecord, comps mad.ComponentMask) bool {
	if comps.Has(sarec.PathDGID) {
		return want.DGID().IsMulticast()
	}
	return comps.Has(sarec.PathDLID) && want.DLID() >= mad.MinMulticastLID && want.DLID() != mad.PermissiveLID
}

// findGroup answers with the path to the group that a request names. By MLID there may
// be several, of which it is the first.
func (f *Finder) findGroup(from topo.PortIdx, want *sarec.PathRecord, comps mad.ComponentMask,
	out *sarec.PathRecord) mad.Status {
	if comps.Has(sarec.PathDGID) {
		g, found := f.reg.Group(want.DGID())
		if !found || !f.toGroup(from, want, comps, &g, out) {
			return mad.StatusNoRecords
		}
		return mad.StatusOK
	}
	for g := range f.reg.OnMLID(want.DLID()) {
		if f.toGroup(from, want, comps, &g, out) {
			return mad.StatusOK
		}
	}
	return mad.StatusNoRecords
}

// groupTable is the paths to the groups that a request names.
func (f *Finder) groupTable(ctx context.Context, from topo.PortIdx, want *sarec.PathRecord, comps mad.ComponentMask,
	limit int) (table []byte, st mad.Status) {
	if comps.Has(sarec.PathNumbPath) && want.NumbPath() == 0 {
		return nil, mad.StatusOK
	}
	var rec sarec.PathRecord
	if comps.Has(sarec.PathDGID) {
		if st := f.findGroup(from, want, comps, &rec); st != mad.StatusOK {
			return nil, st
		}
		return rec[:], mad.StatusOK
	}
	for g := range f.reg.OnMLID(want.DLID()) {
		if ctx.Err() != nil || len(table)+recordSize > limit {
			return nil, mad.StatusNoResources
		}
		if f.toGroup(from, want, comps, &g, &rec) {
			table = append(table, rec[:]...)
		}
	}
	return table, mad.StatusOK
}

// toGroup writes out and returns true when the requester may know of the group, those
// that the request names as source are in it, and it is as the request wants it. MTU,
// rate and lifetime of a group are what they are, and no bounds on them count.
func (f *Finder) toGroup(from topo.PortIdx, want *sarec.PathRecord, comps mad.ComponentMask, g *registry.Group,
	out *sarec.PathRecord) bool {
	if keys := f.ends[from].keys; keys != nil {
		if _, in := keys.Find(g.PKey); !in {
			return false
		}
	}
	*out = *want
	out.SetDGID(g.MGID)
	out.SetDLID(g.MLID)
	out.SetTClass(g.TClass)
	out.SetPKey(g.PKey)
	out.SetSL(g.SL)
	out.SetFlowLabel(g.FlowLabel)
	out.SetHopLimit(groupHopLimit(g))
	mask := sarec.PathMask(comps & groupComps)
	if !sarec.Match(out[:], want[:], mask[:]) || !f.isSource(want, comps, g) {
		return false
	}
	out.SetReversible(false)
	out.SetNumbPath(1)
	out.SetMTU(sarec.Exactly, g.MTU)
	out.SetRate(sarec.Exactly, g.Rate)
	out.SetPacketLifeTime(sarec.Exactly, g.PacketLifeTime)
	return true
}

// groupComps are the components that a group must have as the request gives them.
const groupComps = sarec.PathDGID | sarec.PathDLID | sarec.PathTClass | sarec.PathPKey | sarec.PathSL |
	sarec.PathFlowLabel |
	sarec.PathHopLimit

// linkLocal is the scope of groups that no router forwards.
const linkLocal = 2

func groupHopLimit(g *registry.Group) uint8 {
	if g.MGID[1]&0x0f == linkLocal {
		return g.HopLimit
	}
	return beyondHopLimit
}

// isSource reports whether the source that a request names is in the group.
func (f *Finder) isSource(want *sarec.PathRecord, comps mad.ComponentMask, g *registry.Group) bool {
	prefix := f.view.Subnet.Prefix
	if gid := want.SGID(); comps.Has(sarec.PathSGID) {
		if _, in := f.reg.Member(g.MGID, mad.MakeGID(prefix, gid.GUID())); !in || !f.onSubnet(gid) {
			return false
		}
	}
	if comps.Has(sarec.PathSLID) {
		p := f.endOfLID(want.SLID())
		if p == topo.None {
			return false
		}
		if _, in := f.reg.Member(g.MGID, mad.MakeGID(prefix, f.ends[p].guid)); !in {
			return false
		}
	}
	return true
}
