package sick

import (
	"ibsm/mad/smp"
	"ibsm/perf"
	"ibsm/topo"
)

// LinkOf is the link of a port, which the subnet need not have any more. excluded are those that this manager may have
// disabled.
func LinkOf(t *topo.Topo, k perf.Key, excluded []Excluded) (l Link) {
	p := k.In(t)
	if p != topo.None {
		l.Bits = perf.Words(t, p) * 32
	}
	if p != topo.None && t.Ports[p].Peer != topo.None {
		l.Peer = perf.KeyOf(t, t.Ports[p].Peer)
		rate := t.LinkRate(p)
		l.Slow = rate > 0 && rate.Gbps() < t.EnabledLinkRate(p).Gbps()
	} else if i := IndexOf(excluded, k); i >= 0 && excluded[i].Action == Disable {
		l.Disabled = IsDisabled(t, excluded[i].Port) || IsDisabled(t, excluded[i].Peer)
	}
	return l
}

// IsDisabled reports whether a port is disabled.
func IsDisabled(t *topo.Topo, k perf.Key) bool {
	p := k.In(t)
	return p != topo.None && t.Ports[p].Seen && t.Ports[p].Info.PortPhysicalState() == smp.PhysDisabled
}
