package ftree

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// route fills the columns: first for compute nodes, leaf by leaf, then for other hosts, switches and
// routers.
func (t *tree) route(ctx context.Context) error {
	for _, n := range t.leaves {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.routeLeaf(n)
	}
	for i := range t.hosts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if h := &t.hosts[i]; !h.compute {
			credit := 0
			if h.io {
				credit = t.ReverseHops
			}
			t.routeTo(h.at, h.lid, h.on, 1, true, credit)
		}
	}
	for _, n := range t.nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.routeTo(n, n.lid, 0, 0, false, 0)
	}
	if t.ConnectRoots {
		t.connectRoots(ctx)
	}
	for _, p := range t.Topo.EndPorts {
		if t.Topo.Nodes[t.Topo.Ports[p].Node].Type == mad.Router {
			if s, port := routing.Home(t.Topo, p); s != topo.None {
				t.routeTo(t.at[s], t.LIDs.Base[p], port, 1, true, 0)
			}
		}
	}
	return nil
}

// routeLeaf routes to the compute nodes of a leaf, and to as many that it lacks as other leaves have more:
// so the routes to those of the next leaf go on in the same rhythm.
func (t *tree) routeLeaf(n *node) {
	count := 0
	for _, g := range slices.Clone(n.down) {
		if g.to == nil && t.hosts[g.host].compute {
			t.routeTo(n, t.hosts[g.host].lid, g.ports[0].port, 1, true, 0)
			count++
		}
	}
	for ; count < t.mostCN; count++ {
		t.start(0)
		t.hops[n.at] = 1
		t.above(n, nil, step{lid: 0, main: true, hops: 1})
	}
}

// routeTo routes to a LID behind a port of a switch, which is so many links away from it.
func (t *tree) routeTo(n *node, lid mad.LID, port, hops uint8, main bool, credit int) {
	if lid == 0 {
		return
	}
	t.start(lid)
	t.ports[n.at], t.hops[n.at] = port, hops
	t.above(n, nil, step{lid: lid, main: main, hops: hops, credit: credit})
}

// start begins to route to a LID. 0 is no LID: ways to it only count.
func (t *tree) start(lid mad.LID) {
	if t.columns[lid] == nil {
		t.columns[lid] = make([]uint8, len(t.at))
	}
	t.ports = t.columns[lid]
	copy(t.ports, t.nothing)
	copy(t.hops, t.nothing)
}

// fill writes the columns into the tables: some switches and LIDs at a time, which are near in memory.
func (t *tree) fill(ctx context.Context, tables [][]uint8) error {
	const some = 64
	for from := 1; from < len(t.columns); from += some {
		if err := ctx.Err(); err != nil {
			return err
		}
		for s := range tables {
			row := tables[s]
			for lid := from; lid < min(from+some, len(t.columns)); lid++ {
				if column := t.columns[lid]; column != nil {
					row[lid] = column[s]
				}
			}
		}
	}
	return nil
}

// step is where the routes to a LID are being laid.
type step struct {
	lid    mad.LID
	main   bool  // counts
	hops   uint8 // from the LID so far
	credit int   // reverse hops that are left
}

func (s step) next() step { s.hops++; return s }

// set has a switch go to the LID by a link, whose other end it is at.
func (t *tree) set(n *node, l *link, s step) { t.ports[n.at], t.hops[n.at] = l.far, s.hops+1 }

// done reports whether a switch has a route to the LID that is as short.
func (t *tree) done(at topo.SwitchIdx, s step) bool {
	return t.ports[at] != routing.NoPath && s.hops+1 >= t.hops[at]
}

// near reports whether a switch is as near to the LID. The one that the LID belongs to is, also where the LID is
// 0, and no route is kept.
func (t *tree) near(at topo.SwitchIdx, s step) bool {
	return t.hops[at] != routing.Unreachable && s.hops+1 >= t.hops[at]
}

// below has the switches below one, from which a LID can be reached, go up to it, but for the one that it
// was reached from. It reports whether there are hosts.
func (t *tree) below(n, from *node, s step) (made bool) {
	if len(n.down) == 0 {
		return false
	}
	if n.hosts {
		made = true
	} else {
		made = t.belowDown(n, from, s)
	}
	order(n.same, up)
	for k := range n.same {
		if g := n.same[k]; s.lid != 0 && g.to != from && !t.near(g.at, s) {
			made = t.goUp(n, g, s) || made
		}
	}
	if made {
		n.turn()
	}
	return made
}

// turn has reverse hops go to the next group. It is called for each switch and LID, and divides nothing.
func (n *node) turn() {
	if n.next++; n.next == len(n.down) {
		n.next = 0
	}
}

// belowDown is below for the switches that are farther from the roots.
func (t *tree) belowDown(n, from *node, s step) (made bool) {
	if n.changed || n.ends == nil {
		n.sortDown()
	}
	for k, at := range n.ends {
		switch {
		case at == none:
			made = true
		case t.near(at, s) || n.down[k].to == from:
		default:
			made = t.goUp(n, n.down[k], s) || made
		}
	}
	return made
}

// goUp has the switch at the other end of a group, and all below it, go up to one. It reports whether there
// are hosts.
func (t *tree) goUp(n *node, g *group, s step) bool {
	l := g.least(up)
	t.set(g.to, l, s)
	if !t.below(g.to, nil, s.next()) {
		return false
	}
	l.routes[up]++
	g.routes[up]++
	n.changed = true
	return true
}

// sortDown sorts the groups below a switch by their counts.
func (n *node) sortDown() {
	if n.changed {
		order(n.down, up)
		n.changed = false
	}
	n.ends = n.ends[:0]
	for _, g := range n.down {
		n.ends = append(n.ends, g.at)
	}
}

// above has the switches above one, from which a LID can be reached, go down to it, and all below those
// go up. It reports whether there are hosts.
func (t *tree) above(n, from *node, s step) (made bool) {
	made = t.below(n, from, s)
	if n.rank == 0 {
		if s.credit > 0 {
			made = t.reverseAtRoot(n, s) || made
		}
		return made
	}
	order(n.up, down)
	first := n.up[0]
	if s.main {
		l := first.least(down)
		first.routes[down]++
		l.routes[down]++
		if !t.done(first.at, s) {
			t.set(first.to, l, s)
		}
		made = t.above(first.to, n, s.next()) || made
	}
	other := s
	other.main = false
	begin := 0
	if s.main {
		begin = 1
	}
	for i := begin; i < len(n.up); i++ {
		if g := n.up[i]; !t.done(g.at, s) {
			t.set(g.to, g.least(down), s)
			made = t.above(g.to, n, other.next()) || made
		}
	}
	order(n.same, down)
	for i := range n.same {
		g := n.same[i]
		if t.done(g.at, s) {
			continue
		}
		l := g.least(down)
		t.set(g.to, l, s)
		if t.above(g.to, n, other.next()) {
			made = true
			first.routes[down]++ // of the group above, as in OpenSM
			l.routes[down]++
		}
	}
	if s.credit == 0 || n.leaf {
		return made
	}
	reverse := s.next()
	reverse.main, reverse.credit = true, s.credit-1
	for i := range n.down {
		if g := n.down[i]; g.to != nil {
			made = t.above(g.to, n, reverse) || made
		}
	}
	return made
}

// reverseAtRoot goes down from a root to go up elsewhere.
func (t *tree) reverseAtRoot(n *node, s step) (made bool) {
	n.turn()
	reverse := s.next()
	reverse.credit--
	at := n.next
	for range n.down {
		g := n.down[at]
		at = (at + 1) % len(n.down)
		if g.to != nil {
			made = t.above(g.to, n, reverse) || made
		}
	}
	return made
}

// connectRoots has switches that have no route to another one go to it over the last leaf: ways turn up
// again there only, which makes no credit loop.
func (t *tree) connectRoots(ctx context.Context) {
	leaf := t.leaves[len(t.leaves)-1]
	for _, n := range t.nodes {
		if ctx.Err() != nil {
			return
		}
		if n.rank >= t.leafRank || leaf.lid == 0 {
			continue
		}
		for _, to := range t.nodes {
			if to.lid == 0 {
				continue
			}
			if column := t.columns[to.lid]; column[n.at] == routing.NoPath && column[leaf.at] != routing.NoPath {
				column[n.at] = t.columns[leaf.lid][n.at]
			}
		}
	}
}

// least is the first of the links with the fewest routes in a direction.
func (g *group) least(d direction) *link {
	least := &g.ports[0]
	for i := 1; i < len(g.ports); i++ {
		if l := &g.ports[i]; l.routes[d] < least.routes[d] {
			least = l
		}
	}
	return least
}

// order sorts groups by their routes in a direction, and those with as many by index. Few of them change from one
// time to the next: they are sorted by insertion.
func order(groups []*group, d direction) {
	for i := 1; i < len(groups); i++ {
		g, k := groups[i], i
		for ; k > 0; k-- {
			before := groups[k-1]
			if before.routes[d] < g.routes[d] || before.routes[d] == g.routes[d] && before.order <= g.order {
				break
			}
			groups[k] = before
		}
		groups[k] = g
	}
}
