package partitions

import (
	"fmt"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/topo"
)

// Doubts are what a policy says and a subnet cannot do, or hardly is meant to: members
// that are not there, ports slower than the groups of their partition, ports that reach
// nobody but the manager, and a manager that limited members do not reach. Each kind is
// told once for a line, with the first port by its name.
func (p *Policy) Doubts(t *topo.Topo) (doubts diag.List) {
	c := &compiler{Tables: &Tables{Policy: p}, t: t, members: make([][]member, len(t.Ports))}
	c.join()
	for i := range p.Partitions {
		p.Partitions[i].doubtMembers(t, &doubts)
		c.doubtGroups(&p.Partitions[i], &doubts)
	}
	c.doubtPorts(&doubts)
	sortByPlace(doubts)
	if len(doubts) > maxFindings {
		rest := len(doubts) - maxFindings
		doubts = doubts[:maxFindings]
		doubts.Add(diag.Position{File: doubts[0].File}, "%d more warnings", rest)
	}
	return doubts
}

// doubtMembers warns of ports that are not in the subnet.
func (part *Partition) doubtMembers(t *topo.Topo, doubts *diag.List) {
	for i := range part.Members {
		m := &part.Members[i]
		if m.Who == OnePort && t.FindPort(m.Port) == topo.None {
			doubts.Add(m.Position, "no port of the subnet has GUID %v%s", m.Port, nodeHint(t, m.Port))
		}
	}
}

// nodeHint tells of a GUID that is a node's: the ports' own are beside it, and are what
// is meant.
func nodeHint(t *topo.Topo, guid mad.GUID) string {
	n := t.FindNode(guid)
	if n == topo.None {
		return ""
	}
	node := &t.Nodes[n]
	for num := range int(node.NumPorts) {
		if p := &t.Ports[t.Port(n, uint8(num+1))]; p.GUID != 0 {
			return fmt.Sprintf("; it is that of the node %q, whose port %d has %v", node.Desc.String(), p.Num, p.GUID)
		}
	}
	return ""
}

// doubtGroups warns of members that are too slow for the partition's groups, or carry
// too small packets: they are refused when they join.
func (c *compiler) doubtGroups(part *Partition, doubts *diag.List) {
	told := map[string]bool{}
	for i := range part.Groups {
		g := &part.Groups[i]
		slow, small := few{t: c.t}, few{t: c.t}
		for _, p := range c.t.EndPorts {
			if !c.isIn(p, part.Key) || c.t.Ports[p].Num == 0 {
				continue
			}
			info := &c.t.Ports[p].Info
			if rate := info.Rate(info.CapabilityMask(), info.CapabilityMask2()); rate.Rank() != 0 && rate.Rank() < g.Rate.Rank() {
				slow.add(p, fmt.Sprintf("%g Gb/s", rate.Gbps()))
			}
			if mtu := info.MTUCap(); mtu.Bytes() != 0 && mtu.Bytes() < g.MTU.Bytes() {
				small.add(p, fmt.Sprintf("%d bytes", mtu.Bytes()))
			}
		}
		var texts []string
		if slow.count > 0 {
			texts = append(texts, fmt.Sprintf("%g Gb/s of a group of %s are more than %s: its join is refused", g.Rate.Gbps(), shown(part.Name), slow))
		}
		if small.count > 0 {
			texts = append(texts, fmt.Sprintf("%d bytes, the MTU of a group of %s, are more than %s: its join is refused", g.MTU.Bytes(), shown(part.Name), small))
		}
		for _, text := range texts {
			if !told[text] {
				told[text] = true
				doubts.Add(g.Position, "%s", text)
			}
		}
	}
}

// isIn reports whether a port has a key of a partition.
func (c *compiler) isIn(p topo.PortIdx, key mad.PKey) bool {
	for _, m := range c.members[p] {
		if m.key.Base() == key {
			return true
		}
	}
	return false
}

// doubtPorts warns of adapters that reach the manager alone, and of a manager that is
// not reached.
func (c *compiler) doubtPorts(doubts *diag.List) {
	alone, self := few{t: c.t}, false
	for _, p := range c.t.EndPorts {
		reaches := false
		for _, m := range c.members[p] {
			reaches = reaches || m.key != DefaultKey
			self = self || p == c.t.Self && m.key == mad.DefaultPKey
		}
		if !reaches && c.t.Ports[p].Num != 0 {
			alone.add(p, "")
		}
	}
	place := c.Policy.Partitions[0].Position
	if alone.count > 0 {
		doubts.Add(place, "%s reaches the manager alone: no partition but the default one has it, there as a limited member", alone)
	}
	if !self && c.t.Self != topo.None {
		doubts.Add(place, "the manager's own port %s is no full member of the default partition: limited members do not reach it", portName(c.t, c.t.Self))
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
		text += " has, " + f.has
	}
	return text
}

// portName is an end port for a message.
func portName(t *topo.Topo, p topo.PortIdx) string {
	port := &t.Ports[p]
	return fmt.Sprintf("%v of %q", port.GUID, t.Nodes[port.Node].Desc.String())
}
