package sweep

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// drain marks the links of drained switches and ports in t, so that routes avoid them unless that would split the
// subnet. A drained switch keeps one link: packets to it and to its hosts still arrive, and no route between others
// passes it.
func drain(t *topo.Topo, drained []routing.SwitchPort) []view.Drained {
	if len(drained) == 0 {
		return nil
	}
	before, all := parts(t), make([]view.Drained, len(drained))
	for _, ports := range []bool{true, false} { // single links first: a switch then keeps another one
		for i, d := range drained {
			if (d.Port > 0) == ports {
				all[i] = drainOne(t, d, before, drained)
			}
		}
	}
	return all
}

func drainOne(t *topo.Topo, d routing.SwitchPort, before int, drained []routing.SwitchPort) view.Drained {
	found := view.Drained{SwitchPort: d}
	n := t.FindNode(d.Switch)
	if n == topo.None || t.Nodes[n].Switch == topo.None || d.Port > t.Nodes[n].NumPorts {
		return found
	}
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
	return found
}

// stillUsed marks drained switches and ports that still have routes: because no engine routes the subnet, tables are
// from a file, or a switch does not answer. tables are nil if no routes are written.
func stillUsed(t *topo.Topo, l *topo.LIDs, tables *routing.Tables, drained []view.Drained) {
	for i := range drained {
		d := &drained[i]
		if d.State != view.DrainEmpty {
			continue
		}
		n := t.FindNode(d.Switch)
		for num := range int(t.Nodes[n].NumPorts) + 1 {
			if num == 0 || d.Port > 0 && num != int(d.Port) {
				continue
			}
			p := t.Port(n, uint8(num))
			if !t.BetweenSwitches(p) {
				continue
			}
			if tables == nil || passes(t, l, tables, t.Ports[p].Peer, n, d.Port > 0) || d.Port > 0 &&
				passes(t, l, tables, p, n, true) {
				d.State = view.DrainNeeded
			}
		}
	}
}

// passes reports whether routes leave a switch by a port. Routes to destinations at a switch count only if all of them
// do.
func passes(t *topo.Topo, l *topo.LIDs, tables *routing.Tables, p topo.PortIdx, to topo.NodeIdx, all bool) bool {
	s := t.Nodes[t.Ports[p].Node].Switch
	for lid, port := range tables.LFT[s] {
		if port != t.Ports[p].Num || lid >= len(l.Owner) || l.Owner[lid] == topo.None {
			continue
		}
		if home, _ := routing.Home(t, l.Owner[lid]); all || home != t.Nodes[to].Switch {
			return true
		}
	}
	return false
}

// drainedLinks are the links of a switch, or of one of its ports, to other switches that can be used. It adds the hosts
// to d.
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

// drainAll marks links, but for one of them if a switch keeps one, and reports whether the subnet has no more parts
// then than before. Where each choice would split it, nothing is marked.
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
