package tree

import (
	"bytes"
	"context"
	"math"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// origin is the network that tables were computed of, in routing.Tables.Origin: entries that stay good need not be
// looked at one by one. It is immutable, and has nothing of the subnet that needs much memory.
type origin struct {
	guids  []mad.GUID // by switch, ascending
	ways   *ways
	graph  *routing.Graph
	whole  bool // in one part
	height []int32
	homes  []home   // by LID
	load   []uint16 // by switch * 256 + port: hosts' LIDs that have the port
}

// home is the port by which packets to a LID leave the switches; at is None if no port has the LID.
type home struct {
	at     topo.SwitchIdx
	egress uint8
	host   bool
}

func (n *network) newOrigin(ctx context.Context, all []destinations, rows [][]uint8) (*origin, error) {
	w, err := n.newWays(ctx)
	if err != nil {
		return nil, err
	}
	w.uneven = nil // it is not needed any more
	o := &origin{ways: w, graph: n.graph, height: n.height,
		homes: slices.Repeat([]home{{at: topo.None}}, routing.RowLen(n.LIDs.Top))}
	for _, s := range n.Topo.Switches {
		o.guids = append(o.guids, n.Topo.Nodes[s].GUID)
	}
	for i := range all {
		for j := range all[i].ports {
			d := &all[i].ports[j]
			o.homes[d.lid] = home{all[i].at, d.egress, d.host}
		}
	}
	o.whole = !slices.ContainsFunc(n.parts, func(part int32) bool { return part != n.parts[0] })
	o.load = make([]uint16, len(rows)<<8)
	hosts := hostLIDs(all, n.LIDs)
	return o, routing.Parallel(ctx, n.Workers, len(rows), func() func(int) {
		var load [256]uint32
		return func(s int) {
			clear(load[:])
			countEntries(&load, rows[s], hosts)
			for port, count := range load {
				o.load[s<<8|port] = uint16(count)
			}
		}
	})
}

// sameSwitches reports whether a subnet has the switches of the origin, and no other.
func (o *origin) sameSwitches(t *topo.Topo) bool {
	return slices.EqualFunc(o.guids, t.Switches, func(guid mad.GUID, n topo.NodeIdx) bool {
		return guid == t.Nodes[n].GUID
	})
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
	without []uint64         // by switch, a set: destinations to which it has no way
	// by switch, a set: those of without to which packets may not come any more from it, by another switch that has a
	// way
	loose []uint64
	hosts bool    // LIDs are hosts' as they were
	none  []uint8 // a row of ways to nowhere
}

// newSince is nil where nothing can be said.
func (p *placer) newSince(ctx context.Context, all []destinations) (*since, error) {
	o, is := p.Base.Origin.(*origin)
	if !is || len(o.homes) != routing.RowLen(p.LIDs.Top) {
		return nil, nil
	}
	count := len(p.rows)
	c := &since{
		hosts: true, origin: o, network: p.network, words: (count + 63) / 64, any: make([]bool, count),
		now:  slices.Repeat([]topo.SwitchIdx{topo.None}, len(o.guids)),
		then: slices.Repeat([]topo.SwitchIdx{topo.None}, count),
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
			d := &all[i].ports[j]
			was := o.homes[d.lid]
			if was != (home{c.then[at], d.egress, d.host}) {
				c.add(c.all, at)
				c.hosts = c.hosts && (was.at == topo.None || was.host == d.host)
			}
		}
	}
	c.without, c.loose = make([]uint64, count*c.words), make([]uint64, count*c.words)
	c.none = slices.Repeat([]uint8{noWay}, p.ways.width)
	same := o.sameSwitches(p.Topo)
	err := routing.Parallel(ctx, p.Workers, count, func() func(int) {
		scratch := make([]uint8, p.ways.width)
		return func(s int) { c.compare(topo.SwitchIdx(s), p.ways, same, scratch) }
	})
	if err != nil {
		return nil, err
	}
	return c, c.loosen(ctx)
}

// loosen finds, by switch, the loose destinations: links, or the path towards a switch that has a route to them, have
// changed.
func (c *since) loosen(ctx context.Context) error {
	any := make([]bool, len(c.then))
	set := make([]uint64, c.words)
	for s := range c.then {
		loose, without := c.of(c.loose, topo.SwitchIdx(s)), c.of(c.without, topo.SwitchIdx(s))
		known := c.whole && !c.has(c.all, topo.SwitchIdx(s)) && c.destinations(topo.SwitchIdx(s), set)
		for i := range loose {
			if loose[i] = without[i]; known {
				loose[i] &= set[i]
			}
			any[s] = any[s] || loose[i] != 0
		}
	}
	for more := true; more && ctx.Err() == nil; {
		more = false
		for s := range c.then {
			loose, without := c.of(c.loose, topo.SwitchIdx(s)), c.of(c.without, topo.SwitchIdx(s))
			peers, _ := c.network.graph.Edges(topo.SwitchIdx(s))
			for _, r := range peers {
				if !any[r] {
					continue
				}
				for i, word := range c.of(c.loose, r) {
					if word &= without[i] &^ loose[i]; word != 0 {
						loose[i] |= word
						any[s], more = true, true
					}
				}
			}
		}
	}
	return ctx.Err()
}

func (c *since) of(sets []uint64, s topo.SwitchIdx) []uint64 {
	return sets[int(s)*c.words:][:c.words]
}

func (c *since) has(set []uint64, s topo.SwitchIdx) bool { return set[s/64]>>(s%64)&1 != 0 }

func (c *since) add(set []uint64, s topo.SwitchIdx) { set[s/64] |= 1 << (s % 64) }

// compare finds the destinations whose paths from a switch have changed, and the destinations to which it has no path.
// Unless switches have the same numbers as before, it needs a row of scratch space.
func (c *since) compare(s topo.SwitchIdx, w *ways, same bool, scratch []uint8) {
	is, without := w.from(s), c.of(c.without, s)
	unequal(without, is, c.none)
	for i := range without { // equal ones have no path
		without[i] = ^without[i]
	}
	without[len(without)-1] &= math.MaxUint64 >> (-len(c.then) & 63)
	if c.then[s] == topo.None {
		return
	}
	was := c.ways.from(c.then[s])
	if !same {
		copy(scratch, is)
		for at, then := range c.then {
			if then != topo.None {
				scratch[at] = was[then]
			}
		}
		was = scratch
	}
	if !routing.SameRow(is, was) {
		changed := c.of(c.changed, s)
		unequal(changed, is, was)
		c.any[s] = slices.ContainsFunc(changed, func(word uint64) bool { return word != 0 })
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

// destinations sets the destinations for which ports of a switch may not be good any more. It reports false where its
// links have changed: then it may be any.
func (c *since) destinations(s topo.SwitchIdx, set []uint64) (known bool) {
	if !c.sameLinks(s) {
		return false
	}
	copy(set, c.all)
	peers, _ := c.network.graph.Edges(s) // its own ways follow from theirs
	for _, r := range peers {
		if c.any[r] {
			for i, word := range c.of(c.changed, r) {
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
