package console

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/names"
	"ibsm/topo"
)

// Widths and speeds in the order and words of portstatus.
var (
	widths = []struct {
		width mad.LinkWidth
		text  string
	}{{mad.Width1x, "1X"}, {mad.Width2x, "2X"}, {mad.Width4x, "4X"}, {mad.Width8x, "8X"}, {mad.Width12x, "12X"}}
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
	disabled: "disabled", unenabledSpeed: "with unenabled speed", reducedSpeed: "with reduced speed", unknownSpeed: "with unknown speed",
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
	judge(uint8(width), uint8(info.LinkWidthEnabled()), tag, unenabledWidth, reducedWidth)
	base := info.LinkSpeedActive()
	judge(base, info.LinkSpeedEnabled(), tag, unenabledSpeed, reducedSpeed)
	if masks.CapabilityMask().Has(smp.IsExtendedSpeedsSupported) && info.LinkSpeedExtSupported() != 0 &&
		info.LinkSpeedExtEnabled() != smp.LinkSpeedExtNone && base == 4 {
		judge(info.LinkSpeedExtActive(), info.LinkSpeedExtEnabled(), tag, unenabledSpeed, reducedSpeed)
	}
	if speed := info.LinkSpeed(masks.CapabilityMask(), masks.CapabilityMask2()); speed != 0 {
		c.speed[speed]++
	} else {
		tag(unknownSpeed)
	}
	if width.Lanes() > 0 {
		c.width[width]++
	} else {
		tag(unknownWidth)
	}
}

// judge compares what a link uses with the mask of what it may use. Where it may use
// more, it has been reduced.
func judge(active, enabled uint8, tag func(issue), unenabled, reduced issue) {
	switch {
	case active&enabled == 0:
		tag(unenabled)
	case enabled^active > active:
		tag(reduced)
	}
}
