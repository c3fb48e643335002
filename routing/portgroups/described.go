package portgroups

import (
	"iter"
	"slices"
	"strings"
)

// Described are the rules of groups that go by the description of nodes.
type Described []*Rule

// ByDescription are those of groups, and of the groups that they name.
func ByDescription(groups []*Group) (rules Described) {
	for r := range rulesOf(groups) {
		if r.Pattern != nil || len(r.Names)+len(r.Hosts) > 0 {
			rules = append(rules, r)
		}
	}
	return rules
}

// ByPartition reports whether groups, or groups that they name, go by partitions.
func ByPartition(groups []*Group) bool {
	for r := range rulesOf(groups) {
		if len(r.PKeys)+len(r.Partitions) > 0 {
			return true
		}
	}
	return false
}

// rulesOf are the rules of groups, and of the groups that they name, each once.
func rulesOf(groups []*Group) iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		seen := map[*Group]bool{}
		for queue := slices.Clone(groups); len(queue) > 0; {
			g := queue[len(queue)-1]
			if queue = queue[:len(queue)-1]; seen[g] {
				continue
			}
			seen[g] = true
			for i := range g.Rules {
				r := &g.Rules[i]
				if !yield(r) {
					return
				}
				queue = append(queue, r.Union...)
				if r.Subtract != nil {
					queue = append(queue, r.Subtract)
				}
			}
		}
	}
}

// Size is the number of names and patterns, at least 1.
func (d Described) Size() int {
	n := 1
	for _, r := range d {
		n += 1 + len(r.Names) + len(r.Hosts)
	}
	return n
}

// Distinguish reports whether any of the rules matches one of two descriptions and not the other.
func (d Described) Distinguish(a, b string) bool {
	return a != b && slices.ContainsFunc(d, func(r *Rule) bool {
		return r.Pattern != nil && r.Pattern.expr.MatchString(a) != r.Pattern.expr.MatchString(b) ||
			slices.ContainsFunc(r.Names, func(n PortName) bool { return (n.Node == a) != (n.Node == b) }) ||
			slices.ContainsFunc(r.Hosts, func(h HostPort) bool { return h.matches(a) != h.matches(b) })
	})
}

// matches reports whether a description is that of an adapter of the host.
func (h *HostPort) matches(desc string) bool {
	words := strings.Fields(desc)
	return len(words) > 0 && words[0] == h.Host && (h.Adapter == 0 || len(words) > 1 && words[1] == h.adapter())
}
