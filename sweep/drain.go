package sweep

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// drain marks the links of drained switches and ports in t, so that routes avoid them, as far as that does not split the subnet. A drained
// switch keeps one link: packets to itself and to hosts on it still come, and no route between others passes it.
func drain(t *topo.Topo, drained []routing.SwitchPort) (all []view.Drained) {
	if len(drained) == 0 {
		return nil
	}
	before := parts(t)
	for _, d := range drained {
		found := view.Drained{SwitchPort: d}
		if n := t.FindNode(d.Switch); n != topo.None && t.Nodes[n].Switch != topo.None && d.Port <= t.Nodes[n].NumPorts {
			links := drainedLinks(t, n, d.Port, &found)
			switch {
			case d.Port > 0 && t.Ports[t.Port(n, d.Port)].Peer == topo.None:
			case d.Port > 0 && len(found.Hosts) > 0: // the only link of a host
				found.State = view.DrainNeeded
			case drainAll(t, links, d.Port == 0, before, drained):
				found.State = view.DrainEmpty
			default:
				found.State = view.DrainNeeded
			}
		}
		all = append(all, found)
	}
	return all
}

// drainedLinks are the links of a switch, or of one of its ports, to other switches that can be used. It adds the hosts to d.
func drainedLinks(t *topo.Topo, n topo.NodeIdx, port uint8, d *view.Drained) (links []topo.PortIdx) {
	for num := uint8(1); num <= t.Nodes[n].NumPorts && num > 0; num++ {
		p := t.Port(n, num)
		peer := t.Ports[p].Peer
		if port > 0 && num != port || peer == topo.None || t.Ports[peer].Node == n {
			continue
		}
		if far := &t.Nodes[t.Ports[peer].Node]; far.Type == mad.Switch {
			if !t.Ports[p].Unhealthy {
				links = append(links, p)
			}
		} else if len(d.Hosts) < view.MaxDrainedHosts {
			d.Hosts = append(d.Hosts, far.Desc.String())
		} else {
			d.More++
		}
	}
	return links
}

// drainAll marks links, but for one of them if a switch keeps one, and reports whether the subnet has no more parts then than before. Where
// each choice would split it, nothing is marked.
func drainAll(t *topo.Topo, links []topo.PortIdx, keepsOne bool, before int, drained []routing.SwitchPort) bool {
	mark := func(is bool) {
		for _, p := range links {
			t.Ports[p].Unhealthy, t.Ports[t.Ports[p].Peer].Unhealthy = is, is
		}
	}
	mark(true)
	if !keepsOne || len(links) == 0 {
		if parts(t) <= before {
			return true
		}
		mark(false)
		return false
	}
	slices.SortStableFunc(links, func(a, b topo.PortIdx) int { // to a switch that stays in use, if there is one
		return drainsPeer(t, a, drained) - drainsPeer(t, b, drained)
	})
	for _, p := range links {
		peer := t.Ports[p].Peer
		t.Ports[p].Unhealthy, t.Ports[peer].Unhealthy = false, false
		if parts(t) <= before {
			return true
		}
		t.Ports[p].Unhealthy, t.Ports[peer].Unhealthy = true, true
	}
	mark(false)
	return false
}

// drainsPeer is 1 if the switch behind a port is drained itself, and 0 otherwise.
func drainsPeer(t *topo.Topo, p topo.PortIdx, drained []routing.SwitchPort) int {
	if slices.Contains(drained, routing.SwitchPort{Switch: t.Nodes[t.Ports[t.Ports[p].Peer].Node].GUID}) {
		return 1
	}
	return 0
}
