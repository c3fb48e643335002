package creditloop

import (
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// MaxFindings is the number of findings that a Report names.
const MaxFindings = 16

// Kind says what stops packets at a port.
type Kind uint8

// Kinds of findings.
const (
	Dropped Kind = iota // the SL to VL mapping table has VL15
	NoLane              // the link has no such lane
	NoTurn              // the lane gets no turn by the arbitration tables
)

// Finding is a port at which packets that come in by another port do not leave.
type Finding struct {
	Kind Kind
	Port topo.PortIdx // by which they would leave
	In   uint8        // number of a port by which they come in, 0 for those that start at Port's node
	VL   uint8        // that the SL is mapped to
	Flow
}

// findings are the findings about the packets that have been followed.
func (g *graph) findings() (found []Finding) {
	if g.used == nil {
		return nil
	}
	for s, n := range g.Topo.Switches {
		for port := 1; port <= int(g.Topo.Nodes[n].NumPorts) && len(found) < MaxFindings; port++ {
			if g.Topo.Ports[g.Topo.Port(n, uint8(port))].Peer != topo.None {
				found = g.atPort(found, topo.SwitchIdx(s), uint8(port))
			}
		}
	}
	return g.atEndPorts(found[:min(len(found), MaxFindings)])
}

// mayStop reports whether some port stops packets of some SL: only then it matters which SLs come there.
func (g *graph) mayStop() bool {
	for s, n := range g.Topo.Switches {
		for port := 1; port <= int(g.Topo.Nodes[n].NumPorts); port++ {
			p := g.Topo.Port(n, uint8(port))
			if g.Topo.Ports[p].Peer == topo.None {
				continue
			}
			for class := range uint8(g.classCount(topo.SwitchIdx(s))) {
				stream := g.stream(topo.SwitchIdx(s), uint8(port), class)
				if g.stopsAny(p, func(rules int) *routing.SLToVL { return g.tableOf(rules, stream) }) {
					return true
				}
			}
		}
	}
	return slices.ContainsFunc(g.LIDs.Owner, func(p topo.PortIdx) bool {
		return p != topo.None && g.stopsAny(p, func(rules int) *routing.SLToVL {
			return g.rules[rules].Maps.Table(0, p)
		})
	})
}

func (g *graph) stopsAny(p topo.PortIdx, table func(rules int) *routing.SLToVL) bool {
	for sl := range uint8(g.sls) {
		if g.stops(&Finding{Port: p}, sl, table) {
			return true
		}
	}
	return false
}

// atPort adds the findings at a port of a switch.
func (g *graph) atPort(found []Finding, s topo.SwitchIdx, port uint8) []Finding {
	for class := range uint8(g.classCount(s)) {
		stream := g.stream(s, port, class)
		for sls := g.used[stream]; sls != 0; sls &= sls - 1 {
			sl := uint8(bits.TrailingZeros16(sls))
			f := Finding{Port: g.Topo.Port(g.Topo.Switches[s], port)}
			if g.stops(&f, sl, func(rules int) *routing.SLToVL { return g.tableOf(rules, stream) }) {
				f.Flow = g.flow(s, port, class, sl, topo.None)
				f.In = g.inputOf(s, class, &f.Flow)
				found = append(found, f)
			}
		}
	}
	return found
}

// stops reports whether packets of an SL do not leave by f's port, by the table that any rules have
// there, and why.
func (g *graph) stops(f *Finding, sl uint8, table func(rules int) *routing.SLToVL) bool {
	for i := range g.rules {
		if f.VL = table(i).VL(sl); g.stopsLane(f) {
			return true
		}
	}
	return false
}

// inputOf is a port of a class by which packets reach a switch: the port of the end port if they start there.
func (g *graph) inputOf(s topo.SwitchIdx, class uint8, f *Flow) uint8 {
	if f.Source == s {
		if _, port := routing.Home(g.Topo, g.LIDs.PortOf(f.SourceLID)); g.classOf(s, port) == class {
			return port
		}
	}
	for port := range g.ports {
		if g.classOf(s, uint8(port)) == class {
			return uint8(port)
		}
	}
	return 0
}

// atEndPorts adds the findings at end ports.
func (g *graph) atEndPorts(found []Finding) []Finding {
	for lid, p := range g.LIDs.Owner {
		if g.Home(mad.LID(lid)) == topo.None || g.Topo.Nodes[g.Topo.Ports[p].Node].Type == mad.Switch || !g.sends(p) {
			continue
		}
		for sl := range uint8(g.sls) {
			if len(found) == MaxFindings {
				return found
			}
			f := Finding{Port: p, Flow: Flow{Source: topo.None, SourceLID: mad.LID(lid), SL: sl}}
			if g.stops(&f, sl, func(rules int) *routing.SLToVL { return g.rules[rules].Maps.Table(0, p) }) {
				if f.Dest = g.sent(mad.LID(lid), sl); f.Dest != 0 {
					found = append(found, f)
				}
			}
		}
	}
	return found
}

// sent is the lowest LID to which an end port sends packets of an SL, 0 if there is none.
func (g *graph) sent(from mad.LID, sl uint8) mad.LID {
	for lid, is := range g.dests {
		if !is {
			continue
		}
		for i := range g.rules {
			if g.rules[i].SLs.Of(from, mad.LID(lid)) == sl {
				return mad.LID(lid)
			}
		}
	}
	s, port := routing.Home(g.Topo, g.LIDs.PortOf(from))
	for i := range g.Multicast {
		if group := &g.Multicast[i]; group.SL == sl && group.Tree.Ports(s).Has(port) {
			return group.Tree.MLID
		}
	}
	return 0
}
