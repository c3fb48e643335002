package tree

import (
	"bytes"
	"context"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// origin is the network that tables were computed of, in routing.Tables.Origin: entries that stay good need not be looked at one by one. It is
// immutable, and has nothing of the subnet that needs much memory.
type origin struct {
	guids  []mad.GUID // by switch, ascending
	ways   *ways
	graph  *routing.Graph
	height []int32
	homes  []home // by LID
}

// home is where packets to a LID leave the switches; at is None where nobody has it.
type home struct {
	at     topo.SwitchIdx
	egress uint8
}

func (n *network) newOrigin(ctx context.Context, all []destinations) (*origin, error) {
	w, err := n.newWays(ctx)
	if err != nil {
		return nil, err
	}
	w.uneven = nil // it is not needed any more
	o := &origin{ways: w, graph: n.graph, height: n.height, homes: slices.Repeat([]home{{at: topo.None}}, routing.RowLen(n.LIDs.Top))}
	for _, s := range n.Topo.Switches {
		o.guids = append(o.guids, n.Topo.Nodes[s].GUID)
	}
	for i := range all {
		for j := range all[i].ports {
			d := &all[i].ports[j]
			o.homes[d.lid] = home{all[i].at, d.egress}
		}
	}
	return o, nil
}

// since is what has changed in a network since its origin.
type since struct {
	*origin
	network *network
	now     []topo.SwitchIdx // by switch of the origin: its number now, None for one that is lost
	then    []topo.SwitchIdx // and the other way round
	words   int              // of a set of switches
	changed []uint64         // by switch, a set: destinations to which ways from it have changed
	any     []bool           // by switch: there are some
	all     []uint64         // a set: destinations that ports have come to or left
}

// newSince is nil where nothing can be said.
func (p *placer) newSince(ctx context.Context, all []destinations) (*since, error) {
	o, is := p.Base.Origin.(*origin)
	if !is || len(o.homes) != routing.RowLen(p.LIDs.Top) {
		return nil, nil
	}
	count := len(p.rows)
	c := &since{
		origin: o, network: p.network, words: (count + 63) / 64, any: make([]bool, count),
		now: slices.Repeat([]topo.SwitchIdx{topo.None}, len(o.guids)), then: slices.Repeat([]topo.SwitchIdx{topo.None}, count),
	}
	c.changed, c.all = make([]uint64, count*c.words), make([]uint64, c.words)
	for s, n := range p.Topo.Switches {
		if was, is := slices.BinarySearch(o.guids, p.Topo.Nodes[n].GUID); is {
			c.now[was], c.then[s] = topo.SwitchIdx(s), topo.SwitchIdx(was)
		} else {
			c.add(c.all, topo.SwitchIdx(s))
		}
	}
	for i := range all {
		at := all[i].at
		for j := range all[i].ports {
			if d := &all[i].ports[j]; o.homes[d.lid] != (home{c.then[at], d.egress}) {
				c.add(c.all, at)
			}
		}
	}
	return c, routing.Parallel(ctx, p.Workers, count, func() func(int) {
		return func(s int) { c.compare(topo.SwitchIdx(s), p.ways) }
	})
}

func (c *since) add(set []uint64, s topo.SwitchIdx) { set[s/64] |= 1 << (s % 64) }

// compare finds the destinations to which ways from a switch have changed.
func (c *since) compare(s topo.SwitchIdx, w *ways) {
	if c.then[s] == topo.None {
		return
	}
	was, is, changed := c.ways.from(c.then[s]), w.from(s), c.changed[int(s)*c.words:][:c.words]
	for at, then := range c.then {
		if then != topo.None && was[then] != is[at] {
			c.add(changed, topo.SwitchIdx(at))
			c.any[s] = true
		}
	}
}

// sameLinks reports whether a switch has the links that it had, and each leads up or down as it did.
func (c *since) sameLinks(s topo.SwitchIdx) bool {
	was := c.then[s]
	if was == topo.None {
		return false
	}
	peers, ports := c.network.graph.Edges(s)
	before, portsBefore := c.graph.Edges(was)
	return bytes.Equal(ports, portsBefore) && slices.EqualFunc(peers, before, func(a, b topo.SwitchIdx) bool {
		return c.now[b] == a && (c.network.height[a] > c.network.height[s]) == (c.height[b] > c.height[was])
	})
}

// destinations sets the destinations for which ports of a switch may not be good any more. It reports false where its links have changed: then it may be any.
func (c *since) destinations(s topo.SwitchIdx, set []uint64) (known bool) {
	if !c.sameLinks(s) {
		return false
	}
	copy(set, c.all)
	peers, _ := c.network.graph.Edges(s) // its own ways follow from theirs
	for _, r := range peers {
		if c.any[r] {
			for i, word := range c.changed[int(r)*c.words:][:c.words] {
				set[i] |= word
			}
		}
	}
	return true
}

// each calls do for the members of a set, ascending.
func each(set []uint64, do func(i int)) {
	for at, word := range set {
		for ; word != 0; word &= word - 1 {
			do(at*64 + bits.TrailingZeros64(word))
		}
	}
}
