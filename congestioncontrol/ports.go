package congestioncontrol

import (
	"ibsm/mad"
	"ibsm/view"
)

// Port is a port whose agent gets the settings: port 0 of a switch, or a port of an
// adapter.
type Port struct {
	GUID mad.GUID
	Node mad.GUID
	Num  uint8
	Type mad.NodeType // Switch or CA
	To   mad.Addr
}

// PortsOf are the ports of a subnet that have an agent, if any, by GUID: those of switches and
// adapters that answered the last sweep.
func PortsOf(v *view.View) (list []Port) {
	t := v.Topo
	for _, p := range t.EndPorts {
		port := &t.Ports[p]
		n := &t.Nodes[port.Node]
		if lid := v.LIDs.Base[p]; lid.IsUnicast() && t.Answers(p) && (n.Type == mad.Switch || n.Type == mad.CA) {
			list = append(list, Port{port.GUID, n.GUID, port.Num, n.Type, v.Agent(lid)})
		}
	}
	return list
}
