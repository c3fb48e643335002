package torus

import (
	"ibsm/routing"
	"ibsm/topo"
)

// OpenSM gives no route to a switch that has cables to the torus but no place in it. Here it hangs on
// the torus: all its packets take one cable, to a switch that has a place or hangs on one itself. A
// branch to which one cable leads adds to no circle.

// hung is a switch that hangs on the torus.
type hung struct {
	sw     topo.SwitchIdx
	on     topo.SwitchIdx // nearer to the torus
	up     uint8          // its port there
	down   uint8          // the peer of that
	anchor *cell          // where its packets enter the torus
}

// hang finds the switches that hang on the torus, those nearer to it first.
func (g *grid) hang() (list []hung) {
	anchor := make([]*cell, len(g.cables.to))
	var queue []topo.SwitchIdx
	for _, c := range g.order {
		anchor[c.sw], queue = c, append(queue, c.sw)
	}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		for num, l := range g.cables.to[s] {
			if l.peer != topo.None && anchor[l.peer] == nil {
				anchor[l.peer], queue = anchor[s], append(queue, l.peer)
				list = append(list, hung{l.peer, s, l.port, uint8(num), anchor[s]})
			}
		}
	}
	return list
}

// fill adds the routes of switches that hang on the torus: to their end ports as to those of their
// anchors, and then along the branch.
func (g *grid) fill(t *topo.Topo, l *topo.LIDs, list []hung, rows [][]uint8) {
	for _, h := range list {
		rows[h.sw] = append([]uint8(nil), rows[h.on]...)
		for lid, port := range rows[h.sw] {
			if port != routing.NoPath {
				rows[h.sw][lid] = h.up
			}
		}
	}
	on := map[topo.SwitchIdx]*hung{}
	for i := range list {
		on[list[i].sw] = &list[i]
	}
	for lid, p := range l.Owner {
		home, egress := routing.Home(t, p)
		h := on[home]
		if p == topo.None || h == nil {
			continue
		}
		for _, c := range g.order {
			if c != h.anchor {
				rows[c.sw][lid] = c.group[g.direction(c, h.anchor)][0]
			}
		}
		for i := range list {
			rows[list[i].sw][lid] = list[i].up
		}
		rows[home][lid] = egress
		for ; h != nil; h = on[h.on] {
			rows[h.on][lid] = h.down
		}
	}
}
