package routingtest

import (
	"ibsm/routing"
	"ibsm/topo"
)

// Empty counts the entries of owned LIDs that tables leave empty: those that hosts need to send to hosts, or the
// manager to send and receive, and all others.
func (r *Run) Empty(tables *routing.Tables) (needed, others int) {
	hosts := map[topo.SwitchIdx]bool{}
	for _, p := range r.Topo.EndPorts {
		if r.Topo.IsHost(p) {
			hosts[r.Topo.SwitchOf(p)] = true
		}
	}
	for lid, p := range r.LIDs.Owner {
		for s, row := range tables.LFT {
			s := topo.SwitchIdx(s)
			switch {
			case p == topo.None || row[lid] != routing.NoPath:
			case hosts[s] && r.Topo.IsHost(p) || p == r.Topo.Self || s == r.Topo.SwitchOf(r.Topo.Self):
				needed++
			default:
				others++
			}
		}
	}
	return needed, others
}
