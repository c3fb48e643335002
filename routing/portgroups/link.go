package portgroups

import (
	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
)

// Link looks up the groups that the groups of a file name: those of the file first, and then others, which may be
// nil. It notes errors about names that no group has, and about groups that contain themselves.
func Link(r *policyfile.Reader, groups []*Group, others *Set) {
	l := linker{Reader: r, own: map[string]*Group{}, others: others, states: map[*Group]linkState{}}
	for _, g := range groups {
		if first := l.own[policyfile.Fold(g.Name)]; first != nil {
			r.Warn(g.Position, "port-group %s is never used: that of line %d has the same name",
				policyfile.Shown(g.Name), first.Position.Line)
			continue
		}
		l.own[policyfile.Fold(g.Name)] = g
	}
	for _, g := range groups {
		l.link(g)
	}
}

// linker links the groups of a file.
type linker struct {
	*policyfile.Reader
	own    map[string]*Group
	others *Set
	states map[*Group]linkState
	path   []*Group // from the first group to the one that is being linked, each named by the one before
}

// linkState is how far a group is linked.
type linkState uint8

const (
	notLinked linkState = iota
	linking
	linked
)

// link links a group after those that it names.
func (l *linker) link(g *Group) {
	if l.states[g] == linked {
		return
	}
	l.states[g], l.path = linking, append(l.path, g)
	for i := range g.Rules {
		rule := &g.Rules[i]
		for at, w := range rule.named {
			named := l.find(w)
			switch {
			case named == nil:
			case l.states[named] == linking:
				l.circle(rule.Position, named)
			default:
				if l.own[policyfile.Fold(named.Name)] == named {
					l.link(named)
				}
				if rule.less && at == len(rule.named)-1 {
					rule.Subtract = named
				} else {
					rule.Union = append(rule.Union, named)
				}
			}
		}
	}
	l.states[g], l.path = linked, l.path[:len(l.path)-1]
	g.sum = g.digest()
}

// find is the group of a name, nil after an error.
func (l *linker) find(w policyfile.Word) *Group {
	if g := l.own[policyfile.Fold(w.Text)]; g != nil {
		return g
	}
	if g := l.others.Find(w.Text); g != nil {
		return g
	}
	meant := diag.Meant(w.Text, policyfile.Known(l.own))
	if meant == "" {
		meant = l.others.Meant(w.Text)
	}
	l.Fail(w.Position, "no port-group has the name %s%s", policyfile.Shown(w.Text), meant)
	return nil
}

// circle notes that a group contains itself.
func (l *linker) circle(at diag.Position, g *Group) {
	from := len(l.path) - 1
	for l.path[from] != g {
		from--
	}
	var names []string
	for _, inside := range l.path[from+1:] {
		names = append(names, policyfile.Shown(inside.Name))
	}
	through := ""
	if names != nil {
		through = " through " + policyfile.Some(names, len(names), ", ")
	}
	l.Fail(at, "port-group %s contains itself%s", policyfile.Shown(g.Name), through)
}
