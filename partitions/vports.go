package partitions

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// member is an end port, by its PortIdx, or a vPort: the vPorts follow the ports of the subnet, in their order.
type member = topo.PortIdx

// memberOf is a vPort as a member.
func (c *compiler) memberOf(v topo.VPortIdx) member { return member(len(c.t.Ports)) + member(v) }

// vPortOf is the vPort that a member is.
func (c *compiler) vPortOf(m member) *topo.VPort {
	return c.t.VPorts.At(topo.VPortIdx(int(m) - len(c.t.Ports)))
}

// find is the port or the vPort with a GUID, or None.
func (c *compiler) find(guid mad.GUID) member {
	if p := c.t.FindPort(guid); p != topo.None {
		return p
	}
	if v := c.t.FindVPort(guid); v != topo.None && c.hasTable(c.t.VPorts.At(v)) {
		return c.memberOf(v)
	}
	return topo.None
}

// hasTable reports whether the P_Keys of a vPort are decided by its GUID: it has one, which is not that of a port, and
// no other vPort has it. That of a physical function mostly has its port's GUID, and then the port's P_Keys.
func (c *compiler) hasTable(v *topo.VPort) bool {
	return v.GUID != 0 && !v.Elsewhere && v.GUID != c.t.Ports[v.Port].GUID
}

// virtual are all vPorts.
func (c *compiler) virtual() []member {
	s := &c.scratch
	if s.virtual == nil {
		for v := range c.VPorts {
			if c.hasTable(c.t.VPorts.At(topo.VPortIdx(v))) {
				s.virtual = append(s.virtual, c.memberOf(topo.VPortIdx(v)))
			}
		}
	}
	return s.virtual
}

// all are the end ports and vPorts.
func (c *compiler) all() []member {
	if len(c.VPorts) == 0 {
		return c.t.EndPorts
	}
	s := &c.scratch
	if s.all == nil {
		s.all = slices.Concat(c.t.EndPorts, c.virtual())
	}
	return s.all
}

// withRange adds to the ports of a Member that names a range of GUIDs the vPorts in it.
func (c *compiler) withRange(m *Member, ports []member) []member {
	if m.Who != InRange || len(c.VPorts) == 0 {
		return ports
	}
	ports = slices.Clone(ports)
	for _, v := range c.virtual() {
		if guid := c.vPortOf(v).GUID; m.Port <= guid && guid <= m.Last {
			ports = append(ports, v)
		}
	}
	return ports
}

// vPort decides the table of a vPort whose table is known, and its size.
func (c *compiler) vPort(v topo.VPortIdx) {
	p := c.t.VPorts.At(v)
	if p.PKeys == nil || p.PKeyTableSize() == 0 || !c.hasTable(p) {
		return
	}
	m := c.memberOf(v)
	at := place{
		port: Port{GUID: p.GUID}, held: p.PKeys, want: c.members[m], size: p.PKeyTableSize(),
		forget: c.Settings.ForgetIndexes,
	}
	c.complete(m, &at)
	var left []mad.PKey
	if c.VPorts[v], left = c.layOut(&at); len(left) > 0 {
		c.Overflows = append(c.Overflows, Overflow{p.Port, at.size, left, v})
	}
}

// behind are the keys of an adapter's port and of the vPorts behind it, of two keys of a partition the limited one
// first. A vPort whose GUID is elsewhere now keeps those that it holds.
func (c *compiler) behind(p topo.PortIdx) []mad.PKey {
	first, end := c.t.VPorts.Of(p)
	if first == end {
		return c.members[p]
	}
	var bases []mad.PKey
	has := map[mad.PKey]bool{}
	add := func(keys []mad.PKey) {
		for _, k := range keys {
			if !k.Valid() || has[k] {
				continue
			}
			if !has[k.Base()] && !has[k|mad.FullMember] {
				bases = append(bases, k.Base())
			}
			has[k] = true
		}
	}
	add(c.members[p])
	for v := first; v < end; v++ {
		if of := c.t.VPorts.At(v); of.Elsewhere && of.PKeys != nil {
			add(of.PKeys.Keys())
		} else {
			add(c.members[c.memberOf(v)])
		}
	}
	var keys []mad.PKey
	for _, base := range bases {
		for _, k := range [...]mad.PKey{base, base | mad.FullMember} {
			if has[k] {
				keys = append(keys, k)
			}
		}
	}
	return keys
}
