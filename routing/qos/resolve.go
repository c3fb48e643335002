package qos

import (
	"cmp"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/routing/portgroups"
)

// defaultLevel is the name of the level of requests that no rule matches.
const defaultLevel = "default"

// resolve looks up the names of levels and groups in the rules, adds those of qos-ulps, and
// selects the default.
func (p *parser) resolve() {
	portgroups.Link(p.Reader, p.policy.Groups, p.others)
	groups, levels := portgroups.NewSet(p.policy.Groups), map[string]*Level{}
	for i := range p.policy.Levels {
		l := &p.policy.Levels[i]
		if first := levels[policyfile.Fold(l.Name)]; first != nil {
			p.Warn(l.Position, "qos-level %s is never used: that of line %d has the same name",
				policyfile.Shown(l.Name), first.Position.Line)
			continue
		}
		levels[policyfile.Fold(l.Name)] = l
	}
	for i, n := range p.named {
		r := &p.policy.Rules[i]
		r.Sources, r.Destinations = p.groups(groups, n.sources), p.groups(groups, n.destinations)
		w := n.level[0]
		if r.Level = levels[policyfile.Fold(w.Text)]; r.Level == nil {
			p.Fail(w.Position, "no qos-level has the name %s%s", policyfile.Shown(w.Text),
				diag.Meant(w.Text, policyfile.Known(levels)))
		}
	}
	p.policy.Rules = append(p.policy.Rules, p.ulps...)
	if p.policy.Default = levels[defaultLevel]; p.policy.Default == nil {
		p.policy.Default = p.fallback
	}
	if p.policy.Default == nil {
		p.Fail(p.Top(), "no level for requests that no rule matches; expected a qos-level with the name DEFAULT, or a line default: SL in qos-ulps")
	}
	p.review()
}

// groups are the groups that a rule names.
func (p *parser) groups(own *portgroups.Set, words []policyfile.Word) (groups []*portgroups.Group) {
	for _, w := range words {
		g := own.Find(w.Text)
		if g == nil || portgroups.IsPredefined(g) {
			if g = p.others.Find(w.Text); g != nil {
				p.Warn(w.Position, "port-group %s is not in this file: OpenSM refuses the file",
					policyfile.Shown(w.Text))
			}
		}
		if g == nil {
			p.Fail(w.Position, "no port-group has the name %s%s", policyfile.Shown(w.Text),
				cmp.Or(own.Meant(w.Text), p.others.Meant(w.Text)))
		}
		groups = append(groups, g)
	}
	return groups
}

// review warns of what is legal and hardly meant.
func (p *parser) review() {
	for i := range p.policy.Rules {
		r := &p.policy.Rules[i]
		if rest := len(p.policy.Rules) - i - 1; rest > 0 && r.Sources == nil && r.Destinations == nil &&
			r.Classes == nil && r.ServiceIDs == nil && r.PKeys == nil {
			p.Warn(r.Position, "the rule matches every request: the %d after it and the default level are never used",
				rest)
			return
		}
	}
	if p.fallback != nil && p.policy.Default != p.fallback {
		p.Warn(p.fallback.Position, "default is never used: the qos-level %s of line %d takes precedence",
			policyfile.Shown(p.policy.Default.Name), p.policy.Default.Position.Line)
	}
}
