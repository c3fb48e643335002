package qos

import (
	"slices"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/registry"
)

// SLOf is the SL that the policy gives to everything in a partition: that of the first rule which asks
// for its P_Key and for nothing else; false without one.
func (p *Policy) SLOf(key mad.PKey) (sl uint8, found bool) {
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.PKeys.Has(uint64(key.Base())) && r.Sources == nil && r.Destinations == nil && r.Classes == nil &&
			r.ServiceIDs == nil {
			return r.Level.SL, true
		}
	}
	return 0, false
}

// ForGroups returns the groups with the SLs that the policy gives to their partitions (SLOf): the
// broadcast groups of IPoIB, and the other groups of IPoIB that have the SL of theirs, which hosts
// join with the values of the broadcast group (RFC 4391, 5).
func (p *Policy) ForGroups(groups []registry.Group) []registry.Group {
	own := map[mad.PKey]uint8{} // the SLs of broadcast groups
	for i := range groups {
		if g := &groups[i]; g.MGID == registry.BroadcastMGID(g.PKey, g.Scope) {
			own[g.PKey] = g.SL
		}
	}
	groups = slices.Clone(groups)
	for i := range groups {
		g := &groups[i]
		sl, given := p.SLOf(g.PKey)
		if before, has := own[g.PKey]; has && given && before == g.SL && isIPoIB(g.MGID) {
			g.SL = sl
		}
	}
	return groups
}

// isIPoIB reports whether a group has the signature of IPv4 or IPv6 (RFC 4391, 4).
func isIPoIB(mgid mad.GID) bool { return (mgid[2] == 0x40 || mgid[2] == 0x60) && mgid[3] == 0x1b }

// Conflicts returns warnings about rules whose P_Keys no partition has. OpenSM refuses the whole
// file if a line ipoib is among them.
func (p *Policy) Conflicts(parts *partitions.Policy) (warnings diag.List) {
	keys := map[uint64]bool{}
	for i := range parts.Partitions {
		keys[uint64(parts.Partitions[i].Key)] = true
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		key, missing := r.missing(keys)
		switch {
		case len(warnings) == policyfile.MaxFindings:
			return warnings
		case missing && r.IPoIB:
			warnings.Add(r.Position,
				"no partition has the P_Key 0x%04x: OpenSM refuses the whole file because of this line", key)
		case missing:
			warnings.Add(r.Position, "no partition has a P_Key of this rule")
		}
	}
	return warnings
}

// missing reports whether no partition has a P_Key of the rule, or for a line ipoib, whether
// one of them is missing, and which.
func (r *Rule) missing(keys map[uint64]bool) (key uint64, missing bool) {
	for _, k := range r.PKeys {
		for key = k.From; key <= k.To; key++ {
			if keys[key] != r.IPoIB {
				return key, r.IPoIB
			}
		}
	}
	return 0, r.PKeys != nil && !r.IPoIB
}
