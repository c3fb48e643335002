package partitions

import (
	"cmp"
	"slices"

	"ibsm/mad"
	"ibsm/registry"
)

// Defaults are the MTU and rate of groups where the file gives none; 0 is OpenSM's default.
type Defaults struct {
	MTU  mad.MTU
	Rate mad.Rate
}

// WellKnown are the groups of all partitions as the SA registers them, in the order of
// the file, which is that of their MLIDs. MLIDs and packet lifetimes are the SA's to
// give. Without QoS there is no SL but 0. defaulted are those to which defaults apply.
func (p *Policy) WellKnown(qos bool, defaults Defaults) (groups []registry.Group, defaulted map[mad.GID]bool) {
	type placed struct {
		key mad.PKey
		*Group
	}
	var all []placed
	for i := range p.Partitions {
		for j := range p.Partitions[i].Groups {
			all = append(all, placed{p.Partitions[i].Key, &p.Partitions[i].Groups[j]})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Col, b.Position.Col))
	})
	groups, defaulted = make([]registry.Group, len(all)), map[mad.GID]bool{}
	for i, g := range all {
		groups[i] = registry.Group{
			MGID: g.MGID, PKey: g.key | mad.FullMember, QKey: g.QKey, MTU: g.MTU, Rate: g.Rate,
			FlowLabel: g.FlowLabel, TClass: g.TClass, HopLimit: 0xff, Scope: g.MGID[1] & 15, WellKnown: true,
		}
		if qos {
			groups[i].SL = g.SL
		}
		if groups[i].Scope == linkLocal {
			groups[i].HopLimit = 0
		}
		if g.AnyMTU && defaults.MTU != 0 {
			groups[i].MTU, defaulted[g.MGID] = defaults.MTU, true
		}
		if g.AnyRate && defaults.Rate != 0 {
			groups[i].Rate, defaulted[g.MGID] = defaults.Rate, true
		}
	}
	return groups, defaulted
}

// SLs are the SLs of paths by the base of the P_Key, those that are 0 left out. Without QoS
// all are, as in OpenSM (partition_create overrides them then).
func (p *Policy) SLs(qos bool) map[mad.PKey]uint8 {
	sls := map[mad.PKey]uint8{}
	for i := range p.Partitions {
		if part := &p.Partitions[i]; qos && part.SL != 0 {
			sls[part.Key] = part.SL
		}
	}
	return sls
}
