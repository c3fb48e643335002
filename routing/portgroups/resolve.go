package portgroups

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/conf/policyfile"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/topo"
)

// Resolver finds the members of groups in a subnet. What it finds out it keeps, and it is not safe for concurrent use.
type Resolver struct {
	t     *topo.Topo
	parts *partitions.Tables
	nodes map[string][]topo.NodeIdx // by NodeDescription; nil until it is needed, as are the next three
	bare  map[string][]topo.NodeIdx // by NodeDescription without the blanks at its ends, those that have such blanks
	hosts map[string][]topo.NodeIdx // CAs, by the first word of theirs
	keys  map[mad.PKey][]topo.PortIdx
	found map[*Group][]topo.PortIdx
	match map[*Pattern][]topo.PortIdx
}

// NewResolver returns a Resolver for a subnet, whose partitions may be nil.
func NewResolver(t *topo.Topo, parts *partitions.Tables) *Resolver {
	return &Resolver{t: t, parts: parts, found: map[*Group][]topo.PortIdx{}, match: map[*Pattern][]topo.PortIdx{}}
}

// find finds the ports of a part of a rule, in any order, some perhaps twice.
type find func(v *Resolver) []topo.PortIdx

// Members are the end ports of a group, in ascending order. They must not be changed.
func (v *Resolver) Members(g *Group) []topo.PortIdx {
	if members, known := v.found[g]; known {
		return members
	}
	var members []topo.PortIdx
	for i := range g.Rules {
		g.Rules[i].each(func(_ func() string, ports find) bool {
			members = append(members, ports(v)...)
			return true
		})
	}
	slices.Sort(members)
	members = slices.Compact(members)
	v.found[g] = members
	return members
}

// Unmatched is a part of a rule that no end port matches.
type Unmatched struct {
	Group    string
	Text     string // what it asks for
	Position diag.Position
}

// Unmatched are the parts of the rules of a group that no end port matches, the first of very many.
func (v *Resolver) Unmatched(g *Group) (found []Unmatched) {
	for i := range g.Rules {
		r := &g.Rules[i]
		r.each(func(text func() string, ports find) bool {
			if len(ports(v)) == 0 {
				found = append(found, Unmatched{g.Name, text(), r.Position})
			}
			return len(found) < mostTexts
		})
	}
	return found
}

// each calls do for each part of a rule with its text and what finds its ports, until do returns false.
func (r *Rule) each(do func(text func() string, ports find) bool) {
	for _, guids := range r.GUIDs {
		if !do(func() string {
			return "port GUID " + guids.Text(guidFormat)
		}, func(v *Resolver) []topo.PortIdx { return v.withGUIDs(guids, r.OrNodes) }) {
			return
		}
	}
	for i := range r.Ports {
		p := &r.Ports[i]
		if !do(func() string {
			return fmt.Sprintf("GUID %v ports %s", p.GUID, p.Ports.Text("%d"))
		}, func(v *Resolver) []topo.PortIdx { return v.portsAt(p) }) {
			return
		}
	}
	for i := range r.Names {
		n := &r.Names[i]
		if !do(func() string {
			return fmt.Sprintf("%s/P%d", n.Node, n.Port)
		}, func(v *Resolver) []topo.PortIdx { return v.named(n) }) {
			return
		}
	}
	for i := range r.Hosts {
		if !do(r.Hosts[i].String, func(v *Resolver) []topo.PortIdx { return v.ofHost(&r.Hosts[i]) }) {
			return
		}
	}
	for _, keys := range r.PKeys {
		if !do(func() string {
			return "P_Key " + keys.Text("0x%04x")
		}, func(v *Resolver) []topo.PortIdx { return v.inPartitions(keys) }) {
			return
		}
	}
	for _, w := range r.Partitions {
		if !do(func() string {
			return "partition " + w.Text
		}, func(v *Resolver) []topo.PortIdx { return v.inPartition(w.Text) }) {
			return
		}
	}
	r.eachOther(do)
}

// eachOther is each for what a rule has at most once of a kind.
func (r *Rule) eachOther(do func(text func() string, ports find) bool) {
	for _, t := range typeNames {
		if r.Types.Has(t.typ) && !do(func() string { return t.name }, func(v *Resolver) []topo.PortIdx {
			return v.ofType(t.typ)
		}) {
			return
		}
	}
	if r.Self && !do(func() string { return "SELF" }, (*Resolver).self) {
		return
	}
	if r.Pattern != nil && !do(r.Pattern.String, func(v *Resolver) []topo.PortIdx { return v.matching(r.Pattern) }) {
		return
	}
	if len(r.named) > 0 {
		do(r.groupsText, func(v *Resolver) []topo.PortIdx { return v.grouped(r) })
	}
}

// withGUIDs are the end ports in a range of GUIDs; of a single one that no end port has, those of the node that has it,
// if orNode says so.
func (v *Resolver) withGUIDs(r policyfile.Range, orNode bool) []topo.PortIdx {
	all := v.t.EndPorts
	from, _ := slices.BinarySearchFunc(all, r.From, func(p topo.PortIdx, guid uint64) int {
		if uint64(v.t.Ports[p].GUID) < guid {
			return -1
		}
		return 1 // the first of equal ones
	})
	to := from
	for to < len(all) && uint64(v.t.Ports[all[to]].GUID) <= r.To {
		to++
	}
	if n := v.t.FindNode(mad.GUID(r.From)); from == to && orNode && r.From == r.To && n != topo.None {
		return v.ofNode(n, 0)
	}
	return all[from:to]
}

// ofNode are the end ports of a node, or the one that has a number or, of a switch, stands for it. 0 is any.
func (v *Resolver) ofNode(n topo.NodeIdx, num uint8) (ports []topo.PortIdx) {
	node := &v.t.Nodes[n]
	first, last := int(num), int(num)
	switch {
	case num > node.NumPorts:
		return nil
	case node.Type == mad.Switch:
		first, last = 0, 0
	case num == 0:
		first, last = 1, int(node.NumPorts)
	}
	for num := first; num <= last; num++ {
		if p := v.t.Port(n, uint8(num)); v.t.Ports[p].Seen && v.t.Ports[p].GUID != 0 {
			ports = append(ports, p)
		}
	}
	return ports
}

// portsAt are some ports of the node that has a GUID, or has a port with it.
func (v *Resolver) portsAt(p *NodePorts) (ports []topo.PortIdx) {
	n := v.t.FindNode(p.GUID)
	if n == topo.None {
		port := v.t.FindPort(p.GUID)
		if port == topo.None {
			return nil
		}
		n = v.t.Ports[port].Node
	}
	for num := 1; num <= int(v.t.Nodes[n].NumPorts); num++ {
		if p.Ports.Has(uint64(num)) {
			ports = append(ports, v.ofNode(n, uint8(num))...)
		}
	}
	return ports
}

// named are the ports with a name: one of each node with the NodeDescription. Without such a node, blanks at
// the ends do not count.
func (v *Resolver) named(name *PortName) (ports []topo.PortIdx) {
	v.describe()
	nodes := v.nodes[name.Node]
	if bare := strings.TrimSpace(name.Node); nodes == nil {
		nodes = slices.Concat(v.nodes[bare], v.bare[bare])
	}
	for _, n := range nodes {
		ports = append(ports, v.ofNode(n, name.Port)...)
	}
	return ports
}

// describe makes the maps of nodes by description.
func (v *Resolver) describe() {
	if v.nodes != nil {
		return
	}
	v.nodes, v.bare = make(map[string][]topo.NodeIdx, len(v.t.Nodes)), map[string][]topo.NodeIdx{}
	for i := range v.t.Nodes {
		desc := v.t.Nodes[i].Desc.String()
		v.nodes[desc] = append(v.nodes[desc], topo.NodeIdx(i))
		if bare := strings.TrimSpace(desc); bare != desc {
			v.bare[bare] = append(v.bare[bare], topo.NodeIdx(i))
		}
	}
}

// ofHost are the ports of channel adapters in a host.
func (v *Resolver) ofHost(h *HostPort) (ports []topo.PortIdx) {
	if v.hosts == nil {
		v.hosts = map[string][]topo.NodeIdx{}
		for i := range v.t.Nodes {
			node := &v.t.Nodes[i]
			if words := strings.Fields(node.Desc.String()); node.Type == mad.CA && len(words) > 0 {
				v.hosts[words[0]] = append(v.hosts[words[0]], topo.NodeIdx(i))
			}
		}
	}
	for _, n := range v.hosts[h.Host] {
		if h.matches(v.t.Nodes[n].Desc.String()) {
			ports = append(ports, v.ofNode(n, h.Port)...)
		}
	}
	return ports
}

// matching are the ports of nodes whose description has a pattern. Equal descriptions are looked at once.
func (v *Resolver) matching(p *Pattern) (ports []topo.PortIdx) {
	if ports, known := v.match[p]; known {
		return ports
	}
	v.describe()
	for desc, nodes := range v.nodes {
		if !p.expr.MatchString(desc) {
			continue
		}
		for _, n := range nodes {
			ports = append(ports, v.ofNode(n, p.Port)...)
		}
	}
	slices.Sort(ports) // the order of a map is random
	v.match[p] = ports
	return ports
}

// ofType are the end ports of nodes of a type.
func (v *Resolver) ofType(typ mad.NodeType) (ports []topo.PortIdx) {
	for _, p := range v.t.EndPorts {
		if v.t.Nodes[v.t.Ports[p].Node].Type == typ {
			ports = append(ports, p)
		}
	}
	return ports
}

func (v *Resolver) self() []topo.PortIdx {
	if v.t.Self == topo.None {
		return nil
	}
	return []topo.PortIdx{v.t.EndPort(v.t.Self)}
}

// inPartitions are the members of partitions: by the target tables, or where those leave the table of a port alone, by
// what it holds.
func (v *Resolver) inPartitions(r policyfile.Range) (ports []topo.PortIdx) {
	if v.keys == nil {
		v.keys = map[mad.PKey][]topo.PortIdx{}
		for _, p := range v.t.EndPorts {
			for _, key := range v.parts.Table(v.t, p).Keys() {
				if of := v.keys[key.Base()]; key.Valid() && (len(of) == 0 || of[len(of)-1] != p) {
					v.keys[key.Base()] = append(of, p)
				}
			}
		}
	}
	for key := r.From; key <= r.To; key++ {
		ports = append(ports, v.keys[mad.PKey(key)]...)
	}
	return ports
}

// inPartition are the members of the partitions with a name. Without a partition file there is the default one.
func (v *Resolver) inPartition(name string) (ports []topo.PortIdx) {
	policy := partitions.Default()
	if v.parts != nil && v.parts.Policy != nil {
		policy = v.parts.Policy
	}
	for i := range policy.Partitions {
		if part := &policy.Partitions[i]; part.Name == name {
			ports = append(ports, v.inPartitions(policyfile.Range{From: uint64(part.Key), To: uint64(part.Key)})...)
		}
	}
	return ports
}

// grouped are the members of the groups that a rule names.
func (v *Resolver) grouped(r *Rule) (ports []topo.PortIdx) {
	for _, g := range r.Union {
		ports = append(ports, v.Members(g)...)
	}
	if r.Subtract == nil {
		return ports
	}
	without := v.Members(r.Subtract)
	return slices.DeleteFunc(ports, func(p topo.PortIdx) bool {
		_, is := slices.BinarySearch(without, p)
		return is
	})
}
