package engines

import (
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing/portgroups"
	"ibsm/topo"
)

// Lists are the files of GUIDs that name port groups; nil for others, whose GUIDs are in the settings of the engines.
// With groups the settings have the GUIDs that a file lists as such.
type Lists struct {
	Roots   *portgroups.List // root_guid_file
	Compute *portgroups.List // cn_guid_file
	IO      *portgroups.List // io_guid_file
	Order   *portgroups.List // guid_routing_order_file
}

// grouped reports whether any file names port groups.
func (l *Lists) grouped() bool { return *l != Lists{} }

// Equal reports whether two have the same GUIDs in every subnet.
func (l *Lists) Equal(o *Lists) bool {
	return l.Roots.Equal(o.Roots) && l.Compute.Equal(o.Compute) && l.IO.Equal(o.IO) && l.Order.Equal(o.Order)
}

// all are the groups in the files.
func (l *Lists) all() []*portgroups.Group {
	return slices.Concat(l.Roots.Groups(), l.Compute.Groups(), l.IO.Groups(), l.Order.Groups())
}

// Equal reports whether two settings mean the same in every subnet.
func (s *Settings) Equal(o *Settings) bool {
	a, b := *s, *o
	a.Lists, b.Lists = Lists{}, Lists{}
	return s.Lists.Equal(&o.Lists) && reflect.DeepEqual(a, b)
}

// lists are those of an engine.
func (e *Engine) lists() *Lists {
	if e.grouped == nil {
		return &Lists{}
	}
	return &e.grouped.Lists
}

// Grouped reports whether files of the engines name port groups, whose members depend on the subnet.
func (c Chain) Grouped() bool {
	return slices.ContainsFunc(c, func(e Engine) bool { return e.grouped != nil })
}

// maxCompared is how many changed descriptions are compared with how many names and patterns at most.
const maxCompared = 100_000

// Regroups reports whether a port group may have other members because nodes of a subnet have got other descriptions.
// Where there are very many it does not compare them and reports true.
func (c Chain) Regroups(t *topo.Topo, descs map[mad.GUID]smp.NodeDescription) bool {
	var rules portgroups.Described
	for i := range c {
		if s := c[i].grouped; s != nil && rules == nil {
			rules = portgroups.ByDescription(s.Lists.all())
		}
	}
	if len(rules) == 0 || len(descs) > maxCompared/rules.Size() {
		return len(rules) > 0
	}
	for guid, desc := range descs {
		if n := t.FindNode(guid); n != topo.None && rules.Distinguish(t.Nodes[n].Desc.String(), desc.String()) {
			return true
		}
	}
	return false
}

// Members are the members of the port groups in files of engines, in one subnet, with the GUIDs of those files.
type Members struct {
	Unmatched []portgroups.Unmatched // what groups ask for and no end port matches
	Idle      []string               // groups in root_guid_file that have members, and no switch among them

	roots, compute, io, order []mad.GUID
	topo                      *topo.Topo
	nodes                     [sha256.Size]byte // of what they depend on in it
	of                        *Settings
}

// WithMembers is a chain whose port groups are replaced by their members in a subnet, whose partitions may be nil.
// before are the members in the last subnet, or nil: if no node has appeared, disappeared or changed its description,
// they are reused.
func (c Chain) WithMembers(t *topo.Topo, parts *partitions.Tables, before *Members) (Chain, *Members) {
	var m *Members
	c = slices.Clone(c)
	for i := range c {
		if s := c[i].grouped; s != nil { // the same of all engines of a chain
			if m == nil {
				m = s.members(t, parts, before)
			}
			unchosen := c[i].Unchosen
			c[i], _ = Find(c[i].Name, s.with(m))
			c[i].Unchosen = unchosen
		}
	}
	return c, m
}

// members are those of settings in a subnet.
func (s *Settings) members(t *topo.Topo, parts *partitions.Tables, before *Members) *Members {
	nodes := digest(t)
	if before != nil && before.of == s && before.nodes == nodes && !portgroups.ByPartition(s.Lists.all()) {
		m := *before
		m.topo = t
		return &m
	}
	m := newMembers(portgroups.NewResolver(t, parts), &s.Lists)
	m.topo, m.nodes, m.of = t, nodes, s
	return m
}

// digest is a checksum of the nodes and end ports of a subnet, with their descriptions.
func digest(t *topo.Topo) [sha256.Size]byte {
	const perNode, perPort = 8 + 2 + len(smp.NodeDescription{}), 4 + 8
	text := make([]byte, 0, 4+perNode*len(t.Nodes)+perPort*len(t.EndPorts))
	text = binary.BigEndian.AppendUint32(text, uint32(t.Self))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		text = binary.BigEndian.AppendUint64(text, uint64(n.GUID))
		text = append(append(text, uint8(n.Type), n.NumPorts), n.Desc[:]...)
	}
	for _, p := range t.EndPorts {
		text = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(text, uint32(p)), uint64(t.Ports[p].GUID))
	}
	return sha256.Sum256(text)
}

func newMembers(v *portgroups.Resolver, l *Lists) *Members {
	m := &Members{}
	if l.Roots != nil {
		m.roots = l.Roots.Switches(v)
	}
	for _, p := range []struct {
		list *portgroups.List
		to   *[]mad.GUID
	}{{l.Compute, &m.compute}, {l.IO, &m.io}, {l.Order, &m.order}} {
		if p.list != nil {
			*p.to = p.list.EndPorts(v)
		}
	}
	seen := map[*portgroups.Group]bool{}
	for _, g := range l.all() {
		if !seen[g] {
			seen[g] = true
			m.Unmatched = append(m.Unmatched, v.Unmatched(g)...)
		}
	}
	for _, g := range l.Roots.Groups() {
		one := portgroups.List{Items: []portgroups.Item{{Group: g}}}
		if len(v.Members(g)) > 0 && len(one.Switches(v)) == 0 && !slices.Contains(m.Idle, g.Name) {
			m.Idle = append(m.Idle, g.Name)
		}
	}
	return m
}

// with is settings in which the GUIDs of lists replace the lists.
func (s *Settings) with(m *Members) *Settings {
	c := *s
	c.Lists = Lists{}
	if s.Lists.Roots != nil {
		c.SetRoots(m.roots)
	}
	if s.Lists.Compute != nil {
		c.SetCompute(m.compute)
	}
	if s.Lists.IO != nil {
		c.SetIO(m.io)
	}
	if s.Lists.Order != nil {
		c.SetOrder(m.order)
	}
	return &c
}

// SetRoots sets the root switches. An empty list differs from nil.
func (s *Settings) SetRoots(roots []mad.GUID) {
	roots = append([]mad.GUID{}, roots...)
	slices.Sort(roots)
	s.Updn.Roots, s.Ftree.Roots = roots, roots
}

// SetCompute sets the ports of compute nodes.
func (s *Settings) SetCompute(ports []mad.GUID) {
	set := setOf(ports)
	s.SSSP.Compute, s.Ftree.Compute, s.Tree.Compute = set, set, set
}

// SetIO sets the ports of I/O nodes.
func (s *Settings) SetIO(ports []mad.GUID) {
	set := setOf(ports)
	s.SSSP.IO, s.Ftree.IO, s.Tree.IO = set, set, set
}

// SetOrder sets the ports to which routes are made first.
func (s *Settings) SetOrder(ports []mad.GUID) {
	if s.Balancing.First = ports; len(ports) == 0 {
		s.Balancing.First = nil
	}
}

func setOf(guids []mad.GUID) map[mad.GUID]bool {
	set := map[mad.GUID]bool{}
	for _, guid := range guids {
		set[guid] = true
	}
	return set
}

// Changed reports whether a switch or end port that both subnets have has become a member, or is none any more. Nodes
// that have appeared or disappeared do not count: with their GUIDs in the file instead of the group, nothing else would
// change either. before may be nil, which is no change.
func (m *Members) Changed(before *Members) bool {
	if before == nil {
		return false
	}
	return !slices.Equal(m.switches(m.roots, before), before.switches(before.roots, m)) ||
		!slices.Equal(m.ports(m.compute, before), before.ports(before.compute, m)) ||
		!slices.Equal(m.ports(m.io, before), before.ports(before.io, m)) ||
		!slices.Equal(m.ports(m.order, before), before.ports(before.order, m))
}

// switches are the GUIDs of nodes that both subnets have, and ports those of end ports.
func (m *Members) switches(guids []mad.GUID, other *Members) []mad.GUID {
	return among(guids, func(guid mad.GUID) bool {
		return m.topo.FindNode(guid) != topo.None && other.topo.FindNode(guid) != topo.None
	})
}

func (m *Members) ports(guids []mad.GUID, other *Members) []mad.GUID {
	return among(guids, func(guid mad.GUID) bool {
		return m.topo.FindPort(guid) != topo.None && other.topo.FindPort(guid) != topo.None
	})
}

func among(guids []mad.GUID, is func(mad.GUID) bool) (some []mad.GUID) {
	for _, guid := range guids {
		if is(guid) {
			some = append(some, guid)
		}
	}
	return some
}
