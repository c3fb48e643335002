package torus

import (
	"context"
	"fmt"

	"ibsm/routing"
	"ibsm/topo"
)

// The SL of a path has a bit for each dimension in which it leads over the dateline, and level for
// the second level of service. At a switch, bit 0 of the VL is the bit of the dimension in which
// packets leave, so that no ring closes; bit 1 says that they come from a later dimension, which is
// only so behind a missing switch; bit 2 is the level. Links to end ports have lane 0, and 1 for the
// second level.

// level is the bit of an SL that says which of the two levels of service a path has.
const level = 8

// sls are the SLs of all paths. They do not depend on what is missing: what hosts have asked for stays right.
// Switches that hang on the torus have those of their anchors. The error is that of ctx.
func (g *grid) sls(ctx context.Context, t *topo.Topo, l *topo.LIDs, list []hung) (*routing.SLs, error) {
	number := make([]int32, len(t.Switches)) // of its own or its anchor's place, in the order of cells
	for s := range number {
		number[s] = -1
	}
	for i, c := range g.order {
		number[c.sw] = int32(i)
	}
	for _, h := range list {
		number[h.sw] = number[h.anchor.sw]
	}
	rows := make([][]uint8, len(g.order))
	for i, from := range g.order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows[i] = make([]uint8, len(g.order))
		for j, to := range g.order {
			for dim := range from.at {
				if g.overDateline(from.at[dim], to.at[dim], dim) {
					rows[i][j] |= 1 << dim
				}
			}
		}
	}
	at := make([]int32, len(l.Owner))
	for lid, p := range l.Owner {
		at[lid] = -1
		if home, _ := routing.Home(t, p); home != topo.None {
			at[lid] = number[home]
		}
	}
	sls := routing.NewSLs(at, at, rows)
	sls.Hint = level
	return sls, nil
}

// lanes are the least numbers of lanes of links between switches, and of those to end ports.
func lanes(in routing.In) (switches, ends uint8) {
	switches, ends = 15, 15
	for p, n := range in.Lanes {
		if peer := in.Topo.Ports[p].Peer; n == 0 || peer == topo.None {
		} else if in.Topo.IsSwitchPort(topo.PortIdx(p)) && in.Topo.IsSwitchPort(peer) {
			switches = min(switches, n)
		} else {
			ends = min(ends, n)
		}
	}
	return switches, ends
}

// enough refuses links between switches that have too few lanes.
func enough(switches uint8) error {
	if switches < 2 {
		return refuse("verify_setup: ERR 4E48",
			fmt.Sprintf("Too few data VLs to support torus routing without credit loops (have switchport %d need 2)",
				switches))
	}
	return nil
}

// maps are the SL to VL mapping tables of all ports.
func (g *grid) maps(t *topo.Topo, switches, ends uint8) *routing.Maps {
	maps := &routing.Maps{Of: make([][]*routing.SLToVL, len(t.Ports)), Turns: make([]*routing.LaneOfTurn, len(t.Ports))}
	single := []*routing.SLToVL{endTable(ends)}
	for p := range maps.Of {
		maps.Of[p] = single
	}
	var tables [4][4]*routing.SLToVL // by dimension in and out; 3 for end ports
	for in := range tables {
		for out := range tables {
			tables[in][out] = table(in, out, switches)
		}
	}
	turns := &routing.LaneOfTurn{}
	for vl := range turns {
		turns[vl] = routing.DropVL
	}
	turns[0], turns[4] = 0, 1
	for _, c := range g.order {
		n := t.Switches[c.sw]
		dims := c.dims(int(t.Nodes[n].NumPorts))
		var lists [4][]*routing.SLToVL
		for out := range lists {
			for _, in := range dims {
				lists[out] = append(lists[out], tables[in][out])
			}
		}
		for num, dim := range dims {
			maps.Of[t.Port(n, uint8(num))] = lists[dim]
		}
		for _, num := range c.ends {
			if num > 0 {
				maps.Turns[t.Port(n, num)] = turns
			}
		}
	}
	return maps
}

// dims are the dimensions of the ports of a switch; 3 is none.
func (c *cell) dims(num int) []int {
	dims := make([]int, num+1)
	for i := range dims {
		dims[i] = 3
	}
	for d, group := range c.group {
		for _, port := range group {
			dims[port] = d / 2
		}
	}
	return dims
}

// table is that of a switch that packets come into by a link of one dimension, and leave by one of another,
// with so many lanes.
func table(in, out int, lanes uint8) *routing.SLToVL {
	if out == 3 {
		return endTable(lanes)
	}
	m := &routing.SLToVL{}
	for sl := range m {
		m[sl] = uint8(sl >> out & 1)
		if lanes >= 4 && in != 3 && in > out {
			m[sl] |= 2
		}
		if lanes >= 8 {
			m[sl] |= uint8(sl&level) >> 1
		}
	}
	return m
}

// endTable is that towards an end port, and from one.
func endTable(lanes uint8) *routing.SLToVL {
	m := &routing.SLToVL{}
	for sl := range m {
		if lanes >= 2 {
			m[sl] = uint8(sl / level)
		}
	}
	return m
}
