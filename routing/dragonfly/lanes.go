package dragonfly

import (
	"slices"

	"ibsm/routing"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// side is where a port of a switch leads.
type side uint8

const (
	end    side = iota // to an end port
	local              // to a switch of the group
	global             // to another group
)

// mapper makes the SL to VL mapping tables for so many SLs.
type mapper struct {
	*network
	sls    int
	tables [2][2]*routing.SLToVL // by the lanes of SL 0 and SL 1
}

// maps are the SL to VL mapping tables with which paths have so many SLs. SL 1 is for odd paths that stay on VL 0
// between two cables inside a group, and each higher one has the lane of its number. Other SLs, which hosts may use by
// themselves, are like 0.
func (n *network) maps(sls int) *routing.Maps {
	m := &mapper{network: n, sls: sls}
	ends := []*routing.SLToVL{{}}
	maps := &routing.Maps{Of: slices.Repeat([][]*routing.SLToVL{ends}, len(n.Topo.Ports))}
	var scratch []between
	for s, node := range n.Topo.Switches {
		sides := m.sides(topo.SwitchIdx(s))
		var lists [global + 1][]*routing.SLToVL
		for out := local; out <= global; out++ {
			for _, in := range sides {
				lists[out] = append(lists[out], m.table(in, out))
			}
		}
		for port, out := range sides {
			if out != end {
				maps.Of[n.Topo.Port(node, uint8(port))] = lists[out]
			}
		}
		for _, b := range n.local[s] {
			var list []*routing.SLToVL
			if list, scratch = m.turnsOut(topo.SwitchIdx(s), b.To, lists[local], scratch); list != nil {
				for _, way := range b.Ways {
					maps.Of[n.Topo.Port(node, way.Port)] = list
				}
			}
		}
	}
	return maps
}

// sides are those of the ports of a switch, by number.
func (m *mapper) sides(s topo.SwitchIdx) []side {
	sides := make([]side, int(m.Topo.Nodes[m.Topo.Switches[s]].NumPorts)+1)
	for out, list := range [...][]spread.Bundle{local: m.local[s], global: m.global[s]} {
		for _, b := range list {
			for _, way := range b.Ways {
				sides[way.Port] = side(out)
			}
		}
	}
	return sides
}

// table is the one for packets that come in by a port of one side and leave by one of another.
func (m *mapper) table(in, out side) *routing.SLToVL {
	switch {
	case m.lanes < 2:
	case in == global:
		return m.on(1, 1)
	case in == local && out == local:
		return m.on(1, 0)
	}
	return m.on(0, 0)
}

// turnsOut are the tables of a switch for packets to another of the group, where some of them are on their way out of
// it; nil if none are.
func (m *mapper) turnsOut(s, to topo.SwitchIdx, of []*routing.SLToVL, scratch []between) ([]*routing.SLToVL,
	[]between) {
	var own []*routing.SLToVL
	for _, b := range m.local[s] {
		if m.lanes < 2 || b.To == to || m.cable(b.To, to) != nil || len(m.global[to]) == 0 {
			continue
		}
		scratch = m.betweens(scratch, b.To, to)
		if !slices.ContainsFunc(scratch, func(by between) bool { return by.at == s && by.out }) {
			continue
		}
		if own == nil {
			own = slices.Clone(of)
		}
		for _, way := range b.Ways {
			own[way.Port] = m.on(0, 0)
		}
	}
	return own, scratch
}

// on is the table in which SL 0 and SL 1 have these lanes.
func (m *mapper) on(first, second uint8) *routing.SLToVL {
	if m.tables[first][second] == nil {
		t := &routing.SLToVL{}
		for sl := range t {
			switch {
			case sl == 1 && m.sls > 1:
				t[sl] = second
			case sl > 1 && sl < m.sls:
				t[sl] = uint8(sl)
			default:
				t[sl] = first
			}
		}
		m.tables[first][second] = t
	}
	return m.tables[first][second]
}
