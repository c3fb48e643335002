package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	osmlog "ibsm/opensm/log"
	"ibsm/opensm/names"
	"ibsm/topo"
	"ibsm/view"
)

// maxPortChanges is how many end ports that have come or gone between two views are logged one by one: more than a
// director with its hosts has.
const maxPortChanges = 1024

// logPortChanges logs which end ports have come and gone between two views. Those of the
// first view of a mastership term have all just come, and are not logged.
func logPortChanges(fx *effects, m names.Map, old, now *view.View) {
	if old == nil {
		return
	}
	was, is := old.Topo.EndPorts, now.Topo.EndPorts
	changes := 0
	report := func(trap smp.TrapNumber, text portWords, v *view.View, p topo.PortIdx) {
		if changes++; changes <= maxPortChanges {
			fx.log(info, osmlog.ReportingGID(trap, v.Subnet.Prefix, v.Topo.Ports[p].GUID))
			fx.log(info, portText(m, text, v, p))
		}
	}
	for len(was)+len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && old.Topo.Ports[was[0]].GUID < now.Topo.Ports[is[0]].GUID:
			report(smp.TrapGIDOutOfService, osmlog.RemovedPort, old, was[0])
			was = was[1:]
		case len(was) == 0 || now.Topo.Ports[is[0]].GUID < old.Topo.Ports[was[0]].GUID:
			report(smp.TrapGIDInService, osmlog.DiscoveredPort, now, is[0])
			is = is[1:]
		default:
			was, is = was[1:], is[1:]
		}
	}
	if more := changes - maxPortChanges; more > 0 {
		fx.log(info, "further ports have come or gone", "count", more)
	}
}

// portWords are OpenSM's words about an end port.
type portWords func(guid mad.GUID, first, last mad.LID, name string) string

// portText is a text about an end port.
func portText(m names.Map, text portWords, v *view.View, p topo.PortIdx) string {
	port, first := &v.Topo.Ports[p], v.LIDs.Base[p]
	return text(port.GUID, first, first+mad.LID(max(v.LIDs.Count(p), 1)-1), nodeName(m, &v.Topo.Nodes[port.Node]))
}

// nodeName is what the log calls a node.
func nodeName(m names.Map, n *topo.Node) string { return m.Of(n.GUID, n.Desc.String()) }
