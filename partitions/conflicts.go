package partitions

import (
	"fmt"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/topo"
)

// Conflicts returns warnings about a policy that does not fit the subnet: absent members,
// ports slower than the groups of their partition, ports that reach only the manager, and
// a manager that limited members cannot reach. Each kind is reported once per line, with
// the name of the first port.
func (p *Policy) Conflicts(t *topo.Topo) (warnings diag.List) {
	n := t.VPorts.Len()
	c := &compiler{Tables: &Tables{Policy: p, VPorts: make([]*topo.PKeyTable, n)}, t: t,
		members: make([][]mad.PKey, len(t.Ports)+n)}
	c.join()
	able := c.abilities()
	for i := range p.Partitions {
		c.checkMembers(&p.Partitions[i], &warnings)
		c.checkGroups(&p.Partitions[i], able[p.Partitions[i].Key], &warnings)
	}
	for _, m := range c.absent {
		warnings.Add(m.Position, "no port of the subnet is of %s", shown(m.name()))
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
func (c *compiler) checkMembers(part *Partition, warnings *diag.List) {
	for i := range part.Members {
		if m := &part.Members[i]; m.Who == OnePort && c.t.FindPort(m.Port) == topo.None &&
			c.t.FindVPort(m.Port) == topo.None {
			warnings.Add(m.Position, "no port of the subnet has GUID %v%s", m.Port, nodeHint(c.t, m.Port))
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

// ability is how fast the members of a partition are, those that are no ports of switches: by the rank of their rate,
// and by their MTU.
type ability struct {
	rates [mad.MaxRank + 1]few
	mtus  [mad.MTU4096 + 1]few
}

// abilities are those of the partitions that have groups.
func (c *compiler) abilities() map[mad.PKey]*ability {
	all := map[mad.PKey]*ability{}
	for i := range c.Policy.Partitions {
		if part := &c.Policy.Partitions[i]; len(part.Groups) > 0 {
			all[part.Key] = new(ability)
		}
	}
	for at, p := range c.t.EndPorts {
		if c.t.Ports[p].Num == 0 {
			continue
		}
		info := &c.t.Ports[p].Info
		rate, mtu := info.Rate(info.CapabilityMask(), info.CapabilityMask2()).Rank(), info.MTUCap()
		for i, k := range c.members[p] {
			a := all[k.Base()]
			if a == nil || i > 0 && c.members[p][i-1].Base() == k.Base() {
				continue
			}
			a.rates[rate].add(at, p)
			if mtu.Bytes() != 0 {
				a.mtus[mtu].add(at, p)
			}
		}
	}
	return all
}

// below are all members of these.
func below(all []few) (sum few) {
	for i := range all {
		f := &all[i]
		if f.count > 0 && (sum.count == 0 || f.at < sum.at) {
			sum.at, sum.first = f.at, f.first
		}
		sum.count += f.count
	}
	return sum
}

// checkGroups warns of members whose rate or MTU is too small for the groups of the
// partition: their joins are refused.
func (c *compiler) checkGroups(part *Partition, able *ability, warnings *diag.List) {
	reported := map[any]bool{}
	for i := range part.Groups {
		g := &part.Groups[i]
		if slow := below(able.rates[min(1, g.Rate.Rank()):g.Rate.Rank()]); slow.count > 0 && !reported[g.Rate] {
			reported[g.Rate] = true
			info := &c.t.Ports[slow.first].Info
			warnings.Add(g.Position,
				"the rate of a group of %s, %g Gb/s, exceeds that of %s, %g Gb/s: the port cannot join",
				shown(part.Name), g.Rate.Gbps(), c.text(slow),
				info.Rate(info.CapabilityMask(), info.CapabilityMask2()).Gbps())
		}
		if g.MTU.Bytes() == 0 || reported[g.MTU] {
			continue
		}
		if small := below(able.mtus[:g.MTU]); small.count > 0 {
			reported[g.MTU] = true
			warnings.Add(g.Position,
				"the MTU of a group of %s, %d bytes, exceeds that of %s, %d bytes: the port cannot join",
				shown(part.Name), g.MTU.Bytes(), c.text(small), c.t.Ports[small.first].Info.MTUCap().Bytes())
		}
	}
}

// checkPorts warns of adapters that reach only the manager, and of a manager that limited
// members cannot reach.
func (c *compiler) checkPorts(warnings *diag.List) {
	alone, self := few{}, false
	for at, p := range c.t.EndPorts {
		reaches := false
		for _, k := range c.members[p] {
			reaches = reaches || k != DefaultKey
			self = self || p == c.t.Self && k == mad.DefaultPKey
		}
		if !reaches && c.t.Ports[p].Num != 0 {
			alone.add(at, p)
		}
	}
	place := c.Policy.Partitions[0].Position
	if alone.count > 0 {
		warnings.Add(place, "%s can reach only the manager: it is only a limited member of the default partition",
			c.text(alone))
	}
	if !self && c.t.Self != topo.None {
		warnings.Add(place,
			"the manager's own port %s is not a full member of the default partition: limited members cannot reach it",
			portName(c.t, c.t.Self))
	}
}

// few are ports of which the first is named and the others are counted.
type few struct {
	count int
	at    int // of the first in the list of end ports
	first topo.PortIdx
}

func (f *few) add(at int, p topo.PortIdx) {
	if f.count++; f.count == 1 {
		f.at, f.first = at, p
	}
}

// text is the ports for a message.
func (c *compiler) text(f few) string {
	text := "port " + portName(c.t, f.first)
	if f.count > 1 {
		text += fmt.Sprintf(" (and %d more)", f.count-1)
	}
	return text
}

// portName is an end port for a message.
func portName(t *topo.Topo, p topo.PortIdx) string {
	port := &t.Ports[p]
	return fmt.Sprintf("%v of %q", port.GUID, t.Nodes[port.Node].Desc.String())
}
