package perf

import (
	"ibsm/mad"
	"ibsm/topo"
	"ibsm/view"
)

// PortsOf are the ports of a subnet that have counters of interest, whose agent has a LID: all of a
// switch, since LinkDownedCounter of a port is of interest when it has no link any more, with port 0
// if it is an enhanced one; those of other nodes that have a link. With switchesOnly channel
// adapters are left out.
func PortsOf(v *view.View, switchesOnly bool) (list []Port) {
	t := v.Topo
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if switchesOnly && n.Type == mad.CA {
			continue
		}
		first := 1
		if n.Type == mad.Switch && n.SwitchInfo.EnhancedPort0() {
			first = 0
		}
		for num := first; num <= int(n.NumPorts); num++ {
			p := t.Port(topo.NodeIdx(i), uint8(num))
			if n.Type != mad.Switch && t.Ports[p].Peer == topo.None {
				continue
			}
			lid := v.LIDs.Base[t.EndPort(p)]
			if !lid.IsUnicast() {
				continue
			}
			list = append(list, Port{Key{n.GUID, uint8(num)}, v.Agent(lid), Words(t, p)})
		}
	}
	return list
}

// Words is how many words a second a link can carry at most, its nominal rate; 0 if that is not known.
func Words(t *topo.Topo, p topo.PortIdx) uint64 { return uint64(t.LinkRate(p).Gbps() * 1e9 / 32) }
