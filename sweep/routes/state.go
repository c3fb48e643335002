package routes

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/repair"
	"ibsm/routing/verify"
	"ibsm/sweep/device"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// State is what sweeps know of the routes in force. A sweep begins with that of the one before and leaves its own.
// Nobody writes to what it points to. The zero value is for a subnet of which nothing is known.
type State struct {
	whose     whose
	by        routedBy
	engine    string           // Result.Engine of the last sweep that had tables
	members   *engines.Members // of port groups in files of engines; nil without any
	record    Record
	base      *base                       // nil where their engine needs none
	answers   *answers                    // of the engines in the last sweep; nil if none routed the subnet
	interim   *interim                    // what the routes serve for; nil where they are those of the engines
	ready     *EngineResult               // of interim; nil before it is there
	foreign   string                      // Result.Foreign
	closing   []repair.Route              // Result.Closing
	kept      []mad.GUID                  // switches that were in use when their tables were found, ascending
	report    *verify.Report              // of the tables computed last; nil without any
	sls       *routing.SLs                // likewise
	proof                                 // likewise
	readLanes bool                        // walks read the tables of lanes: sls may have to be fitted to them
	adaptive  map[mad.GUID]adaptiveSwitch // of switches where adaptive routing was on
}

// Abdicate forgets what another manager may change. What outlives mastership stays: which engine computed the routes
// last, and what it computed.
func (s *State) Abdicate() {
	s.Pause()
	s.by, s.adaptive = byChosen, nil
}

// Pause forgets what another manager may have changed for a moment.
func (s *State) Pause() {
	*s = State{
		by: s.by, engine: s.engine, record: s.record, answers: s.answers, foreign: s.foreign, closing: s.closing,
		report: s.report, proof: proof{credit: s.credit, rules: s.rules, trees: s.trees}, adaptive: s.adaptive,
	}
}

// After is the state that a sweep has left, to which an EngineResult may have come since it began.
func (s *State) After(left State) State {
	left.ready = nil
	if s.ready != nil && s.ready.of == left.interim {
		left.ready = s.ready
	}
	left.readLanes = s.readLanes && left.whose.adopted()
	return left
}

// ReadLanes has walks read the tables of lanes as long as routes of another manager are kept.
func (s *State) ReadLanes() { s.readLanes = true }

// LanesMatter reports whether a walk reads the tables of lanes because of routes: SLs may have to be fitted to them, or
// they may have to be written.
func (s *State) LanesMatter() bool { return s.readLanes || countSLs(s.sls) > 1 }

// SLs are those of paths by the tables computed last, nil where the engine leaves them to others.
func (s *State) SLs() *routing.SLs { return s.sls }

// Record is that of the routes computed last.
func (s *State) Record() Record { return s.record }

// Follow takes the record of routes that another manager has computed.
func (s *State) Follow(r Record) { s.record = r }

// Rerouting is which routes a sweep computes afresh because other engines are configured. Engines that nobody chose do
// not count as long as they do not route the subnet.
func (s *State) Rerouting(before, now engines.Chain) Rerouting {
	switch {
	case before.Equal(now):
		return KeepsRoutes
	case s.by != byChosen:
		return ReroutesByAll
	case before.Chosen().Equal(now.Chosen()):
		return KeepsRoutes
	case before.HasUnchosen():
		return Reroutes
	}
	return ReroutesByAll
}

// TreeSearch is a search for credit loops by the tables computed last among packets between hosts and of their trees,
// and the report of those between hosts; ok is false where these have a credit loop, or nothing is proved of them.
func (s *State) TreeSearch(t *topo.Topo, l *topo.LIDs) (hosts *creditloop.Report, search creditloop.In, ok bool) {
	if s.credit == nil || s.report == nil || s.credit.Loop != nil {
		return nil, search, false
	}
	search = proofOf(t, l, s.report.Forwarding(), s.sls, s.rules)
	search.Multicast = s.trees
	return s.credit, search, true
}

// whose says whose routes a sweep begins with, and then whose it leaves.
type whose uint8

const (
	ownRoutes      whose = iota // this manager's
	foundRoutes                 // another manager's: they are repaired, but not improved without a request
	recordedRoutes              // found, and they are those of the record: its engine goes on with them
	// nobody's: nothing uses the subnet, or nothing used most of it when it was found, or interim routes of another
	// manager serve
	coldRoutes
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
	outgrown bool // more than half of the switches were not in use when they were found
}

// begins is whose routes a sweep begins with, where the one before has left those of w.
func (w whose) begins(e evidence) whose {
	switch {
	case e.first && (e.cold || e.interim):
		return coldRoutes
	case e.first && e.recorded:
		return recordedRoutes
	case e.outgrown && (e.first && e.read || !e.first && w.adopted()):
		return coldRoutes
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

// begin sets whose routes the sweep begins with, which engines route the subnet, and what is known of adaptive routing.
func (d *decision) begin() {
	s, unchosen := d.was, d.Chain.HasUnchosen()
	e := evidence{
		first:  d.First,
		read:   slices.ContainsFunc(d.Switches, func(sw device.Walked) bool { return sw.Read }),
		serves: s.interim != nil && d.Rerouting == KeepsRoutes,
	}
	if e.first && s.record.found(d.Topo, d.Switches) {
		e.interim = s.record.Engine == interimRoutes
		e.recorded = unchosen && !e.interim
	}
	e.cold = e.first && unchosen && s.by == byChosen && isCold(d.Topo)
	next := &d.next
	next.kept = nil
	if e.first || s.whose.adopted() {
		next.kept = d.kept()
		e.outgrown = 2*len(next.kept) < len(d.Topo.Switches)
	}
	next.whose, next.by = s.whose.begins(e), byChosen
	if !next.whose.adopted() {
		next.kept = nil
	}
	if unchosen && (s.by == byAll || d.Rerouting == ReroutesByAll || next.whose == coldRoutes ||
		next.whose == recordedRoutes) {
		next.by = byAll
	}
	next.foreign, next.closing, next.answers, next.trees = "", nil, nil, nil
	next.adaptive = d.adaptive()
	d.out.ARMode = d.Settings.AR
	for _, n := range d.Topo.Switches {
		if d.Topo.Nodes[n].AR == topo.AROn && d.Settings.AR != DisableAR {
			d.out.AR++
		}
	}
}

// kept are the switches of the subnet that were in use when their tables were found.
func (d *decision) kept() (kept []mad.GUID) {
	t := d.Topo
	for _, n := range t.Switches { // by GUID
		guid := t.Nodes[n].GUID
		_, was := slices.BinarySearch(d.was.kept, guid)
		isNew := d.First || d.Prev == nil || d.Prev.FindNode(guid) == topo.None
		if was || isNew && inUse(t.Ports[t.Nodes[n].First:][:t.Nodes[n].NumPorts+1]) {
			kept = append(kept, guid)
		}
	}
	return kept
}

// isCold reports whether nothing uses a subnet: no port with a link is ARMED or ACTIVE.
func isCold(t *topo.Topo) bool { return !inUse(t.Ports) }

// inUse reports whether a port with a link is ARMED or ACTIVE.
func inUse(ports []topo.Port) bool {
	return slices.ContainsFunc(ports, func(p topo.Port) bool {
		return p.Num != 0 && p.Peer != topo.None && p.Info.PortState() >= smp.PortArmed
	})
}
