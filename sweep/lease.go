package sweep

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// renewal marks, in the tag of a PortInfo that a light sweep reads, that it renews a lease.
const renewal = 1 << 63

// renewLeases adds the PortInfo of all ports whose M_Key has a lease, once in a third of the shortest
// lease. A refused SMP starts the countdown of a lease, and an SMP with the M_Key ends it (IBA 14.2.4). A
// TrapRepress does so as well, but not every port sends trap 256. Switches and our own port
// are asked in each light sweep anyway. now is any time that does not run backwards.
func (l *Look) renewLeases(now time.Duration) {
	var shortest time.Duration
	var asks []ask
	for _, p := range l.t.EndPorts {
		lease := leaseOf(l.t, p)
		if lease == 0 || p == l.t.Self || l.t.Nodes[l.t.Ports[p].Node].Type == mad.Switch || !l.t.Answers(p) {
			continue
		}
		if shortest == 0 || lease < shortest {
			shortest = lease
		}
		asks = append(asks, ask{attr: smp.AttrPortInfo, port: p, renews: true})
	}
	if asks == nil || now-l.state.renewed < shortest/3 {
		return
	}
	l.asks, l.renewed = append(l.asks, asks...), now
}

// leaseOf is the time after which a port would drop the protection of its M_Key, 0 for never.
func leaseOf(t *topo.Topo, p topo.PortIdx) time.Duration {
	info := &t.Ports[p].Info
	if info.MKey() == 0 || info.MKeyProtectBits() == 0 {
		return 0
	}
	return time.Duration(info.MKeyLeasePeriod()) * time.Second
}

// protected takes the PortInfo of a port whose lease was renewed. A port that was open for a while
// may have been written by others.
func (l *Look) protected(p topo.PortIdx, info *smp.PortInfo) {
	port := &l.t.Ports[p]
	node := &l.t.Nodes[port.Node]
	if info.MKey() != port.Info.MKey() || info.MKeyProtectBits() != port.Info.MKeyProtectBits() {
		l.need(true, "port %d of node %v %q has lost the protection of its M_Key", port.Num, node.GUID, node.Desc)
	}
}
