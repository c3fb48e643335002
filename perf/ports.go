package perf

import (
	"ibsm/mad"
	"ibsm/topo"
	"ibsm/view"
)

// PortsOf are the ports of a subnet that have counters of interest: those with a link whose
// agent has a LID. With switchesOnly adapters and routers are left out.
func PortsOf(v *view.View, switchesOnly bool) (list []Port) {
	t := v.Topo
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if switchesOnly && n.Type != mad.Switch {
			continue
		}
		for num := uint8(1); num > 0 && num <= n.NumPorts; num++ {
			p := t.Port(topo.NodeIdx(i), num)
			if t.Ports[p].Peer == topo.None {
				continue
			}
			lid := v.LIDs.Base[t.EndPort(p)]
			if !lid.IsUnicast() {
				continue
			}
			list = append(list, Port{Key{n.GUID, num}, mad.Addr{LID: lid, QPN: 1}, words(t, p)})
		}
	}
	return list
}

// words is how many words a second a link can carry at most: its nominal rate.
func words(t *topo.Topo, p topo.PortIdx) uint64 {
	rate := mad.LinkRate(t.Ports[p].Info.LinkWidthActive(), t.LinkSpeed(p))
	return uint64(rate.Gbps() * 1e9 / 32)
}
