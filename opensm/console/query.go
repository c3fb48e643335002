package console

import (
	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/topo"
)

func (s *Session) queryLID(args []string) {
	if len(args) == 0 {
		s.wrong("no LID specified", "querylid")
		return
	}
	n, _ := number(args[0], 0)
	lid := mad.LID(n) // the lower 16 bits, as OpenSM takes them
	v := s.daemon.View()
	if v == nil || v.LIDs.PortOf(lid) == topo.None {
		s.printf("Invalid lid %d\n", lid)
		return
	}
	t := v.Topo
	p := v.LIDs.PortOf(lid)
	node := &t.Nodes[t.Ports[p].Node]
	s.printf("Query results for LID %d\n", lid)
	s.printf("   GUID                : 0x%016x\n", uint64(t.Ports[p].GUID))
	s.printf("   Node Desc           : %s\n", s.name(node))
	s.printf("   Node Type           : %s\n", names.Type(node.Type))
	s.printf("   Num Ports           : %d\n", node.NumPorts)
	first := 1
	if node.Type == mad.Switch {
		first = 0
	}
	for num := first; num <= int(node.NumPorts); num++ {
		port := &t.Ports[t.Port(t.Ports[p].Node, uint8(num))]
		s.printf("   Port %d health       : %s\n", num, pick(port.Seen && !port.Unhealthy, "OK", "ERROR"))
	}
}

// name is what answers call a node.
func (s *Session) name(n *topo.Node) string { return s.daemon.Names.Printed(n.GUID, &n.Desc) }
