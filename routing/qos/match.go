package qos

import (
	"slices"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/topo"
)

// Matcher is a Policy for the ports of one subnet. It is immutable and safe for concurrent use.
type Matcher struct {
	policy *Policy
	rules  []rulePorts // by index in policy.Rules
}

// rulePorts are the ports that a rule is about; nil for all.
type rulePorts struct{ sources, destinations []*portSet }

// Request is what rules are about in a request for a path. A port of a switch is its port 0.
type Request struct {
	Source, Destination topo.PortIdx
	ServiceID           uint64
	Class               uint16 // QoSClass
	PKey                mad.PKey
	// What the request gives; what it does not give matches no rule that asks for it.
	HasServiceID, HasClass, HasPKey bool
}

// Match is the level of a request, and the rule that says so; nil for the rule of the default
// level. It does not allocate.
func (m *Matcher) Match(r *Request) (*Rule, *Level) {
	for i := range m.policy.Rules {
		rule, ports := &m.policy.Rules[i], &m.rules[i]
		switch {
		case rule.Sources != nil && !has(ports.sources, r.Source),
			rule.Destinations != nil && !has(ports.destinations, r.Destination),
			rule.Classes != nil && !(r.HasClass && rule.Classes.Has(uint64(r.Class))),
			rule.ServiceIDs != nil && !(r.HasServiceID && rule.ServiceIDs.Has(r.ServiceID)),
			rule.PKeys != nil && !(r.HasPKey && rule.PKeys.Has(uint64(r.PKey.Base()))):
			continue
		}
		return rule, rule.Level
	}
	return nil, m.policy.Default
}

// has reports whether a port is in one of the sets.
func has(sets []*portSet, p topo.PortIdx) bool {
	for _, s := range sets {
		if s.has(p) {
			return true
		}
	}
	return false
}

// portSet is a set of end ports: as bits, or few as a list in ascending order.
type portSet struct {
	bits []uint64
	few  []topo.PortIdx
}

func (s *portSet) has(p topo.PortIdx) bool {
	if s.bits != nil {
		return s.bits[p>>6]>>(p&63)&1 != 0
	}
	_, found := slices.BinarySearch(s.few, p)
	return found
}

// newPortSet makes a set of ports in ascending order out of n that there are.
func newPortSet(ports []topo.PortIdx, n int) *portSet {
	if len(ports) < n/32 {
		return &portSet{few: ports}
	}
	s := &portSet{bits: make([]uint64, n/64+1)}
	for _, p := range ports {
		s.bits[p>>6] |= 1 << (p & 63)
	}
	return s
}

// compiler makes the port sets of a subnet.
type compiler struct {
	t     *topo.Topo
	parts *partitions.Tables
	nodes map[string][]topo.NodeIdx // by NodeDescription; nil until a name is looked up
	sets  map[*Group]*portSet
}

// Compile makes a Matcher for the ports of a subnet, whose partitions may be nil, in time linear in
// the ports for each group that a rule names.
func (p *Policy) Compile(t *topo.Topo, parts *partitions.Tables) *Matcher {
	c := compiler{t: t, parts: parts, sets: map[*Group]*portSet{}}
	m := &Matcher{p, make([]rulePorts, len(p.Rules))}
	for i := range p.Rules {
		m.rules[i] = rulePorts{c.setsOf(p.Rules[i].Sources), c.setsOf(p.Rules[i].Destinations)}
	}
	return m
}

func (c *compiler) setsOf(groups []*Group) (sets []*portSet) {
	for _, g := range groups {
		if c.sets[g] == nil {
			c.sets[g] = newPortSet(c.members(g), len(c.t.Ports))
		}
		sets = append(sets, c.sets[g])
	}
	return sets
}

// Members are the end ports of a group in a subnet, in ascending order. Its partitions may be nil.
func (g *Group) Members(t *topo.Topo, parts *partitions.Tables) []topo.PortIdx {
	c := compiler{t: t, parts: parts}
	return c.members(g)
}

// members are the end ports of a group in ascending order.
func (c *compiler) members(g *Group) (ports []topo.PortIdx) {
	keys := slices.Concat(g.PKeys, c.keysOf(g.Partitions))
	if keys = join(keys); len(g.GUIDs)+len(keys) > 0 || g.Types != 0 {
		for _, p := range c.t.EndPorts {
			port := &c.t.Ports[p]
			if g.Types.Has(c.t.Nodes[port.Node].Type) || g.GUIDs.Has(uint64(port.GUID)) || len(keys) > 0 && c.inPartition(p, keys) {
				ports = append(ports, p)
			}
		}
	}
	for i := range g.Names {
		ports = append(ports, c.portsNamed(&g.Names[i])...)
	}
	if g.Self && c.t.Self != topo.None {
		ports = append(ports, c.t.EndPort(c.t.Self))
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// inPartition reports whether a port is a member of one of some partitions: by the target
// tables, or where those leave its table alone, by what it holds.
func (c *compiler) inPartition(p topo.PortIdx, keys Ranges) bool {
	table := c.t.Ports[p].PKeys
	if c.parts != nil && c.parts.Want[p] != nil {
		table = c.parts.Want[p]
	}
	return slices.ContainsFunc(table.Keys(), func(k mad.PKey) bool { return k.Valid() && keys.Has(uint64(k.Base())) })
}

// keysOf are the P_Keys of partitions by name. Without a partition file there is the default one.
func (c *compiler) keysOf(names []Word) (keys Ranges) {
	policy := partitions.Default()
	if c.parts != nil && c.parts.Policy != nil {
		policy = c.parts.Policy
	}
	for _, w := range names {
		for i := range policy.Partitions {
			if part := &policy.Partitions[i]; part.Name == w.Text {
				keys = append(keys, Range{uint64(part.Key), uint64(part.Key)})
			}
		}
	}
	return keys
}

// portsNamed are the ports with a name: one of each node with the NodeDescription.
func (c *compiler) portsNamed(name *PortName) (ports []topo.PortIdx) {
	if c.nodes == nil {
		c.nodes = make(map[string][]topo.NodeIdx, len(c.t.Nodes))
		for n := range c.t.Nodes {
			desc := c.t.Nodes[n].Desc.String()
			c.nodes[desc] = append(c.nodes[desc], topo.NodeIdx(n))
		}
	}
	for _, n := range c.nodes[name.Node] {
		if name.Port <= c.t.Nodes[n].NumPorts {
			ports = append(ports, c.t.EndPort(c.t.Port(n, name.Port)))
		}
	}
	return ports
}
