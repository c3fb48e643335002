// Package kube describes the topology of a subnet to schedulers of Kubernetes: labels of nodes, Kueue's Topology,
// Volcano's HyperNodes, and topograph's model. It is pure: the same topology gives the same bytes.
//
// The levels are those of package slurm: on tier 0 the hosts that are on the same leafs, above it the hosts that the
// switches up to a level connect. Every node has a label for each tier, as Kueue demands: one that no switch joins to
// others on a tier has the name of the tier below again.
package kube

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/ctl/slurm"
)

// Topology is a subnet as Kubernetes has it.
type Topology struct {
	Nodes   []Node  // in the order of their leafs
	Groups  []Group // of nodes: first those of tier 0, each after those that it names
	Tiers   int     // number of tiers; 0 without nodes
	LeftOut []string
}

// Node is a node of Kubernetes: a host.
type Node struct {
	Name   string
	Labels []string // values, by tier
}

// Group is what a switch of Slurm's stands for.
type Group struct {
	Name    string // of an object, which no other Group has
	Tier    int
	Members []string // nodes on tier 0, and Groups above
}

// Of is the topology for Kubernetes. The name of a node is that of the host in lower case, as kubelet has it.
func Of(t *slurm.Topology) *Topology {
	b := builder{slurm: t, parent: map[string]string{}, tier: map[string]int{}, label: map[string]string{},
		object: map[string]string{}}
	b.top.LeftOut = slices.Clone(t.LeftOut)
	b.addNames()
	names := b.nodeNames()
	for i := range t.Leafs {
		leaf := &t.Leafs[i]
		group := Group{Name: b.object[leaf.Name]}
		for _, host := range leaf.Nodes {
			if name := names[host]; name != "" {
				group.Members = append(group.Members, name)
				b.top.Nodes = append(b.top.Nodes, Node{Name: name, Labels: b.labels(leaf.Name)})
			}
		}
		b.add(leaf.Name, group)
	}
	for i := range t.Uppers {
		upper := &t.Uppers[i]
		group := Group{Name: b.object[upper.Name], Tier: b.tier[upper.Name]}
		for _, child := range upper.Children {
			if !b.empty[child] {
				group.Members = append(group.Members, b.object[child])
			}
		}
		b.add(upper.Name, group)
	}
	if len(b.top.Nodes) == 0 {
		b.top.Tiers = 0
	}
	return &b.top
}

// builder makes a Topology.
type builder struct {
	slurm  *slurm.Topology
	top    Topology
	parent map[string]string // by name of Slurm's
	tier   map[string]int
	label  map[string]string
	object map[string]string
	empty  map[string]bool // without a member
}

// add adds a group, unless it is empty.
func (b *builder) add(name string, g Group) {
	if len(g.Members) > 0 {
		b.top.Groups = append(b.top.Groups, g)
		return
	}
	if b.empty == nil {
		b.empty = map[string]bool{}
	}
	b.empty[name] = true
}

// addNames finds the tier of each switch of Slurm's, and makes names of it that Kubernetes takes.
func (b *builder) addNames() {
	var labels, objects namer
	name := func(s *slurm.Switch) {
		b.label[s.Name] = labels.name(s.Name)
		b.object[s.Name] = objects.name(strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(s.Name)))
		b.top.Tiers = max(b.top.Tiers, b.tier[s.Name]+1)
	}
	for i := range b.slurm.Leafs {
		name(&b.slurm.Leafs[i])
	}
	for i := range b.slurm.Uppers {
		s := &b.slurm.Uppers[i]
		for _, child := range s.Children {
			b.parent[child] = s.Name
			b.tier[s.Name] = max(b.tier[s.Name], b.tier[child]+1)
		}
		name(s)
	}
}

// labels are the values of a leaf, by tier.
func (b *builder) labels(name string) []string {
	values := make([]string, b.top.Tiers)
	for tier := range values {
		if up, is := b.parent[name]; is && b.tier[up] <= tier {
			name = up
		}
		values[tier] = b.label[name]
	}
	return values
}

// nodeNames are the names of nodes, by host; a host that has none is left out.
func (b *builder) nodeNames() map[string]string {
	hosts := map[string][]string{} // by name of a node
	for i := range b.slurm.Leafs {
		for _, host := range b.slurm.Leafs[i].Nodes {
			hosts[strings.ToLower(host)] = append(hosts[strings.ToLower(host)], host)
		}
	}
	names := map[string]string{}
	for i := range b.slurm.Leafs {
		for _, host := range b.slurm.Leafs[i].Nodes {
			name := strings.ToLower(host)
			switch same := hosts[name]; {
			case !isNodeName(name):
				b.top.LeftOut = append(b.top.LeftOut, fmt.Sprintf("host %q: no name of a node in Kubernetes", host))
			case len(same) > 1:
				b.top.LeftOut = append(b.top.LeftOut, fmt.Sprintf("host %q: %s differ in the case of letters alone", host,
					strings.Join(same, " and ")))
			default:
				names[host] = name
			}
		}
	}
	return names
}

// isNodeName reports whether Kubernetes takes a name in lower case for a node: parts between dots that begin and end
// with a letter or a digit.
func isNodeName(name string) bool {
	for _, part := range strings.Split(name, ".") {
		if part == "" || part != strings.Trim(part, "-") || strings.Contains(part, "_") {
			return false
		}
	}
	return true
}

// namer makes names unique.
type namer map[string]bool

// maxName is the greatest length of a name of a namer before a number is added: a value of a label has 63 characters.
const maxName = 57

// name is a name that begins and ends with a letter or a digit.
func (n *namer) name(wanted string) string {
	if *n == nil {
		*n = namer{}
	}
	const punctuation = "-_."
	clean := strings.Trim(wanted, punctuation)
	clean = strings.TrimRight(clean[:min(len(clean), maxName)], punctuation)
	if clean == "" {
		clean = "switch"
	}
	unique := clean
	for i := 2; (*n)[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", clean, i)
	}
	(*n)[unique] = true
	return unique
}
