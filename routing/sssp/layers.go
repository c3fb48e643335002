package sssp

import (
	"context"
	"fmt"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/topo"
)

// NewDeadlockFree is the routing engine dfsssp: the routes of sssp, and lanes for them so that those of
// each lane form no credit loop. The tables and lanes are OpenSM's; where OpenSM draws one of several
// lanes for each question, this gives each path one of them for good. It refuses a subnet in which the
// links between switches have too few lanes. Routes from port 0 of switches are on lane 0, whatever
// loops they form.
func NewDeadlockFree(s Settings) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		n := newNetwork(in, s)
		list := n.destinations(s)
		tables, err := n.place(ctx, list)
		if err != nil {
			return nil, err
		}
		a := newAssignment(n, tables, list)
		lanes := int(routing.LeastLanes(in.Lanes))
		if tables.SLs, err = a.assign(ctx, lanes); err != nil {
			return nil, err
		}
		tables.Findings = &routing.Findings{Lanes: a.use(lanes)}
		return tables, nil
	}
}

// assignment gives lanes to paths. Those from the hosts of one switch to one LID have the same links, and
// so the same lane: they are a bundle.
type assignment struct {
	*network
	tables  *routing.Tables
	channel [][]int32 // by SwitchIdx and port: the link from there to another switch, none without one
	next    []topo.SwitchIdx
	key     []uint64         // by channel: how OpenSM orders it
	sources []topo.SwitchIdx // the switches with hosts, in the order of the destinations
	hosts   []uint64         // LIDs of hosts at each source
	dests   []mad.LID        // in order
	paths   uint64           // between all LIDs that have lanes
	layer   []uint8          // by bundle
	count   []uint64         // by layer: its paths
	groups  [][2]int         // of dests that are LIDs of one port: from, to
	work    int              // that spend counts next
}

const none int32 = -1

// linkWork is about what it takes to follow a path over one link, in units of routing.Budget.
const linkWork = 4

// TooFewLanes refuses a subnet that needs more than so many lanes.
type TooFewLanes struct{ Lanes int }

func (e *TooFewLanes) Error() string {
	return fmt.Sprintf(
		"more than %d lanes are needed to keep routes free of credit loops: the links between switches have %[1]d",
		e.Lanes)
}

// canMap reports whether a port takes part: hosts and switches that have SL to VL mapping tables.
func (n *network) canMap(p topo.PortIdx) bool {
	port := &n.Topo.Ports[p]
	return n.Topo.Nodes[port.Node].Type != mad.Router && port.Info.CapabilityMask().Has(smp.IsSLMappingSupported)
}

func newAssignment(n *network, tables *routing.Tables, list []topo.PortIdx) *assignment {
	a := &assignment{network: n, tables: tables, channel: make([][]int32, len(n.switches))}
	for s, node := range n.Topo.Switches {
		a.channel[s] = make([]int32, int(n.Topo.Nodes[node].NumPorts)+1)
		for port := range a.channel[s] {
			a.channel[s][port] = none
		}
	}
	lid := func(v int32) uint64 {
		return uint64(n.LIDs.Base[n.Topo.Nodes[n.Topo.Switches[n.switches[v]]].First])
	}
	for e, link := range n.search.edges { // which leads away from destinations: packets take it the other way
		s := n.switches[link.to]
		a.channel[s][link.port] = int32(e)
		a.next = append(a.next, n.switches[link.from])
		far := n.Topo.Ports[n.Topo.Ports[n.Topo.Port(n.Topo.Switches[s], link.port)].Peer].Num
		a.key = append(a.key, lid(link.to)<<48|uint64(link.port)<<32|lid(link.from)<<16|uint64(far))
	}
	known := make([]int, len(n.switches)) // 1 + index of sources
	var all, own uint64
	for _, p := range list {
		if !n.canMap(p) {
			continue
		}
		count := uint64(n.LIDs.Count(p))
		all, own = all+count, own+count*count
		from := len(a.dests)
		for i := range mad.LID(count) {
			a.dests = append(a.dests, n.LIDs.Base[p]+i)
		}
		a.groups = append(a.groups, [2]int{from, len(a.dests)})
		home, port := routing.Home(n.Topo, p)
		if port == 0 {
			continue
		}
		if known[home] == 0 {
			a.sources, a.hosts = append(a.sources, home), append(a.hosts, 0)
			known[home] = len(a.sources)
		}
		a.hosts[known[home]-1] += count
	}
	a.paths = all*all - own
	a.layer = make([]uint8, len(a.sources)*len(a.dests))
	return a
}

// walk calls do for each channel of a bundle.
func (a *assignment) walk(bundle int32, do func(channel int32)) {
	s, lid := a.sources[int(bundle)/len(a.dests)], a.dests[int(bundle)%len(a.dests)]
	for {
		port := a.tables.LFT[s][lid]
		if port == routing.NoPath || a.channel[s][port] == none {
			return
		}
		a.work += linkWork
		do(a.channel[s][port])
		s = a.next[a.channel[s][port]]
	}
}

// spend counts the paths that were followed since the last time.
func (a *assignment) spend(ctx context.Context) {
	routing.Spend(ctx, a.work)
	a.work = 0
}

// assign finds a layer for each bundle, and gives layers their lanes.
func (a *assignment) assign(ctx context.Context, lanes int) (*routing.SLs, error) {
	layers := make([]*graph, lanes)
	for i := range layers {
		layers[i] = newGraph(len(a.key))
	}
	for _, g := range a.groups {
		for source := range a.sources {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for d := g[0]; d < g[1]; d++ {
				a.add(layers[0], int32(source*len(a.dests)+d))
			}
			a.spend(ctx)
		}
	}
	count, needed := make([]uint64, lanes), 1
	count[0] = a.paths
	// dependencies taken away, and after how many the last layer is looked at: twice as many each time
	moves, check := 0, 1
	for i := 0; i < lanes-1; i++ {
		for layers[i].findLoop(ctx) {
			needed = i + 2
			moved := a.moveWeakest(ctx, layers[i], layers[i+1], uint8(i))
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			count[i], count[i+1] = count[i]-moved, count[i+1]+moved
			if moves++; i == lanes-2 && moves >= check {
				if layers[lanes-1].hasLoop(ctx) {
					return nil, &TooFewLanes{Lanes: lanes} // no path leaves the last lane any more
				}
				check = 2 * moves
			}
		}
	}
	loop := layers[lanes-1].findLoop(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if loop {
		return nil, &TooFewLanes{Lanes: lanes}
	}
	a.count = count[:needed]
	base, split := balance(a.count, lanes)
	return a.sls(ctx, base, split)
}

// use is how many paths each lane has.
func (a *assignment) use(lanes int) *routing.LaneUse {
	base, split := balance(a.count, lanes)
	u := &routing.LaneUse{Available: lanes, Paths: a.count}
	for lane, layer := 0, 0; lane < lanes; lane++ {
		if layer+1 < len(base) && base[layer+1] == uint64(lane) {
			layer++
		}
		u.Even = append(u.Even, a.count[layer]/split[layer])
	}
	return u
}

// add adds the path of a bundle to a layer.
func (a *assignment) add(g *graph, bundle int32) {
	last := none
	weight := a.hosts[int(bundle)/len(a.dests)]
	a.walk(bundle, func(c int32) {
		g.touch(c, a.key)
		if last != none {
			g.depend(last, c, bundle, weight)
		}
		last = c
	})
}

// moveWeakest moves all bundles that make the weakest dependency of the loop found to the next layer,
// and returns how many paths they are. When ctx is done it stops.
func (a *assignment) moveWeakest(ctx context.Context, g, next *graph, layer uint8) (moved uint64) {
	for i, bundle := range g.cutWeakest() {
		if i%64 == 0 && ctx.Err() != nil {
			break
		}
		if a.layer[bundle] != layer {
			continue // moved before
		}
		weight := a.hosts[int(bundle)/len(a.dests)]
		last := none
		a.walk(bundle, func(c int32) {
			if last != none {
				g.release(last, c, weight)
			}
			last = c
		})
		a.add(next, bundle)
		a.layer[bundle] = layer + 1
		moved += weight
		a.spend(ctx)
	}
	return moved
}

// balance gives each layer a lane, and those with the most paths several where lanes are left: the
// first of each layer, and how many. count is the paths of each layer.
func balance(count []uint64, lanes int) (base, split []uint64) {
	base, split = make([]uint64, len(count)), make([]uint64, len(count))
	for i := range split {
		split[i] = 1
	}
	for range lanes - len(count) {
		best, most := 0, 0.0
		for i := range count {
			if mean := float64(count[i]) / float64(split[i]); mean > most {
				best, most = i, mean
			}
		}
		split[best]++
	}
	for i := 1; i < len(base); i++ {
		base[i] = base[i-1] + split[i-1]
	}
	for i := 1; i < len(base); i++ {
		if base[i] == uint64(i) {
			split[i] = 1 // OpenSM forgets how many lanes such a layer has, and uses its first
		}
	}
	return base, split
}

// sls are the SLs of all paths. The error is that of ctx.
func (a *assignment) sls(ctx context.Context, base, split []uint64) (*routing.SLs, error) {
	from, to := make([]int32, len(a.LIDs.Owner)), make([]int32, len(a.LIDs.Owner))
	for lid := range from {
		from[lid], to[lid] = none, none
	}
	row := make([]int32, len(a.switches))
	for i, s := range a.sources {
		row[s] = int32(i)
	}
	for i, lid := range a.dests {
		to[lid] = int32(i)
		if home, port := routing.Home(a.Topo, a.LIDs.PortOf(lid)); port != 0 {
			from[lid] = row[home]
		}
	}
	rows := make([][]uint8, len(a.sources))
	for i := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows[i] = a.layer[i*len(a.dests):][:len(a.dests)]
		for d, layer := range rows[i] {
			rows[i][d] = uint8(base[layer] + uint64(i+d)%split[layer])
		}
	}
	return routing.NewSLs(from, to, rows), nil
}
