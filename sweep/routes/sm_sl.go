package routes

import (
	"slices"

	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// SAStops are ports that stop packets between end ports and the SA on the SL of sm_sl, because of their lanes.
type SAStops struct {
	Ports []creditloop.Finding // up to creditloop.MaxFindings
	Ends  int                  // end ports of which such packets stop
}

// stopsToSA follows the packets to and from the SA. If engines choose SLs, theirs are proved together with those
// between hosts; SL 0 passes ports whose lanes were never written.
func (a *attempt) stopsToSA(r *routed) (found SAStops) {
	sl, t := a.Settings.SMSL, a.Topo
	if sl == 0 || r.rules == nil || r.tables.SLs != nil || t.Self == topo.None {
		return found
	}
	in := a.search(r)
	for _, p := range t.EndPorts {
		stopped := false
		for _, way := range [2][2]topo.PortIdx{{p, t.Self}, {t.Self, p}} {
			f, is := in.Stops(way[0], way[1], sl)
			if !is {
				continue
			}
			stopped = true
			known := slices.ContainsFunc(found.Ports, func(o creditloop.Finding) bool {
				return o.Port == f.Port && o.In == f.In
			})
			if !known && len(found.Ports) < creditloop.MaxFindings {
				found.Ports = append(found.Ports, f)
			}
		}
		if stopped {
			found.Ends++
		}
	}
	return found
}
