package tree

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/acyclic"
	"ibsm/topo"
)

// Up-down paths are on lane 0, where they close no credit loop. Paths that turn get the first higher lane on which they
// close none with each other; both directions between two switches have the same lane. If no such lane is left, or
// there is one lane only, they are on lane 0, if they close no loop there. If that fails because they turn at many
// places, they turn at fewer: paths that turn at one switch only, on a lane of their own, close no loop in a tree, and
// in most trees also none with the others on lane 0.

// lanes are the dependencies of the paths on each lane.
type lanes struct {
	*turner
	node   []int32 // by switch * 256 + port: its number among links between switches
	nodes  int32
	orders []*acyclic.Graph // by lane; nil before the first
	added  [][2]int32       // of the pair in hand
}

// mostPlaces are how many places of turns are tried one after the other, where anywhere is too many.
var mostPlaces = [...]int{16, 4, 1, 1, 1, 1}

// giveLanes gives paths that turn their SLs.
func (p *placer) giveLanes(ctx context.Context, _ []destinations) error {
	t := p.turner
	if t == nil {
		return nil
	}
	anywhere := routing.LeastLanes(t.Lanes) > 1
	for i := 0; ; i++ {
		l := t.newLanes()
		if fits, err := l.assign(ctx); fits || err != nil {
			return err
		}
		if i == 0 && t.Base != nil && anywhere { // nothing of those that are kept
			t.clear()
			if err := t.route(ctx, nil); err != nil {
				return err
			}
			if fits, err := t.newLanes().assign(ctx); fits || err != nil {
				return err
			}
		}
		for !anywhere && i < len(mostPlaces) && mostPlaces[i] > 1 {
			i++
		}
		if i >= len(mostPlaces) {
			return t.noRoom()
		}
		t.clear()
		if err := t.route(ctx, t.places(mostPlaces[i], i)); err != nil {
			return err
		}
	}
}

func (t *turner) newLanes() *lanes {
	l := &lanes{turner: t, node: slices.Repeat([]int32{topo.None}, len(t.load)),
		orders: make([]*acyclic.Graph, routing.LeastLanes(t.Lanes))}
	for _, groups := range [][][]group{t.up, t.down} {
		for s := range groups {
			for _, g := range groups[s] {
				for _, port := range g.ports {
					l.node[s<<8|int(port)] = l.nodes
					l.nodes++
				}
			}
		}
	}
	return l
}

// assign finds the lanes of all pairs. It returns false if a pair gets none.
func (l *lanes) assign(ctx context.Context) (fits bool, err error) {
	zero := make([]uint8, len(l.rows)) // the row of all switches without another SL
	rows := slices.Repeat([][]uint8{zero}, len(l.rows))
	set := func(s, at topo.SwitchIdx, sl uint8) {
		if &rows[s][0] == &zero[0] {
			rows[s] = slices.Clone(zero)
		}
		rows[s][at] = sl
	}
	l.turner.paths = make([]int, len(l.orders))
	for i := range l.all {
		at := l.all[i].at
		for _, s := range l.from[i] {
			if l.hosts[at] > 0 && s > at {
				continue // it is the other direction of a pair
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			routing.Spend(ctx, turnWork)
			sl, fits := l.place(s, at)
			if !fits {
				return false, nil
			}
			l.turner.paths[sl]++
			if sl > 0 {
				set(s, at, sl)
				set(at, s, sl)
			}
		}
	}
	if l.turner.sls = nil; l.turner.paths[0] < l.pairs {
		l.turner.sls = routing.SLsBySwitch(l.Topo, l.LIDs, rows)
	}
	return true, nil
}

// place finds the lane of the paths between two switches.
func (l *lanes) place(s, at topo.SwitchIdx) (sl uint8, fits bool) {
	for i := range l.orders {
		sl := uint8((i + 1) % len(l.orders)) // lane 0 comes last
		if l.orders[sl] == nil {
			l.orders[sl] = l.newOrder(sl)
		}
		l.added = l.added[:0]
		if l.add(sl, s, at) && l.add(sl, at, s) {
			return sl, true
		}
		for _, edge := range l.added {
			l.orders[sl].Unlink(edge[0], edge[1])
		}
	}
	return 0, false
}

// add adds the paths from a switch to all end ports at another. It reports false where they would close a credit loop.
func (l *lanes) add(sl uint8, s, at topo.SwitchIdx) (fits bool) {
	if l.hosts[s] == 0 {
		return true
	}
	order := l.orders[sl]
	ports := l.all[l.index[at]].ports
	for j := range ports {
		if !ports[j].end {
			continue
		}
		last, closes := int32(topo.None), false
		l.follow(s, ports[j].lid, func(channel int) {
			to := l.node[channel]
			if last != topo.None && !closes && !order.Has(last, to) {
				if closes = !order.Add(last, to); !closes {
					l.added = append(l.added, [2]int32{last, to})
				}
			}
			last = to
		})
		if closes {
			return false
		}
	}
	return true
}

// newOrder is the dependencies of paths on a lane that do not turn: on lane 0 of all.
func (l *lanes) newOrder(sl uint8) *acyclic.Graph {
	order := acyclic.New(make([]int32, l.nodes))
	if sl == 0 {
		l.addEven(order)
	}
	order.Number()
	return order
}

// addEven adds the dependencies of all paths that do not turn, each once.
func (l *lanes) addEven(order *acyclic.Graph) {
	passed := make([]mad.LID, len(l.rows)) // by switch: the last LID to which packets have come by
	for i := range l.all {
		at := &l.all[i]
		for j := range at.ports {
			if d := &at.ports[j]; d.end {
				l.addEvenTo(order, d.lid, l.from[i], passed)
			}
		}
	}
}

func (l *lanes) addEvenTo(order *acyclic.Graph, lid mad.LID, turning []topo.SwitchIdx, passed []mad.LID) {
	for s, hosts := range l.hosts {
		if hosts == 0 || slices.Contains(turning, topo.SwitchIdx(s)) {
			continue
		}
		last := int32(topo.None)
		for v := topo.SwitchIdx(s); v != topo.None && l.rows[v][lid] != routing.NoPath; {
			port := l.rows[v][lid]
			to := l.node[int(v)<<8|int(port)]
			if to == topo.None {
				break
			}
			if last != topo.None && !order.Has(last, to) {
				order.Link(last, to)
			}
			if passed[v] == lid {
				break
			}
			passed[v], last, v = lid, to, l.tracer.Next(v, port)
		}
	}
}
