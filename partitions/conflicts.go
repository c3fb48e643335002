package partitions

import (
	"fmt"
	"slices"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/topo"
)

// Conflicts returns warnings about a policy that does not fit the subnet: absent members,
// ports slower than the groups of their partition, ports that reach only the manager, and
// a manager that limited members cannot reach. Each kind is reported once per line, with
// the name of the first port.
func (p *Policy) Conflicts(t *topo.Topo) (warnings diag.List) {
	c := &compiler{Tables: &Tables{Policy: p}, t: t, members: make([][]mad.PKey, len(t.Ports))}
	c.join()
	for i := range p.Partitions {
		p.checkMembers(&p.Partitions[i], t, &warnings)
		c.checkGroups(&p.Partitions[i], &warnings)
	}
	for _, claim := range c.Claims {
		warnings.Add(claim.Position, "%s", claim)
	}
	c.checkPorts(&warnings)
	sortByPlace(warnings)
	if len(warnings) > maxFindings {
		rest := len(warnings) - maxFindings
		warnings = warnings[:maxFindings]
		warnings.Add(diag.Position{File: warnings[0].File}, "%d more warnings", rest)
	}
	return warnings
}

// checkMembers warns of ports that are not in the subnet.
func (p *Policy) checkMembers(part *Partition, t *topo.Topo, warnings *diag.List) {
	for i := range part.Members {
		m := &part.Members[i]
		if (m.Who == Hosts || m.Who == OfGroup || m.Who == InRange) && !p.anyOf(t, m) {
			warnings.Add(m.Position, "no port of the subnet is of %s", shown(m.name()))
		}
		if m.Who == OnePort && t.FindPort(m.Port) == topo.None {
			warnings.Add(m.Position, "no port of the subnet has GUID %v%s", m.Port, nodeHint(t, m.Port))
		}
	}
}

// nodeHint is a hint for a node GUID: the port GUID that was probably intended.
func nodeHint(t *topo.Topo, guid mad.GUID) string {
	n := t.FindNode(guid)
	if n == topo.None {
		return ""
	}
	node := &t.Nodes[n]
	for num := range int(node.NumPorts) {
		if p := &t.Ports[t.Port(n, uint8(num+1))]; p.GUID != 0 {
			return fmt.Sprintf("; it is the GUID of node %q, whose port %d has GUID %v", node.Desc.String(), p.Num,
				p.GUID)
		}
	}
	return ""
}

// checkGroups warns of members whose rate or MTU is too small for the groups of the
// partition: their joins are refused.
func (c *compiler) checkGroups(part *Partition, warnings *diag.List) {
	reported := map[string]bool{}
	for i := range part.Groups {
		g := &part.Groups[i]
		slow, small := few{t: c.t}, few{t: c.t}
		for _, p := range c.t.EndPorts {
			if !c.isIn(p, part.Key) || c.t.Ports[p].Num == 0 {
				continue
			}
			info := &c.t.Ports[p].Info
			if rate := info.Rate(info.CapabilityMask(), info.CapabilityMask2()); rate.Rank() != 0 &&
				rate.Rank() < g.Rate.Rank() {
				slow.add(p, fmt.Sprintf("%g Gb/s", rate.Gbps()))
			}
			if mtu := info.MTUCap(); mtu.Bytes() != 0 && mtu.Bytes() < g.MTU.Bytes() {
				small.add(p, fmt.Sprintf("%d bytes", mtu.Bytes()))
			}
		}
		var texts []string
		if slow.count > 0 {
			texts = append(texts,
				fmt.Sprintf("the rate of a group of %s, %g Gb/s, exceeds that of %s: the port cannot join",
					shown(part.Name), g.Rate.Gbps(), slow))
		}
		if small.count > 0 {
			texts = append(texts,
				fmt.Sprintf("the MTU of a group of %s, %d bytes, exceeds that of %s: the port cannot join",
					shown(part.Name), g.MTU.Bytes(), small))
		}
		for _, text := range texts {
			if !reported[text] {
				reported[text] = true
				warnings.Add(g.Position, "%s", text)
			}
		}
	}
}

// isIn reports whether a port has a key of a partition.
func (c *compiler) isIn(p topo.PortIdx, key mad.PKey) bool {
	return slices.ContainsFunc(c.members[p], func(k mad.PKey) bool { return k.Base() == key })
}

// checkPorts warns of adapters that reach only the manager, and of a manager that limited
// members cannot reach.
func (c *compiler) checkPorts(warnings *diag.List) {
	alone, self := few{t: c.t}, false
	for _, p := range c.t.EndPorts {
		reaches := false
		for _, k := range c.members[p] {
			reaches = reaches || k != DefaultKey
			self = self || p == c.t.Self && k == mad.DefaultPKey
		}
		if !reaches && c.t.Ports[p].Num != 0 {
			alone.add(p, "")
		}
	}
	place := c.Policy.Partitions[0].Position
	if alone.count > 0 {
		warnings.Add(place, "%s can reach only the manager: it is only a limited member of the default partition",
			alone)
	}
	if !self && c.t.Self != topo.None {
		warnings.Add(place,
			"the manager's own port %s is not a full member of the default partition: limited members cannot reach it",
			portName(c.t, c.t.Self))
	}
}

// few are ports of which the first is named and the others are counted.
type few struct {
	t     *topo.Topo
	first topo.PortIdx
	has   string // what the first one has
	count int
}

func (f *few) add(p topo.PortIdx, has string) {
	if f.count++; f.count == 1 {
		f.first, f.has = p, has
	}
}

// String is the ports for a message.
func (f few) String() string {
	text := "port " + portName(f.t, f.first)
	if f.count > 1 {
		text += fmt.Sprintf(" (and %d more)", f.count-1)
	}
	if f.has != "" {
		text += ", " + f.has
	}
	return text
}

// portName is an end port for a message.
func portName(t *topo.Topo, p topo.PortIdx) string {
	port := &t.Ports[p]
	return fmt.Sprintf("%v of %q", port.GUID, t.Nodes[port.Node].Desc.String())
}
