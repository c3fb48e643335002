// Package nue is the routing engine nue: routes without credit loops on any connected subnet, with as
// many lanes as there are, and be it one. Each destination has a lane. On each lane the engine knows
// which channels may wait for which, and searches the ways to a destination so that no circle of them
// closes; where it gets stuck, the destination is reached along a tree that is kept free for this.
// (Domke, Hoefler, Matsuoka: Routing on the Dependency Graph, HPDC 2016.)
//
// The tables and SLs are OpenSM's, entry for entry, except in two cases: routers, to which OpenSM's
// engine has no routes, get theirs, and a lane on which OpenSM's bookkeeping lets a circle close is
// routed again without these faults.
package nue

import (
	"context"
	"fmt"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Settings are the operator's settings of the engine.
type Settings struct {
	// MaxVLs is the most lanes that routes get, 0 for all that every link has (nue_max_num_vls).
	MaxVLs uint8
	// Switches says that routes to port 0 of switches are free of credit loops, too
	// (nue_include_switches).
	Switches bool
	// QoS says that the operator has switched quality of service on (qos). As with OpenSM, routes get one
	// lane without it.
	QoS bool
	// AvoidThrottled leaves out links between switches that are slower or narrower than both ends have
	// enabled (avoid_throttled_links).
	AvoidThrottled bool
}

// New is the engine. It computes everything afresh each time: In.Keep does not matter. It refuses a
// subnet whose switches are not all connected.
func New(s Settings) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		r, err := newRoutes(ctx, in, s)
		if err == nil {
			err = r.connected()
		}
		if err != nil {
			return nil, err
		}
		known := make([][]dest, len(r.lanes))
		for lane, dests := range r.lanes {
			known[lane] = withoutRouters(dests)
		}
		roots, err := r.centres(ctx, known)
		if err != nil {
			return nil, err
		}
		for lane, dests := range r.lanes {
			if err := r.routeLane(ctx, uint8(lane), dests, roots[lane]); err != nil {
				return nil, err
			}
		}
		if !s.Switches {
			if err := r.routeSwitches(ctx); err != nil {
				return nil, err
			}
		}
		return r.result(), nil
	}
}

// routes are the tables as they come into being.
type routes struct {
	*network
	tables *routing.Tables
	lanes  [][]dest // the destinations of each lane, in order
	lane   []uint8  // by LID
}

// dest is a destination: an end port.
type dest struct {
	port   topo.PortIdx
	home   int32 // the switch that it belongs to or hangs on
	egress uint8 // the port of that; 0 for the switch itself
	router bool
}

func newRoutes(ctx context.Context, in routing.In, s Settings) (*routes, error) {
	r := &routes{network: newNetwork(in, s.AvoidThrottled), lane: make([]uint8, len(in.LIDs.Owner))}
	rows, err := routing.EmptyRows(ctx, len(r.switches), in.LIDs.Top)
	if err != nil {
		return nil, err
	}
	r.tables = &routing.Tables{LFT: rows, Top: in.LIDs.Top}
	lanes := routing.LeastLanes(in.Lanes)
	if s.MaxVLs != 0 {
		lanes = min(lanes, s.MaxVLs)
	}
	if !s.QoS {
		lanes = 1
	}
	r.lanes = make([][]dest, lanes)
	next := 0
	for _, p := range portsByGUID(in.Topo, in.LIDs) {
		d := dest{port: p, router: in.Topo.Nodes[in.Topo.Ports[p].Node].Type == mad.Router}
		home, egress := routing.Home(in.Topo, p)
		if home == topo.None || egress == 0 && !s.Switches {
			continue
		}
		if d.home, d.egress = r.vertex[home], egress; d.router {
			r.lanes[0] = append(r.lanes[0], d)
			continue
		}
		r.lanes[next] = append(r.lanes[next], d)
		next = (next + 1) % len(r.lanes)
	}
	for i := range r.lanes {
		r.lanes[i] = inTurn(r.lanes[i])
	}
	return r, nil
}

// inTurn are destinations in the order in which they are routed: adapters, switches, routers.
func inTurn(dests []dest) (order []dest) {
	for turn := range 3 {
		for _, d := range dests {
			switch {
			case d.router && turn == 2, !d.router && d.egress != 0 && turn == 0, d.egress == 0 && turn == 1:
				order = append(order, d)
			}
		}
	}
	return order
}

// withoutRouters are the destinations that OpenSM knows of: routers come last. Where there are none else,
// they are.
func withoutRouters(dests []dest) []dest {
	if i := slices.IndexFunc(dests, func(d dest) bool { return d.router }); i > 0 {
		return dests[:i]
	}
	return dests
}

// connected returns an error if some switch does not reach all others.
func (r *routes) connected() error {
	if len(r.switches) == 0 {
		return nil
	}
	r.spread(0)
	for v, by := range r.by {
		if v != 0 && by == none {
			return fmt.Errorf("there is no path between switch %s and switch %s", r.name(0), r.name(v))
		}
	}
	return nil
}

func (n *network) name(v int) string {
	node := &n.Topo.Nodes[n.Topo.Switches[n.switches[v]]]
	return fmt.Sprintf("%v %q", node.GUID, node.Desc.String())
}

// routeLane routes to the destinations of a lane as OpenSM does, with the tree from a root, and if a circle
// of channels that wait for each other has come of it, once more without the faults that let it close.
func (r *routes) routeLane(ctx context.Context, lane uint8, dests []dest, root int32) error {
	if len(dests) == 0 {
		return nil
	}
	weight := slices.Clone(r.weight)
	circle, err := r.tryLane(ctx, lane, dests, root, false)
	if err == errCircle || err == nil && circle {
		copy(r.weight, weight)
		roots, err := r.centres(ctx, [][]dest{dests})
		if err != nil {
			return err
		}
		_, err = r.tryLane(ctx, lane, dests, roots[0], true)
		return err
	}
	return err
}

// tryLane reports whether the routes of a lane have come to a circle.
func (r *routes) tryLane(ctx context.Context, lane uint8, dests []dest, root int32, strict bool) (circle bool,
	err error) {
	l := newLayer(ctx, r.network, strict)
	if err := ctx.Err(); err != nil {
		return false, err
	}
	known := dests
	if !strict {
		known = withoutRouters(dests)
	}
	l.reserve(root, known)
	for _, d := range dests {
		for i := range mad.LID(r.LIDs.Count(d.port)) {
			l.route(d)
			routing.Spend(ctx, l.work)
			l.work = 0
			if err := ctx.Err(); err != nil {
				return false, err
			}
			lid := r.LIDs.Base[d.port] + i
			if err := r.place(lid, d); err != nil {
				return false, err
			}
			r.lane[lid] = lane
		}
	}
	circle = l.hasCircle()
	return circle, ctx.Err()
}

// routeSwitches routes to port 0 of all switches by the lightest ways.
func (r *routes) routeSwitches(ctx context.Context) error {
	for v := range r.switches {
		p := r.Topo.Nodes[r.Topo.Switches[r.switches[v]]].First
		d := dest{port: p, home: int32(v)}
		for i := range mad.LID(r.LIDs.Count(p)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.spread(d.home)
			if err := r.place(r.LIDs.Base[p]+i, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// place puts the ways that were found into the tables. Those to routers do not weigh, so that all others
// are as if there were none.
func (r *routes) place(lid mad.LID, d dest) error {
	if !d.router {
		if err := r.weigh(d); err != nil {
			return err
		}
	}
	for v, c := range r.by {
		port := d.egress
		if int32(v) != d.home {
			port = r.port[c]
		}
		r.tables.LFT[r.switches[v]][lid] = port
	}
	return nil
}

// result are the tables. With one lane each packet may have the SL that others give it.
func (r *routes) result() *routing.Tables {
	if len(r.lanes) > 1 {
		from, to := make([]int32, len(r.lane)), make([]int32, len(r.lane))
		for lid := range to {
			to[lid] = int32(lid)
		}
		r.tables.SLs = routing.NewSLs(from, to, [][]uint8{r.lane})
	}
	return r.tables
}
