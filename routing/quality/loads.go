// Package quality measures the quality of correct forwarding tables: how evenly they
// spread routes over links, and how many flows meet there while hosts send in patterns.
package quality

import (
	"context"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Loads counts the routes that leave by each port, by PortIdx: one from each port of a
// host to each LID of each other port of a host, as far as they arrive. Hosts are channel
// adapters and routers; switches and aggregation nodes count for nothing, and so do hosts that
// in.Tenants keep apart. The error is that of ctx.
func Loads(ctx context.Context, in routing.In, rows [][]uint8) ([]uint32, error) {
	t, l, workers := in.Topo, in.LIDs, in.Workers
	p := &pass{topo: t, lids: l, rows: rows, tracer: routing.NewTracer(t, l), tenants: in.Tenants,
		sources: in.Tenants.Sources(t)}
	for _, n := range t.Switches {
		p.first = append(p.first, t.Nodes[n].First)
	}
	blocks := int(l.Top)/routing.BlockSize + 1
	counts := make(chan *count, blocks) // there are no more workers than blocks
	err := routing.Parallel(ctx, workers, blocks, func() func(int) {
		c := p.newCount()
		counts <- c
		return func(block int) { p.block(block, c) }
	})
	if err != nil {
		return nil, err
	}
	close(counts)
	return p.sum(counts), nil
}

// pass is what all workers read.
type pass struct {
	topo    *topo.Topo
	lids    *topo.LIDs
	rows    [][]uint8
	tracer  *routing.Tracer
	tenants *routing.Tenants
	first   []topo.PortIdx // by switch: its port 0
	sources [][]uint32     // by class of the destination, then by switch: the ports of hosts that send there
}

// count is what one worker has counted, and its scratch space.
type count struct {
	load    []uint32 // by PortIdx
	reached []uint32 // by class, then by switch: the LIDs of hosts to which routes from there arrive
	columns []uint8  // of a block of tables, by LID, then by switch: its port
	at      []passed // by switch
	passed  []topo.SwitchIdx
	order   []topo.SwitchIdx

	trace  *routing.Trace // where some routes do not arrive; else nil
	flow   []uint32       // by switch: routes to the LID at hand that come through
	byFate [1 << 8][]topo.SwitchIdx
}

// passed is a switch that routes to a LID pass.
type passed struct {
	waits int32          // one more than the switches before it that are not in order yet; 0 where no route comes
	next  topo.SwitchIdx // None where the routes leave the switches
	out   topo.PortIdx
	flow  uint32 // routes that come through
}

func (p *pass) newCount() *count {
	n := len(p.topo.Switches)
	return &count{
		load: make([]uint32, len(p.topo.Ports)), reached: make([]uint32, n*p.tenants.Classes()),
		columns: make([]uint8, n*routing.BlockSize), at: make([]passed, n),
	}
}

// block counts the routes to a block of LIDs.
func (p *pass) block(block int, c *count) {
	first, n := block*routing.BlockSize, len(p.topo.Switches)
	for s := range n {
		var row []uint8
		if s < len(p.rows) && first < len(p.rows[s]) {
			row = p.rows[s][first:min(len(p.rows[s]), first+routing.BlockSize)]
		}
		for i := range routing.BlockSize {
			port := uint8(routing.NoPath)
			if i < len(row) {
				port = row[i]
			}
			c.columns[i*n+s] = port
		}
	}
	for i := range routing.BlockSize {
		lid := mad.LID(first + i)
		if owner := p.lids.PortOf(lid); owner != topo.None && p.topo.IsHost(owner) && !p.allTo(lid, owner, c) {
			p.routesTo(lid, owner, c)
		}
	}
}

// allTo counts the routes to a LID if all arrive, as they nearly always do: each switch after those before it.
// Otherwise it counts nothing.
func (p *pass) allTo(lid mad.LID, owner topo.PortIdx, c *count) (arrive bool) {
	class := p.tenants.Class(owner)
	sources := p.sources[class]
	c.passed, c.order = c.passed[:0], c.order[:0]
	arrive = p.follow(lid, sources, c)
	for _, s := range c.passed {
		if c.at[s].waits == 1 {
			c.order = append(c.order, s)
		}
	}
	for i := 0; i < len(c.order); i++ {
		if next := c.at[c.order[i]].next; next != topo.None {
			if c.at[next].waits--; c.at[next].waits == 1 {
				c.order = append(c.order, next)
			}
		}
	}
	arrive = arrive && len(c.order) == len(c.passed) // else some go round in circles
	if arrive {
		p.count(class, owner, c)
	}
	for _, s := range c.passed {
		c.at[s].waits = 0
	}
	return arrive
}

// follow finds the switches that routes from some sources pass, and for each the next one. It reports whether none ends
// where it does not arrive.
func (p *pass) follow(lid mad.LID, sources []uint32, c *count) bool {
	ports := c.columns[int(lid)%routing.BlockSize*len(c.at):][:len(c.at)]
	for s, hosts := range sources {
		if hosts == 0 {
			continue
		}
		if c.at[s].waits > 0 {
			c.at[s].flow += hosts
			continue
		}
		for s, before := topo.SwitchIdx(s), int32(0); s != topo.None; before = 1 {
			at := &c.at[s]
			if at.waits > 0 {
				at.waits++
				break
			}
			c.passed = append(c.passed, s)
			port := ports[s]
			*at = passed{1 + before, p.tracer.Next(s, port), p.first[s] + topo.PortIdx(port), hosts}
			if at.next == topo.None && !p.tracer.Delivers(s, port, lid) {
				return false
			}
			s, hosts = at.next, 0
		}
	}
	return true
}

// count counts the routes of switches in order.
func (p *pass) count(class int, owner topo.PortIdx, c *count) {
	if s := p.topo.SwitchOf(owner); s != topo.None && p.tenants.Talk(class, class) {
		c.at[s].flow-- // nobody sends to itself
		c.load[owner]--
	}
	reached := c.reached[class*len(c.at):][:len(c.at)]
	for _, s := range c.order {
		at := &c.at[s]
		c.load[at.out] += at.flow
		reached[s]++
		if at.next != topo.None {
			c.at[at.next].flow += at.flow
		}
	}
}

// routesTo counts the routes to a LID, as far as they arrive, from the switches farthest off to the one that it
// hangs on, so that all that come through a switch are known when they leave it.
func (p *pass) routesTo(lid mad.LID, owner topo.PortIdx, c *count) {
	if c.trace == nil {
		c.trace, c.flow = routing.NewTrace(len(c.at)), make([]uint32, len(c.at))
	}
	p.tracer.Block(p.rows, int(lid)/routing.BlockSize, 1<<(lid%routing.BlockSize), c.trace)
	class := p.tenants.Class(owner)
	reached := c.reached[class*len(c.flow):][:len(c.flow)]
	copy(c.flow, p.sources[class])
	if s := p.topo.SwitchOf(owner); s != topo.None && p.tenants.Talk(class, class) {
		c.flow[s]-- // nobody sends to itself
		if c.trace.Fates(lid)[s] >= routing.Arrived {
			c.load[owner]-- // of those that its switch reaches; the sum is not below 0
		}
	}
	for s, fate := range c.trace.Fates(lid) {
		if fate >= routing.Arrived {
			c.byFate[fate] = append(c.byFate[fate], topo.SwitchIdx(s))
			reached[s]++
		}
	}
	for fate := len(c.byFate) - 1; fate >= int(routing.Arrived); fate-- {
		for _, s := range c.byFate[fate] {
			egress := p.rows[s][lid]
			c.load[p.topo.Port(p.topo.Switches[s], egress)] += c.flow[s]
			if next := p.tracer.Next(s, egress); next != topo.None {
				c.flow[next] += c.flow[s]
			}
		}
		c.byFate[fate] = c.byFate[fate][:0]
	}
}

// sum adds up what the workers have counted, and what leaves the hosts themselves.
func (p *pass) sum(counts <-chan *count) []uint32 {
	load, reached := make([]uint32, len(p.topo.Ports)), make([]uint32, len(p.topo.Switches)*p.tenants.Classes())
	for c := range counts {
		for i, n := range c.load {
			load[i] += n
		}
		for s, n := range c.reached {
			reached[s] += n
		}
	}
	for _, e := range p.topo.EndPorts {
		s := p.topo.SwitchOf(e)
		if s == topo.None || !p.topo.IsHost(e) {
			continue
		}
		for class := range p.tenants.Classes() {
			if p.tenants.Talk(p.tenants.Class(e), class) {
				load[e] += reached[class*len(p.topo.Switches)+int(s)]
			}
		}
	}
	return load
}
