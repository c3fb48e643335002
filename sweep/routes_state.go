package sweep

import (
	"slices"

	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/repair"
	"ibsm/routing/verify"
	"ibsm/sweep/device"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// routesState is what sweeps know of the routes in force. A task begins with that of the sweep before and leaves its
// own. Nobody writes to what it points to.
type routesState struct {
	whose     whose
	by        routedBy
	engine    string           // SweepPlan.Engine of the last plan that had tables
	members   *engines.Members // of port groups in files of engines; nil without any
	record    RoutesRecord
	base      *base          // nil where their engine needs none
	answers   *answers       // of the engines in the last sweep; nil if none routed the subnet
	interim   *interim       // what the routes serve for; nil where they are those of the engines
	ready     *EngineResult  // of interim; nil before it is there
	foreign   string         // SweepPlan.Foreign
	closing   []repair.Route // SweepPlan.Closing
	report    *verify.Report // of the tables computed last; nil without any
	sls       *routing.SLs   // likewise
	proof                    // likewise
	readLanes bool           // walks read the tables of lanes: sls may have to be fitted to them
}

// forgetMastership leaves what outlives it: which engine computed the routes last, and what it computed.
func (r *routesState) forgetMastership() {
	r.whose = ownRoutes
	r.sls, r.fitting, r.readLanes, r.base, r.members = nil, Fitting{}, false, nil, nil
	r.interim, r.ready = nil, nil
}

// after is the state that a task has left, to which an EngineResult may have come since it began.
func (r *routesState) after(left routesState) routesState {
	left.ready = nil
	if r.ready != nil && r.ready.of == left.interim {
		left.ready = r.ready
	}
	left.readLanes = r.readLanes && left.whose.adopted()
	return left
}

// whose says whose routes a sweep begins with, and then whose it leaves.
type whose uint8

const (
	ownRoutes      whose = iota // this manager's
	foundRoutes                 // another manager's: they are repaired, but not improved without a request
	recordedRoutes              // found, and they are those of the record: its engine goes on with them
	coldRoutes                  // nobody's: nothing uses the subnet, or interim routes of another manager serve
)

// adopted reports whether routes are another manager's.
func (w whose) adopted() bool { return w == foundRoutes || w == recordedRoutes }

// evidence is what a sweep knows of the routes before it computes any.
type evidence struct {
	first    bool // no sweep has been completed in this term of mastership
	read     bool // the walk has read tables of switches
	cold     bool // nothing uses the subnet, and nobody chose an engine
	interim  bool // the tables are those of the record, which is of interim routes
	recorded bool // the tables are those of the record, and nobody chose an engine
	serves   bool // the routes in force are interim ones, and stay
}

// begins is whose routes a sweep begins with, where the one before has left those of w.
func (w whose) begins(e evidence) whose {
	switch {
	case e.first && (e.cold || e.interim):
		return coldRoutes
	case e.first && e.recorded:
		return recordedRoutes
	case e.first && e.read, w == foundRoutes, w == recordedRoutes && !e.serves:
		return foundRoutes
	case w == recordedRoutes:
		return recordedRoutes
	}
	return ownRoutes
}

// routedBy is which engines of the chain route the subnet.
type routedBy uint8

const (
	byChosen routedBy = iota // those that somebody chose
	// also those that nobody chose: it was not in use, its routes are recorded, or were computed afresh by an order
	byAll
)

// decide sets whose routes the sweep begins with, and which engines route the subnet.
func (j *RouteTask) decide(t *topo.Topo, d *delta) {
	s, unchosen := j.state, j.chain.HasUnchosen()
	e := evidence{
		first:  s.mastership != swept,
		read:   slices.ContainsFunc(d.switches, func(sw device.Walked) bool { return sw.Read }),
		serves: s.interim != nil && j.reroute == keepsRoutes,
	}
	if e.first && s.record.found(t, d.switches) {
		e.interim = s.record.Engine == interimRoutes
		e.recorded = unchosen && !e.interim
	}
	e.cold = e.first && unchosen && s.by == byChosen && isCold(t)
	d.whose, d.by = s.whose.begins(e), byChosen
	if unchosen && (s.by == byAll || j.reroute == reroutesByAll || d.whose == coldRoutes || d.whose == recordedRoutes) {
		d.by = byAll
	}
}

// isCold reports whether nothing uses a subnet: no port with a link is ARMED or ACTIVE.
func isCold(t *topo.Topo) bool {
	return !slices.ContainsFunc(t.Ports, func(p topo.Port) bool {
		return p.Num != 0 && p.Peer != topo.None && p.Info.PortState() >= smp.PortArmed
	})
}
