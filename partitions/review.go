package partitions

import (
	"ibsm/conf/diag"
	"ibsm/mad"
)

// review warns of what the whole says and hardly means to.
func (r *resolver) review() {
	if len(r.Definitions) == 0 && len(r.errors) == 0 {
		r.errors.Add(diag.Position{File: r.Name, Line: 1},
			"the file defines no partition; for OpenSM's behaviour without a file write Default=0x7fff, ipoib : ALL=full;")
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
// default partition. A manager runs on an adapter, as far as this package knows.
func (r *resolver) reviewDefault(p *Partition) {
	self, others := Limited, Limited
	var place diag.Position
	for _, m := range p.Members {
		switch {
		case m.Who == Self || m.Who == AllCAs || m.Who == OnePort && m.Port == r.Self && r.Self != 0:
			self, place = m.Membership, m.Position
		case m.Who == All:
			self, others, place = m.Membership, m.Membership, m.Position
		}
		if m.Who == AllCAs {
			others = m.Membership
		}
	}
	if self == Limited && others == Limited {
		r.warnings.Add(place, managerLimited, mad.DefaultPKey)
		r.policy.Dangers.Add(place, managerLimited, mad.DefaultPKey)
	}
}

const managerLimited = "the manager's port is a limited member of the default partition, key %s: limited members cannot reach it"
