package minhop

import (
	"ibsm/routing"
	"ibsm/topo"
)

// standing reports whether a previous row can stay unchanged, in one pass over it: most
// rows do after most changes, and need no balancing then.
type standing struct {
	*problem
	to     []topo.SwitchIdx // by LID: the switch it hangs on, None for no owner
	egress []uint8          // by LID: the port there
	beyond [256][]uint8     // by port of the switch in hand: the hops from behind it; nil for none
	cost   [256]uint8       // by port: of the link to there
}

func newStanding(p *problem) *standing {
	st := &standing{problem: p, to: make([]topo.SwitchIdx, routing.RowLen(p.LIDs.Top)),
		egress: make([]uint8, routing.RowLen(p.LIDs.Top))}
	for l := range st.to {
		st.to[l] = topo.None
	}
	for i := range p.Order {
		d := &p.Order[i]
		for k := range 1 << d.LMC {
			l := int(d.Base) + k
			st.to[l], st.egress[l] = d.Switch, d.Egress
		}
	}
	return st
}

// stands reports whether every entry of the previous row of s is a shortest way, or
// there is none, and no entry is missing or too many.
func (st *standing) stands(s topo.SwitchIdx) bool {
	row := st.PrevRow(s)
	if len(row) != len(st.to) {
		return false
	}
	st.beyond = [256][]uint8{}
	peers, ports := st.Graph.Edges(s)
	for e, port := range ports {
		st.beyond[port], st.cost[port] = st.hops.From(peers[e]), st.Graph.Cost(s, e)
	}
	own := st.hops.From(s)
	for l, port := range row {
		to := st.to[l]
		switch {
		case to == topo.None || to != s && own[to] == routing.Unreachable:
			if port != routing.NoPath {
				return false
			}
		case to == s:
			if port != st.egress[l] {
				return false
			}
		default:
			if beyond := st.beyond[port]; beyond == nil || int(beyond[to])+int(st.cost[port]) != int(own[to]) {
				return false
			}
		}
	}
	return true
}
