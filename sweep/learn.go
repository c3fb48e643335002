package sweep

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/sweep/program"
	"ibsm/topo"
)

// walked are the switches of a subnet after a walk, by SwitchIdx.
func (s *state) walked(t *topo.Topo, tables map[mad.GUID]*device.Blocks, replaced []mad.GUID) []device.Walked {
	all := make([]device.Walked, len(t.Switches))
	for i, n := range t.Switches {
		node := &t.Nodes[n]
		if node.Missed > 0 {
			all[i].GUID = node.GUID
			if was := s.devices.Find(node.GUID); was != nil {
				all[i].Switch = *was
			} else {
				all[i].Row = s.devices.Before(node.GUID)
			}
			continue
		}
		all[i] = s.devices.Walked(node.GUID, node.SwitchInfo.LinearFDBTop(), device.PortsUp(t, n), tables[node.GUID],
			slices.Contains(replaced, node.GUID))
	}
	return all
}

// resolve fills in the settings once in a mastership. Later the values in the fabric mean nothing:
// they are those that it was sent, except on ports that do not keep them.
func (s *state) resolve(settings *Settings, t *topo.Topo) plan.Values {
	if s.mastership == swept && s.settings == *settings {
		return s.values
	}
	return resolve(settings, t)
}

// bypass marks the links of switches that reject their tables, unless they carry traffic anyway:
// such links are not armed, and a route over one leads nowhere. Links that do not become ACTIVE
// are marked for the same reason.
func (s *state) bypass(t *topo.Topo, switches []device.Walked) {
	for k, sweeps := range s.stuck {
		if p := portOf(t, k); sweeps >= program.MaxFailed && p != topo.None && t.Ports[p].Peer != topo.None {
			t.Ports[p].Unhealthy, t.Ports[t.Ports[p].Peer].Unhealthy = true, true
		}
	}
	for s, n := range t.Switches {
		node := &t.Nodes[n]
		if sw := &switches[s]; node.Missed > 0 || sw.Failed < program.MaxFailed || !sw.Up.Empty() {
			continue
		}
		for num := range node.NumPorts {
			port := &t.Ports[t.Port(n, num+1)]
			if port.Peer != topo.None {
				port.Unhealthy, t.Ports[port.Peer].Unhealthy = true, true
			}
		}
	}
}

// portOf is the port of a name, None if t does not have it.
func portOf(t *topo.Topo, k plan.Key) topo.PortIdx { return t.FindNodePort(k.Node, k.Port) }

// avoid marks the links of unhealthy ports in t, unless that would split the subnet. It returns
// how many it could not avoid, and the ports to disable.
func (s *state) avoid(t *topo.Topo) (needed int, disabled []topo.PortIdx) {
	var marked []topo.PortIdx
	for k := range s.unhealthy {
		if p := portOf(t, k); p != topo.None && t.Ports[p].Peer != topo.None {
			marked = append(marked, p, t.Ports[p].Peer)
		}
	}
	before := 0
	if len(marked) > 0 {
		before = parts(t)
	}
	for _, p := range marked {
		t.Ports[p].Unhealthy = true
	}
	if len(marked) > 0 && parts(t) > before {
		for _, p := range marked {
			t.Ports[p].Unhealthy = false
		}
		needed = len(marked) / 2
	}
	for k := range s.disabled {
		if p := portOf(t, k); p != topo.None {
			disabled = append(disabled, p)
		}
	}
	slices.Sort(disabled)
	return needed, disabled
}

// parts is the number of pieces that the switches of a subnet fall into.
func parts(t *topo.Topo) int {
	n := int32(0)
	for _, part := range routing.NewGraph(t).Components() {
		n = max(n, part+1)
	}
	return int(n)
}

// unresponsive reports whether a port has an ACTIVE link behind which no node answers: that
// node may still use its LID.
func unresponsive(t *topo.Topo, p topo.PortIdx) bool {
	port := &t.Ports[p]
	return t.IsSwitchPort(p) && port.Seen && port.Peer == topo.None && !port.Shunned &&
		port.Info.PortState() >= smp.PortArmed
}

// unanswered counts for how many sweeps each ACTIVE port has had no answer behind it, if the walk
// has asked there, and returns those with more than most. grace reports whether there is one with
// fewer.
func (s *state) unanswered(t *topo.Topo, asked bool, most uint8) (counts map[plan.Key]uint8, dead []topo.PortIdx,
	grace bool) {
	counts = map[plan.Key]uint8{}
	for i := range t.Ports {
		if !unresponsive(t, topo.PortIdx(i)) {
			continue
		}
		k := plan.Key{Node: t.Nodes[t.Ports[i].Node].GUID, Port: t.Ports[i].Num}
		if counts[k] = s.unresponsive[k]; asked || counts[k] == 0 {
			counts[k]++
		}
		if most == topo.MaxMissed && s.missedBefore(k) {
			counts[k] = topo.MaxMissed + 1
		}
		if counts[k] > most {
			dead = append(dead, topo.PortIdx(i))
		} else {
			grace = true
		}
	}
	return counts, dead, grace
}

// missedBefore reports whether the node behind a port was kept for the full number of sweeps
// without an answer.
func (s *state) missedBefore(k plan.Key) bool {
	if s.prev == nil {
		return false
	}
	p := portOf(s.prev, k)
	if p == topo.None {
		return false
	}
	peer := s.prev.Ports[p].Peer
	return peer != topo.None && s.prev.Nodes[s.prev.Ports[peer].Node].Missed >= topo.MaxMissed
}
