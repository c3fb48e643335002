package creditloop

import (
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Stops finds the port at which packets of an SL between two end ports stop because of their lanes, by their first
// LIDs. It says nothing of packets that have no route.
func (in *In) Stops(from, to topo.PortIdx, sl uint8) (f Finding, stop bool) {
	t, dest := in.Topo, in.LIDs.Base[to]
	f.Flow = Flow{Source: topo.None, SourceLID: in.LIDs.Base[from], Dest: dest, SL: sl}
	at, port := routing.Home(t, from)
	home, last := routing.Home(t, to)
	if at == topo.None || home == topo.None || dest == 0 || from == to {
		return f, false
	}
	if t.Nodes[t.Ports[from].Node].Type != mad.Switch {
		if f.Port = from; in.stops(&f, in.Maps.Table(0, from)) {
			return f, true
		}
	}
	for range routing.MaxTrace {
		out := last
		if at != home {
			if row := in.Forwarding.Rows[at]; int(dest) < len(row) {
				out = row[dest]
			} else {
				return f, false
			}
		}
		if out == 0 || out > t.Nodes[t.Switches[at]].NumPorts {
			return f, false // it is the switch's own, or dropped by the table
		}
		f.In, f.Port = port, t.Port(t.Switches[at], out)
		if in.stops(&f, in.Maps.Table(port, f.Port)) {
			return f, true
		}
		peer := t.Ports[f.Port].Peer
		if at == home || peer == topo.None || !t.IsSwitchPort(peer) {
			return f, false
		}
		at, port = t.SwitchOf(peer), t.Ports[peer].Num
	}
	return f, false
}

// stops reports whether packets of f's SL do not leave by f's port by its table, and why.
func (in *In) stops(f *Finding, table *routing.SLToVL) bool {
	f.VL = table.VL(f.SL)
	return in.stopsLane(f)
}

// stopsLane is stops for packets on f's VL.
func (in *In) stopsLane(f *Finding) bool {
	switch {
	case f.VL == routing.DropVL:
		f.Kind = Dropped
	case f.VL >= in.lanesAt(f.Port):
		f.Kind = NoLane
	case in.Turns != nil && in.Turns[f.Port]>>f.VL&1 == 0:
		f.Kind = NoTurn
	default:
		return false
	}
	return true
}
