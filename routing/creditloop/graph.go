package creditloop

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// graph is the channels and their dependencies. A channel is a number: switch * ports + port; on
// a lane it is lane * len(next) more.
type graph struct {
	In
	*routing.Forwarding
	*streams
	rules []Rules          // of In, and those of before if there are any
	lanes int              // 1 + the highest lane
	ports int              // of the switch with the most, port 0 included
	next  []topo.SwitchIdx // by channel: the switch that it leads to, None if it leads to no switch
	dests []bool           // by LID: packets come there

	sources []source // in order of switches
	used    []uint16 // by stream: SLs of its packets; nil if nothing can stop them
	// deps has, by (stream * SLs + SL) * words, a bit for each port of the switch that the stream
	// leads to: packets go on by that port.
	deps  []uint64
	words int
	// changed are the entries of all rules since an earlier report; nil where that is not known yet
	changed *changes
	// followed are the LIDs that descents have followed. All turns of packets to others, as far as these are not those
	// of the earlier report, lead to higher numbers.
	followed routing.LIDSet
}

// source is where packets start.
type source struct {
	at    topo.SwitchIdx
	class uint8          // of the ports that they come in by
	ports mcast.PortMask // those that they come in by, 0 for the switch itself
	flows []flow
}

// flow is what packets of a source have the SLs of, and one LID that sends such packets.
type flow struct {
	rows [2]int32 // of the SLs of each rules; negative for SL 0
	from mad.LID
}

func newGraph(in In) *graph {
	t := in.Topo
	in.Since = nil // or each report would keep all reports before it
	g := &graph{In: in, Forwarding: in.Forwarding, rules: []Rules{{in.Forwarding, in.SLs, in.Maps}},
		dests: make([]bool, len(in.LIDs.Owner))}
	if in.Before != nil {
		g.rules = append(g.rules, *in.Before)
	}
	for _, n := range t.Switches {
		g.ports = max(g.ports, int(t.Nodes[n].NumPorts)+1)
	}
	g.next = make([]topo.SwitchIdx, len(t.Switches)*g.ports)
	for s := range t.Switches {
		next := g.next[s*g.ports:][:g.ports]
		for port := range next {
			next[port] = g.Tracer.Next(topo.SwitchIdx(s), uint8(port))
		}
	}
	g.streams = newStreams(g)
	g.lanes = int(g.top()) + 1
	g.start()
	if g.checked() && g.mayStop() {
		g.used = make([]uint16, g.count)
	}
	g.words = (g.ports + 63) / 64
	g.deps = make([]uint64, g.sls*g.count*g.words)
	return g
}

// follows prepares a graph for other rows, by which nothing has been followed yet; otherwise the search is the same.
func (g *graph) follows(in In) {
	in.Since = nil
	g.In, g.Forwarding = in, in.Forwarding
	g.rules[0].Forwarding, g.rules[1].Forwarding = in.Forwarding, in.Before.Forwarding
	clear(g.deps)
	clear(g.used)
}

// checked reports whether something can stop packets other than other packets.
func (in *In) checked() bool {
	return in.Maps != nil || in.Lanes != nil || in.Turns != nil || in.Before != nil && in.Before.Maps != nil
}

// start finds where packets start, and where they come to.
func (g *graph) start() {
	at := make([]int, g.inputs) // by input: 1 + its index in sources
	for lid, p := range g.LIDs.Owner {
		s := g.Home(mad.LID(lid))
		if s == topo.None || g.Traffic != All && g.Topo.Nodes[g.Topo.Ports[p].Node].Type == mad.Switch {
			continue
		}
		g.dests[lid] = true
		if !g.sends(p) {
			continue
		}
		f := flow{from: mad.LID(lid)}
		for i, r := range g.rules {
			if r.SLs != nil && lid < len(r.SLs.From) {
				f.rows[i] = r.SLs.From[lid]
			}
		}
		_, port := routing.Home(g.Topo, p)
		class := g.classOf(s, port)
		input := g.input(s, class)
		if at[input] == 0 {
			g.sources = append(g.sources, source{at: s, class: class})
			at[input] = len(g.sources)
		}
		from := &g.sources[at[input]-1]
		from.ports.Add(port)
		if !slices.ContainsFunc(from.flows, func(o flow) bool { return o.rows == f.rows }) {
			from.flows = append(from.flows, f)
		}
	}
	slices.SortFunc(g.sources, func(a, b source) int {
		return int(g.input(a.at, a.class)) - int(g.input(b.at, b.class))
	})
}

// sends reports whether an end port sends packets of the traffic that is followed.
func (g *graph) sends(p topo.PortIdx) bool {
	return g.Traffic == All || !g.Topo.Nodes[g.Topo.Ports[p].Node].Aggregation
}

// slsOf are the SLs of packets to a LID from a source.
func (g *graph) slsOf(from *source, lid int) (sls uint16) {
	if g.sls == 1 {
		return 1
	}
	for i := range from.flows {
		sls |= g.slsOfFlow(&from.flows[i], lid)
	}
	return sls
}

func (g *graph) slsOfFlow(f *flow, lid int) (sls uint16) {
	for i := range g.rules {
		sl := uint8(0)
		if s := g.rules[i].SLs; s != nil && f.rows[i] >= 0 && lid < len(s.To) && s.To[lid] >= 0 {
			sl = s.Rows[f.rows[i]][s.To[lid]]
		}
		sls |= 1 << sl
	}
	return sls
}

// takes reports whether packets to a LID leave a switch by a port, by any rules.
func (g *graph) takes(s topo.SwitchIdx, port uint8, lid int) bool {
	return g.egress(0, s, lid) == port || len(g.rules) > 1 && g.egress(1, s, lid) == port
}

// egress is the port by which packets to a LID leave a switch by some rules, NoPath for none.
func (g *graph) egress(rules int, s topo.SwitchIdx, lid int) uint8 {
	if row := g.rules[rules].Forwarding.Rows[s]; lid < len(row) && int(row[lid]) < g.ports {
		return row[lid]
	}
	return routing.NoPath
}
