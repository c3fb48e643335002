package discover

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/plural"
	"ibsm/topo"
)

// Finding is something about the subnet that an operator should know, as a walk meets it.
type Finding struct {
	Kind   finding.Kind
	GUID   mad.GUID // of the node
	Port   uint8    // of that node, where the kind speaks of one
	Far    uint8    // the other port of that node, where it speaks of two
	Route  mad.Route
	Other  mad.Route // of the second node, where the kind speaks of one
	Status mad.Status
	Block  uint16 // the first that did not come, of a partition table
	Unread int    // ports that are not known, of a switch
}

// isSame reports whether two findings are of one kind and at one port.
func (f *Finding) isSame(o Finding) bool {
	return f.Kind == o.Kind && f.GUID == o.GUID && f.Port == o.Port
}

// Finding is the finding at the node that it is about.
func (f *Finding) Finding() finding.Finding {
	return finding.Finding{Kind: f.Kind, Node: f.GUID, Port: f.Port, Detail: f.detail()}
}

// In is the finding at the port of a subnet that leads to what it is about; without a place where no port does.
func (f *Finding) In(t *topo.Topo) finding.Finding {
	at := f.Finding()
	switch f.Kind {
	case finding.DuplicateNodeGUID, finding.DuplicatePortGUID, finding.OneSided:
		at.Node, at.Port = lastHop(t, f.Other)
	case finding.Incomplete:
		at.Node, at.Port = lastHop(t, f.Route)
	}
	return at
}

// lastHop is the port by which a directed route leaves the last node before its end; 0 if the route is not known.
func lastHop(t *topo.Topo, route mad.Route) (node mad.GUID, port uint8) {
	out := route.Ports()
	if len(out) == 0 {
		return 0, 0
	}
	at := t.Along(out[:len(out)-1])
	if at == topo.None {
		return 0, 0
	}
	return t.Nodes[t.Ports[at].Node].GUID, out[len(out)-1]
}

func (f *Finding) detail() string {
	switch f.Kind {
	case finding.Unresponsive, finding.BadNodeInfo, finding.TooMany, finding.PKeysUnread, finding.BranchCut,
		finding.WasAdapter:
		return fmt.Sprintf("directed route %v", f.Route)
	case finding.SlowAgent:
		if f.Unread > 0 {
			return fmt.Sprintf("%s not known (directed route %v)", plural.Of(f.Unread, "port"), f.Route)
		}
		return fmt.Sprintf("directed route %v", f.Route)
	case finding.GetRefused, finding.PKeysRefused:
		return fmt.Sprintf("%v (directed route %v)", f.Status, f.Route)
	case finding.DuplicateNodeGUID, finding.DuplicatePortGUID:
		return fmt.Sprintf("%v is at directed routes %v and %v; the second is left out", f.GUID, f.Route, f.Other)
	case finding.SameNode, finding.OwnPorts:
		return fmt.Sprintf("ports %d and %d", f.Port, f.Far)
	case finding.Incomplete:
		return fmt.Sprintf("node %v (directed route %v)", f.GUID, f.Route)
	case finding.OneSided:
		return fmt.Sprintf(
			"%v is at directed routes %v, where port %d has no link, and %v, where it has one; the link is left out",
			f.GUID, f.Route, f.Port, f.Other)
	}
	return ""
}
