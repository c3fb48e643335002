package qos

import (
	"maps"
	"slices"
	"strings"

	"ibsm/conf/diag"
)

// defaultLevel is the name of the level of requests that no rule matches.
const defaultLevel = "default"

// fold is a name as it is compared: OpenSM drops blanks and does not mind upper case.
func fold(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(blank, r) {
			return -1
		}
		return r
	}, name))
}

// resolve looks up the names of levels and groups in the rules, adds those of qos-ulps, and
// selects the default.
func (p *parser) resolve() {
	groups, levels := map[string]*Group{}, map[string]*Level{}
	for i := range p.policy.Groups {
		g := &p.policy.Groups[i]
		if first := groups[fold(g.Name)]; first != nil {
			p.warn(g.Position, "port-group %s is never used: that of line %d has the same name", shown(g.Name), first.Position.Line)
			continue
		}
		groups[fold(g.Name)] = g
	}
	for i := range p.policy.Levels {
		l := &p.policy.Levels[i]
		if first := levels[fold(l.Name)]; first != nil {
			p.warn(l.Position, "qos-level %s is never used: that of line %d has the same name", shown(l.Name), first.Position.Line)
			continue
		}
		levels[fold(l.Name)] = l
	}
	for i, n := range p.named {
		r := &p.policy.Rules[i]
		r.Sources, r.Destinations = p.groups(groups, n.sources), p.groups(groups, n.destinations)
		w := n.level[0]
		if r.Level = levels[fold(w.Text)]; r.Level == nil {
			p.fail(w.Position, "no qos-level has the name %s%s", shown(w.Text), diag.Meant(w.Text, names(levels)))
		}
	}
	p.policy.Rules = append(p.policy.Rules, p.ulps...)
	if p.policy.Default = levels[defaultLevel]; p.policy.Default == nil {
		p.policy.Default = p.fallback
	}
	if p.policy.Default == nil {
		p.fail(diag.Position{File: p.name, Line: 1}, "no level for requests that no rule matches; expected a qos-level with the name DEFAULT, or a line default: SL in qos-ulps")
	}
	p.review()
}

// groups are the groups that a rule names.
func (p *parser) groups(known map[string]*Group, words []Word) (groups []*Group) {
	for _, w := range words {
		g := known[fold(w.Text)]
		if g == nil {
			p.fail(w.Position, "no port-group has the name %s%s", shown(w.Text), diag.Meant(w.Text, names(known)))
		}
		groups = append(groups, g)
	}
	return groups
}

// names are the names that were used, some of very many.
func names[T any](known map[string]T) []string {
	const enough = 200
	all := slices.Sorted(maps.Keys(known))
	return all[:min(len(all), enough)]
}

// review warns of what is legal and hardly meant.
func (p *parser) review() {
	for i := range p.policy.Rules {
		r := &p.policy.Rules[i]
		if rest := len(p.policy.Rules) - i - 1; rest > 0 && r.Sources == nil && r.Destinations == nil && r.Classes == nil && r.ServiceIDs == nil && r.PKeys == nil {
			p.warn(r.Position, "the rule matches every request: the %d after it and the default level are never used", rest)
			return
		}
	}
	if p.fallback != nil && p.policy.Default != p.fallback {
		p.warn(p.fallback.Position, "default is never used: the qos-level %s of line %d takes precedence", shown(p.policy.Default.Name), p.policy.Default.Position.Line)
	}
}
