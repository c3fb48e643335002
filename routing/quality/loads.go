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
	p := &pass{topo: t, lids: l, rows: rows, tracer: routing.NewTracer(t, l), tenants: in.Tenants, sources: in.Tenants.Sources(t)}
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
	sources [][]uint32 // by class of the destination, then by switch: the ports of hosts that send there
}

// count is what one worker has counted, and its scratch space.
type count struct {
	load    []uint32 // by PortIdx
	reached []uint32 // by class, then by switch: the LIDs of hosts to which routes from there arrive
	trace   *routing.Trace
	flow    []uint32 // by switch: routes to the LID at hand that come through
	byFate  [1 << 8][]topo.SwitchIdx
}

func (p *pass) newCount() *count {
	n := len(p.topo.Switches)
	return &count{load: make([]uint32, len(p.topo.Ports)), reached: make([]uint32, n*p.tenants.Classes()), trace: routing.NewTrace(n), flow: make([]uint32, n)}
}

// block counts the routes to a block of LIDs.
func (p *pass) block(block int, c *count) {
	p.tracer.Block(p.rows, block, routing.WholeBlock, c.trace)
	first := mad.LID(block * routing.BlockSize)
	for lid := first; lid < first+routing.BlockSize; lid++ {
		if owner := p.lids.PortOf(lid); owner != topo.None && p.topo.IsHost(owner) {
			p.routesTo(lid, owner, c)
		}
	}
}

// routesTo counts the routes to a LID, from the switches farthest off to the one that it
// hangs on, so that all that come through a switch are known when they leave it.
func (p *pass) routesTo(lid mad.LID, owner topo.PortIdx, c *count) {
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
