package sweep

import (
	"slices"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// avoidSick marks avoided links in t, after the drained ones, unless that would split the subnet. marked has one port
// of each link that was not marked before and that routes may pass if they lack something; it excludes links that are
// returning and not ACTIVE yet, which would lose packets. Links of hosts are not in all.
func avoidSick(t *topo.Topo, avoided []Avoided) (all []view.Drained, marked []topo.PortIdx) {
	if len(avoided) == 0 {
		return nil, nil
	}
	before := parts(t)
	for i := range avoided {
		if avoided[i].Host {
			continue
		}
		p := t.FindNodePort(avoided[i].Switch, avoided[i].Port)
		was := p != topo.None && t.Ports[p].Unhealthy
		d := drainOne(t, avoided[i].SwitchPort, before, nil)
		d.By = view.BySickLinks
		if all = append(all, d); d.State == view.DrainEmpty && !was &&
			!(avoided[i].Ports == PortEnabled && t.Ports[p].Info.PortState() < smp.PortActive) {
			marked = append(marked, p)
		}
	}
	return all, marked
}

// passed marks sick links that routes pass all the same as needed.
func passed(t *topo.Topo, links []topo.PortIdx, drained []view.Drained) {
	for i := range drained {
		if d := &drained[i]; d.By == view.BySickLinks && d.State == view.DrainEmpty &&
			slices.Contains(links, t.FindNodePort(d.Switch, d.Port)) {
			d.State = view.DrainNeeded
		}
	}
}

// avoidedNow are ports of sick links that routes avoid, one of each.
func avoidedNow(t *topo.Topo, drained []view.Drained) (ports []topo.PortIdx) {
	for i := range drained {
		if d := &drained[i]; d.By == view.BySickLinks && d.State == view.DrainEmpty {
			ports = append(ports, t.FindNodePort(d.Switch, d.Port))
		}
	}
	return ports
}

// toDisable are the ports to be disabled of avoided links that no route passes, and of hosts' links, as toShutOff
// chooses them.
func toDisable(t *topo.Topo, avoided []Avoided, drained []view.Drained) (ports []topo.PortIdx) {
	empty := avoidedNow(t, drained)
	for i := range avoided {
		a := &avoided[i]
		p := t.FindNodePort(a.Switch, a.Port)
		switch {
		case a.Ports != PortDisabled, p == topo.None, t.Ports[p].Peer == topo.None:
		case a.Host == t.BetweenSwitches(p): // another kind of link is there now
		case !a.Host && !slices.Contains(empty, p):
		default:
			if near, ok := toShutOff(t, p); ok {
				ports = append(ports, near)
			}
		}
	}
	return ports
}

// toEnable are ports that were disabled, of links that should come up again.
func toEnable(t *topo.Topo, avoided []Avoided) (ports []topo.PortIdx) {
	for i := range avoided {
		if avoided[i].Ports != PortEnabled {
			continue
		}
		for _, end := range []routing.SwitchPort{avoided[i].SwitchPort, avoided[i].Far} {
			p := t.FindNodePort(end.Switch, end.Port)
			if p != topo.None && t.Ports[p].Seen && t.Nodes[t.Ports[p].Node].Missed == 0 &&
				t.Ports[p].Info.PortPhysicalState() == smp.PhysDisabled {
				ports = append(ports, p)
			}
		}
	}
	return ports
}
