package console

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/topo"
)

// linkWidth is a width and its word.
type linkWidth struct {
	width mad.LinkWidth
	text  string
}

// Widths and speeds in the order and words of portstatus.
var (
	widths = []linkWidth{{mad.Width1x, "1X"}, {mad.Width2x, "2X"}, {mad.Width4x, "4X"}, {mad.Width8x, "8X"},
		{mad.Width12x, "12X"}}
	speeds = []struct {
		speed mad.LinkSpeed
		text  string
	}{
		{mad.SDR, "2.5"}, {mad.DDR, "5.0"}, {mad.QDR, "10.0"}, {mad.FDR, "14.0625"},
		{mad.EDR, "25.78125"}, {mad.HDR, "53.125"}, {mad.NDR, "106.25"}, {mad.XDR, "212.5"},
	}
)

// issue is a kind of what may be wrong with a port.
type issue int

const (
	disabled issue = iota
	unenabledSpeed
	reducedSpeed
	unknownSpeed
	unenabledWidth
	reducedWidth
	unknownWidth
)

var issues = [...]string{
	disabled: "disabled", unenabledSpeed: "with unenabled speed", reducedSpeed: "with reduced speed",
	unknownSpeed:   "with unknown speed",
	unenabledWidth: "with unenabled width", reducedWidth: "with reduced width", unknownWidth: "with unknown width",
}

// portCounts is what portstatus counts.
type portCounts struct {
	nodes, ports, down, active int
	width                      map[mad.LinkWidth]int
	speed                      map[mad.LinkSpeed]int
	issues                     [len(issues)][]topo.PortIdx
}

// nodeTypes are the words of portstatus.
var nodeTypes = map[string]mad.NodeType{"ca": mad.CA, "switch": mad.Switch, "router": mad.Router}

func (s *Session) portStatus(args []string) {
	only, title := mad.NodeType(0), "ALL"
	if len(args) > 0 {
		if only = nodeTypes[args[0]]; only == 0 {
			s.wrong("Node type not understood", "portstatus")
			return
		}
		title = names.Type(only)
	}
	began := s.daemon.Now()
	c := portCounts{width: map[mad.LinkWidth]int{}, speed: map[mad.LinkSpeed]int{}}
	t := &topo.Topo{}
	if v := s.daemon.View(); v != nil {
		t = v.Topo
	}
	for _, n := range nodesInOrder(t) {
		if only == 0 || only == t.Nodes[n].Type {
			c.countNode(t, n)
		}
	}
	s.printf("\"%s\" port status:\n", title)
	s.printf("   %d port(s) scanned on %d nodes in %d us\n", c.ports, c.nodes, s.daemon.Now().Sub(began).Microseconds())
	s.count(c.down, "down")
	s.count(c.active, "active")
	for _, w := range widths {
		s.count(c.width[w.width], "at "+w.text)
	}
	for _, sp := range speeds {
		s.count(c.speed[sp.speed], "at "+sp.text+" Gbps")
	}
	s.issues(t, &c)
	s.printf("\n")
}

// count prints a number that is not 0.
func (s *Session) count(n int, what string) {
	if n > 0 {
		s.printf("   %d %s\n", n, what)
	}
}

// issues lists the ports that something may be wrong with, as OpenSM the last first.
func (s *Session) issues(t *topo.Topo, c *portCounts) {
	printed := false
	for kind, ports := range c.issues {
		if len(ports) == 0 {
			continue
		}
		if !printed {
			printed = true
			s.printf("\nPossible issues:\n")
		}
		s.count(len(ports), issues[kind])
		for i := len(ports) - 1; i >= 0 && !s.gone(); i-- {
			port := &t.Ports[ports[i]]
			node := &t.Nodes[port.Node]
			s.printf("      0x%016x %d (%s)\n", uint64(node.GUID), port.Num, s.name(node))
		}
	}
}

// countNode counts the ports of a node but for port 0.
func (c *portCounts) countNode(t *topo.Topo, n topo.NodeIdx) {
	c.nodes++
	var masks *smp.PortInfo // that says what the port is able to
	if t.Nodes[n].Type == mad.Switch {
		masks = &t.Ports[t.Port(n, 0)].Info
	}
	for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
		p := t.Port(n, uint8(num))
		port := &t.Ports[p]
		if !port.Seen {
			continue
		}
		if masks == nil {
			masks = &port.Info
		}
		c.countPort(&port.Info, masks, func(i issue) { c.issues[i] = append(c.issues[i], p) })
	}
}

func (c *portCounts) countPort(info, masks *smp.PortInfo, tag func(issue)) {
	c.ports++
	if info.PortPhysicalState() == smp.PhysDisabled {
		tag(disabled)
	}
	switch info.PortState() {
	case smp.PortDown:
		c.down++
		return
	case smp.PortActive:
		c.active++
	}
	width := info.LinkWidthActive()
	c.countSpeed(info, masks, tag)
	enabled := info.LinkWidthEnabled()
	switch {
	case enabled&width == 0:
		tag(unenabledWidth)
	case slices.ContainsFunc(widths, func(w linkWidth) bool {
		return enabled&w.width != 0 && w.width.Lanes() > width.Lanes()
	}):
		tag(reducedWidth)
	}
	if width.Lanes() > 0 {
		c.width[width]++
	} else {
		tag(unknownWidth)
	}
}

// countSpeed counts a link by its speed: the extended one, if it has one. The base speed
// of such a link is 0 or QDR, whatever the base speeds that are enabled.
func (c *portCounts) countSpeed(info, masks *smp.PortInfo, tag func(issue)) {
	mask, mask2 := masks.CapabilityMask(), masks.CapabilityMask2()
	speed, enabled := info.LinkSpeed(mask, mask2), info.SpeedsEnabled(mask, mask2)
	switch {
	case speed == 0 || !enabled.Has(speed):
		tag(unenabledSpeed)
	case enabled.Fastest() > speed:
		tag(reducedSpeed)
	}
	if speed == 0 {
		tag(unknownSpeed)
		return
	}
	c.speed[speed]++
}
