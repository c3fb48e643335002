package partitions

import (
	"ibsm/conf/diag"
	"ibsm/mad"
)

// review warns of what the whole says and hardly means to.
func (r *resolver) review() {
	if len(r.Definitions) == 0 && len(r.errors) == 0 {
		r.errors.Add(diag.Position{File: r.Name, Line: 1}, "the file defines no partition; for OpenSM's behaviour without a file write Default=0x7fff, ipoib : ALL=full;")
	}
	for i := range r.policy.Partitions {
		p := &r.policy.Partitions[i]
		if p.Key == DefaultKey {
			r.reviewDefault(p)
			continue
		}
		full, limited := false, false
		for _, m := range p.Members {
			full = full || m.Membership != Limited
			limited = limited || m.Membership == Limited
		}
		switch {
		case !full && !limited:
			r.warnings.Add(p.Position, "%s has no member", shown(p.Name))
		case !full:
			r.warnings.Add(p.Position, "%s has no full member, so that its members cannot communicate", shown(p.Name))
		}
	}
}

// reviewDefault warns of members that cannot reach the manager, which they do by the
// default partition.
func (r *resolver) reviewDefault(p *Partition) {
	self, others := Limited, Limited
	var place diag.Position
	for _, m := range p.Members {
		switch m.Who {
		case Self:
			self, place = m.Membership, m.Position
		case All:
			self, others, place = m.Membership, m.Membership, m.Position
		}
	}
	if self == Limited && others == Limited {
		r.warnings.Add(place, "the manager's port is a limited member of the default partition, key %s: limited members cannot reach it", mad.DefaultPKey)
	}
}
