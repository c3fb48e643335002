package tree

import (
	"context"
	"sync/atomic"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// connect routes destinations that are unreachable from a switch over the first leaf's path, else over any neighbour
// that has a path. Packets can go up again on these routes; hosts send none there.
func (p *placer) connect(ctx context.Context, all []destinations) error {
	first := &all[0]
	c := &connector{placer: p}
	if p.Base == nil {
		left := make([]atomic.Bool, len(all)) // by destinations: some switches have no port yet
		err := routing.Parallel(ctx, p.Workers, len(p.rows), func() func(int) {
			return func(s int) { p.connectAsFirst(p.rows[s], all, left) }
		})
		if err != nil {
			return err
		}
		for i := range all {
			all[i].cut = left[i].Load()
		}
	}
	c.connect(first, first)
	return routing.Parallel(ctx, p.Workers, len(all)-1, func() func(int) {
		c := &connector{placer: p}
		return func(i int) { c.connect(&all[1+i], first) }
	})
}

// connectAsFirst gives a switch the port to the first leaf where that has a way on.
func (p *placer) connectAsFirst(row []uint8, all []destinations, left []atomic.Bool) {
	first := &all[0]
	for i := range all {
		for j := range all[i].ports {
			if lid := all[i].ports[j].lid; all[i].cut && row[lid] == routing.NoPath {
				if i > 0 && len(first.ports) > 0 && p.rows[first.at][lid] != routing.NoPath {
					row[lid] = row[first.ports[0].lid]
				}
				if row[lid] == routing.NoPath {
					left[i].Store(true)
				}
			}
		}
	}
}

// connector connects the switches that have no port for a LID. It belongs to one goroutine.
type connector struct {
	*placer
	lid     mad.LID
	without []topo.SwitchIdx // ascending
}

func (c *connector) connect(at, first *destinations) {
	if !at.cut {
		return
	}
	for _, d := range at.ports {
		c.lid, c.without = d.lid, c.without[:0]
		for s, row := range c.rows {
			if row[d.lid] == routing.NoPath {
				c.without = append(c.without, topo.SwitchIdx(s))
			}
		}
		if c.Base != nil {
			c.as(c.Base)
			c.as(c.Prev)
		}
		if len(first.ports) > 0 && c.rows[first.at][d.lid] != routing.NoPath {
			c.each(func(s topo.SwitchIdx) uint8 { return c.rows[s][first.ports[0].lid] })
		}
		c.near()
	}
}

// as gives them that of other tables, where it leads to a switch that has one.
func (c *connector) as(t *routing.Tables) {
	c.repeat(func(s topo.SwitchIdx) uint8 {
		port := portOf(rowOf(t, s), c.lid)
		if to := c.beyond.next(s, port); to != topo.None && c.rows[to][c.lid] != routing.NoPath {
			return port
		}
		return routing.NoPath
	})
}

// near gives them one to a switch that has one, until none is next to such a switch.
func (c *connector) near() {
	c.repeat(func(s topo.SwitchIdx) uint8 {
		peers, ports := c.graph.Edges(s)
		for i, r := range peers {
			if c.rows[r][c.lid] != routing.NoPath {
				return ports[i]
			}
		}
		return routing.NoPath
	})
}

// repeat asks for a port of each, until there is no more.
func (c *connector) repeat(find func(topo.SwitchIdx) uint8) {
	for before := -1; len(c.without) != before; {
		before = len(c.without)
		c.each(find)
	}
}

// each gives each the port that is found for it, if any is.
func (c *connector) each(find func(topo.SwitchIdx) uint8) {
	left := c.without[:0]
	for _, s := range c.without {
		if c.rows[s][c.lid] = find(s); c.rows[s][c.lid] == routing.NoPath {
			left = append(left, s)
		}
	}
	c.without = left
}
