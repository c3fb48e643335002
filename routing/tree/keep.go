package tree

import (
	"bytes"
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// A steady placer starts from tables that the engine computed afresh once, and from those in force. An entry of the former stays, or
// returns, where it is a shortest way; otherwise one of the latter stays. Only what neither has is placed. So a lost link changes
// only the routes that took it, or that have another length without it; and when it is back all is as it was. Loads are counted by
// entries: each destination of hosts that has a port at a switch counts once there.

// keep takes what stays from both tables. It leaves the rest without a port.
func (p *placer) keep(ctx context.Context, all []destinations) error {
	p.beyond = p.newBeyond()
	return p.forEach(ctx, all, func(w *placer, at *destinations) error {
		w.beyond = p.beyond
		return w.keepAt(at)
	})
}

func (p *placer) keepAt(at *destinations) error {
	if err := p.begin(at); err != nil {
		return err
	}
	for i := range at.ports {
		d := &at.ports[i]
		d.others, p.rows[at.at][d.lid] = false, d.egress
		if d.host {
			p.load[int(at.at)<<8|int(d.egress)]++
		}
	}
	for s, cost := range p.cost {
		if cost != unreachable && topo.SwitchIdx(s) != at.at {
			p.keepOf(topo.SwitchIdx(s), at)
		}
	}
	return nil
}

// keepOf takes what stays of a switch. Its entries for what is at one switch mostly lie beside each other.
func (p *placer) keepOf(s topo.SwitchIdx, at *destinations) {
	row, first, last, load := p.rows[s], rowOf(p.Base, s), rowOf(p.Prev, s), p.load[int(s)<<8:][:256]
	w := p.waysOf(s)
	for i := range at.ports {
		d := &at.ports[i]
		port := portOf(first, d.lid)
		if !w.leads(port) {
			if port = portOf(last, d.lid); !w.leads(port) {
				d.others = true
				continue
			}
		}
		if row[d.lid] = port; d.host {
			load[port]++
		}
	}
}

// beyond is where the ports of switches lead to, by switch * 256 + port: to higher ones, and to lower ones; None otherwise.
type beyond struct{ higher, lower []topo.SwitchIdx }

func (p *placer) newBeyond() *beyond {
	b := &beyond{slices.Repeat([]topo.SwitchIdx{topo.None}, len(p.load)), slices.Repeat([]topo.SwitchIdx{topo.None}, len(p.load))}
	set := func(to []topo.SwitchIdx, of [][]group) {
		for s, groups := range of {
			for _, g := range groups {
				for _, port := range g.ports {
					to[s<<8|int(port)] = g.to
				}
			}
		}
	}
	set(b.higher, p.up)
	set(b.lower, p.down)
	return b
}

// next is the switch behind a port whose link can be used, None for none.
func (b *beyond) next(s topo.SwitchIdx, port uint8) topo.SwitchIdx {
	at := int(s)<<8 | int(port)
	return max(b.higher[at], b.lower[at])
}

// ways are the shortest ways from one switch to the one in hand.
type ways struct {
	to    []topo.SwitchIdx // by port
	cost  []int32          // by switch
	falls []bool           // by switch; nil if the way begins upwards
	next  int32            // cost of the switch behind the port
}

func (p *placer) waysOf(s topo.SwitchIdx) ways {
	w := ways{p.beyond.higher[int(s)<<8:][:256], p.cost, nil, p.cost[s] - 1}
	if p.falls[s] {
		w.to, w.falls = p.beyond.lower[int(s)<<8:][:256], p.falls
	}
	return w
}

// leads reports whether a shortest way begins with a port.
func (w *ways) leads(port uint8) bool {
	to := w.to[port]
	return to != topo.None && w.cost[to] == w.next && (w.falls == nil || w.falls[to])
}

// rowOf is that of a switch in tables, which may have none.
func rowOf(t *routing.Tables, s topo.SwitchIdx) []uint8 {
	if t == nil || int(s) >= len(t.LFT) {
		return nil
	}
	return t.LFT[s]
}

// portOf is that of a LID in a row, NoPath where it ends before.
func portOf(row []uint8, lid mad.LID) uint8 {
	if int(lid) >= len(row) {
		return routing.NoPath
	}
	return row[lid]
}

// placeLost gives switches that have no port to a destination one: that of its digit, or else another.
func (p *placer) placeLost(ctx context.Context, all []destinations) error {
	p.near, p.moved = slices.Repeat([]int32{topo.None}, len(p.rows)), make([]uint8, len(p.load))
	for _, at := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		var f *fitting
		for i := range at.ports {
			if d := &at.ports[i]; d.others {
				if f == nil {
					p.measureWays(at.at)
					f = p.newFitting(&at, func(d *destination) { p.take(at.at, d) })
				}
				p.placeLostOf(at.at, d, f)
			}
		}
	}
	return nil
}

// take takes the ports to a destination from the tables. Those of switches without one are free.
func (p *placer) take(at topo.SwitchIdx, d *destination) {
	for s, row := range p.rows {
		port := row[d.lid]
		if p.by[s], p.next[s], p.free[s] = port, topo.None, port == routing.NoPath; topo.SwitchIdx(s) != at && port != routing.NoPath {
			p.next[s] = p.beyond.next(topo.SwitchIdx(s), port)
		}
	}
}

func (p *placer) placeLostOf(at topo.SwitchIdx, d *destination, f *fitting) {
	p.choose(at, d)
	for s, row := range p.rows {
		if port := row[d.lid]; port != routing.NoPath && topo.SwitchIdx(s) != at {
			p.by[s], p.next[s], p.free[s] = port, p.beyond.next(topo.SwitchIdx(s), port), false
		}
	}
	if d.rail != nil {
		p.fitLost(at, d, f)
		defer clear(p.fixed)
	}
	p.inOrder(func(s topo.SwitchIdx) {
		if p.next[s] == topo.None || p.rows[s][d.lid] != routing.NoPath {
			return
		}
		if p.free[s] {
			moved := p.movedNear(s, at)
			if !p.fixed[s] {
				p.improve(s, d, moved)
			}
			moved[p.by[s]]++
		}
		p.rows[s][d.lid] = p.by[s]
		if d.host {
			p.load[int(s)<<8|int(p.by[s])]++
		}
	})
}

// share has tables share the rows that are those in force.
func (p *placer) share(context.Context, []destinations) error {
	for s, row := range p.rows {
		for _, t := range []*routing.Tables{p.Base, p.Prev} {
			if t != nil && s < len(t.LFT) && bytes.Equal(t.LFT[s], row) {
				p.rows[s] = t.LFT[s]
			}
		}
	}
	return nil
}
