package qos

import (
	"slices"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing/portgroups"
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
	ports *portgroups.Resolver
	count int // of ports
	sets  map[*portgroups.Group]*portSet
}

// Compile makes a Matcher for the ports of a subnet, whose partitions may be nil, in time linear in
// the ports for each group that a rule names.
func (p *Policy) Compile(t *topo.Topo, parts *partitions.Tables) *Matcher {
	c := compiler{ports: portgroups.NewResolver(t, parts), count: len(t.Ports), sets: map[*portgroups.Group]*portSet{}}
	m := &Matcher{p, make([]rulePorts, len(p.Rules))}
	for i := range p.Rules {
		m.rules[i] = rulePorts{c.setsOf(p.Rules[i].Sources), c.setsOf(p.Rules[i].Destinations)}
	}
	return m
}

func (c *compiler) setsOf(groups []*portgroups.Group) (sets []*portSet) {
	for _, g := range groups {
		if c.sets[g] == nil {
			c.sets[g] = newPortSet(c.ports.Members(g), c.count)
		}
		sets = append(sets, c.sets[g])
	}
	return sets
}
