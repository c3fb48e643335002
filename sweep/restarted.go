package sweep

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// restarted is whether a node has restarted since the last sweep, as far as a walk can see, or is gone, by its GUID. All have
// as soon as other settings are in force: what devices did not take they may take now.
func (j *RouteTask) restarted(t *topo.Topo, switches []device.Walked) func(mad.GUID) bool {
	if j.state.mastership == swept && j.settings != j.state.settings {
		return func(mad.GUID) bool { return true }
	}
	before, prev := j.state.devices, j.state.prev
	return func(guid mad.GUID) bool {
		n := t.FindNode(guid)
		if n == topo.None {
			return true
		}
		switch node := &t.Nodes[n]; {
		case node.Missed > 0:
			return false
		case node.Switch != topo.None:
			known := before.Find(guid) != nil
			return switches[node.Switch].Lost && (known || node.SwitchInfo.LinearFDBTop() == 0)
		default:
			return hasReset(prev, t, n)
		}
	}
}

// hasReset reports whether a port of a node is in INIT and was not so after the last sweep.
func hasReset(prev, t *topo.Topo, n topo.NodeIdx) bool {
	was := topo.NodeIdx(topo.None)
	if prev != nil {
		was = prev.FindNode(t.Nodes[n].GUID)
	}
	for num := uint8(1); num <= t.Nodes[n].NumPorts; num++ {
		if port := &t.Ports[t.Port(n, num)]; !port.Seen || port.Info.PortState() != smp.PortInit {
			continue
		}
		if was == topo.None || prev.Nodes[was].NumPorts < num || prev.Ports[prev.Port(was, num)].Info.PortState() != smp.PortInit {
			return true
		}
	}
	return false
}
