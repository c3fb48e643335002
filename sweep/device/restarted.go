package device

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// Restarted reports, by GUID, whether a node has restarted since the last sweep, as far as a walk can see, or has
// disappeared.
// prev is the subnet as that sweep left it, nil where it is not known; t and its switches are as they have been found.
func (r *Record) Restarted(prev, t *topo.Topo, switches []Walked) func(mad.GUID) bool {
	have, nodes := map[mad.GUID]bool{}, make([]mad.GUID, len(t.Nodes)) // side by side in memory, for many calls
	for n := range t.Nodes {
		nodes[n] = t.Nodes[n].GUID
		if r.hasRestarted(prev, t, topo.NodeIdx(n), switches) {
			have[nodes[n]] = true
		}
	}
	return func(guid mad.GUID) bool {
		_, is := slices.BinarySearch(nodes, guid)
		return !is || have[guid]
	}
}

func (r *Record) hasRestarted(prev, t *topo.Topo, n topo.NodeIdx, switches []Walked) bool {
	switch node := &t.Nodes[n]; {
	case node.Missed > 0:
		return false
	case node.Switch != topo.None:
		was, top := r.Find(node.GUID), node.SwitchInfo.LinearFDBTop()
		if was != nil && was.Top == 0 && top == 0 {
			return lostLID(prev, t, n) // it takes no other LinearFDBTop
		}
		return switches[node.Switch].Lost && (was != nil || top == 0)
	default:
		return hasReset(prev, t, n)
	}
}

// lostLID reports whether a switch has no LID and had one after the last sweep.
func lostLID(prev, t *topo.Topo, n topo.NodeIdx) bool {
	if prev == nil || t.Ports[t.Port(n, 0)].Info.LID() != 0 {
		return false
	}
	was := prev.FindNode(t.Nodes[n].GUID)
	return was != topo.None && prev.Ports[prev.Port(was, 0)].Info.LID() != 0
}

// hasReset reports whether a port of a node is in INIT and was not so after the last sweep.
func hasReset(prev, t *topo.Topo, n topo.NodeIdx) bool {
	for num := uint8(1); num <= t.Nodes[n].NumPorts; num++ {
		if port := &t.Ports[t.Port(n, num)]; !port.Seen || port.Info.PortState() != smp.PortInit {
			continue
		}
		was := topo.NodeIdx(topo.None)
		if prev != nil {
			was = prev.FindNode(t.Nodes[n].GUID)
		}
		if was == topo.None || prev.Nodes[was].NumPorts < num ||
			prev.Ports[prev.Port(was, num)].Info.PortState() != smp.PortInit {
			return true
		}
	}
	return false
}
