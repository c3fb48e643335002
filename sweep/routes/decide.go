// Package routes decides which routes a subnet gets: which engine computes them, how much of the routes in force stays,
// what is proved of them, and in which order switches take them over.
package routes

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/lanes"
	"ibsm/routing/mcast"
	"ibsm/routing/repair"
	"ibsm/routing/verify"
	"ibsm/sweep/device"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// In is a snapshot of what the routes of a sweep depend on. Nobody writes to it while Decide runs, but for Sick.
type In struct {
	Topo       *topo.Topo
	LIDs       *topo.LIDs
	Switches   []device.Walked // by SwitchIdx
	Ports      *device.Ports
	Devices    *device.Record
	Partitions *partitions.Tables
	Lanes      []uint8       // VLs of links, by port
	Reserved   []mad.LID     // LIDs that may be in use somewhere: their entries stay everywhere
	Groups     []mcast.Group // multicast trees that the proof covers
	Prev       *topo.Topo    // the subnet as the last sweep left it; nil before one was completed
	Before     *topo.Topo    // where Prev is nil because of a pause: the subnet as it was until then
	First      bool          // no sweep has been completed in this term of mastership
	// Sick are links, by one port of each, that Topo says are unhealthy and that routes may pass if they lack something
	// else, those found last at the end. Decide marks those as healthy that routes pass.
	Sick []topo.PortIdx

	Chain     engines.Chain
	Rerouting Rerouting
	Settings  Settings
	MayServe  bool // interim routes may serve
	Workers   routing.Workers
}

// Settings are those of the operator that routes depend on.
type Settings struct {
	SMSL uint8      // MasterSMSL of every end port
	QoS  bool       // the tables of lanes are written, by Uses
	Uses lanes.Uses // of lanes by ports
	AR   ARMode
}

// Rerouting is which routes a sweep computes afresh.
type Rerouting uint8

const (
	KeepsRoutes Rerouting = iota // those that do not work, and those that a link was added for
	// Regroups is all but another manager's: a switch or end port has come into a port group of the engines, or left
	// one.
	Regroups
	// Reroutes is all, by the engines that route the subnet already: those that nobody chose only if they do.
	Reroutes
	ReroutesByAll // all, also by engines that nobody chose
)

// Result are the routes that a subnet gets.
type Result struct {
	Tables     *routing.Tables // nil when routing failed or waits for adaptive routing to be off
	Err        error           // no engine routes the subnet
	Keep       routing.Keep
	Transition Transition // to Tables
	Choice
	Proved
	// Lanes is the wanted use of lanes by ports, nil where that is left as it was found: also without routes.
	Lanes *lanes.Uses
	// TurnOff are the switches on which adaptive routing and what depends on it go off before tables are written.
	TurnOff []topo.SwitchIdx
	Passed  []topo.PortIdx // of In.Sick, the links that routes pass all the same
	ARMode  ARMode
	AR      int // switches on which adaptive routing is on and is not turned off by DisableAR
}

// Choice is which engine the routes of a Result are from, and why.
type Choice struct {
	Engine  string            // that computed Tables; "" without Tables
	Awaited string            // the engine at work, where Tables are interim routes; else ""
	Taken   bool              // Tables take the place of interim routes
	Seen    string            // what kind of fabric it is, where the chain has auto
	Refused []engines.Refusal // by engines that were tried before Engine
	Unknown engines.Named     // what Engine's files name that is not there
	Members *engines.Members  // of port groups in files of engines; nil where they name none
	Foreign string            // the chosen engine, where it would compute other tables than those found, which are kept
	Unused  bool              // links were added that adopted routes do not use
}

// Proved is what is known of the Tables of a Result.
type Proved struct {
	Report    *verify.Report // of Tables
	BeforeCut *verify.Report // of the engine's tables, if they had loops that were cut
	// among routes between hosts and multicast trees, on the lanes that ports will have; nil without any
	CreditLoop []creditloop.Channel
	// with CreditLoop: repaired routes, up to repair.MaxUnavoidable, to which no way was found that adds none
	Closing   []repair.Route
	Stopped   []creditloop.Finding // ports that stop packets between hosts, whose lane they lack
	StoppedSA SAStops              // those that stop packets to and from the SA
	Fitting   Fitting              // of SLs to tables found
}

// decision is one under way.
type decision struct {
	*In
	was  *State // that the sweep before has left; read only
	next State
	out  Result
}

// Decide is which routes a subnet gets, and the state for the next sweep, from that of the last one. It is of no use
// when ctx is done. The result has tables alone, and must not be written, where Fitting.State is LanesFirst.
func Decide(ctx context.Context, in In, was State) (Result, State) {
	d := &decision{In: &in, was: &was, next: was}
	d.begin()
	d.routeAvoiding(ctx)
	for _, r := range []*verify.Report{d.out.Report, d.out.BeforeCut} {
		if r != nil {
			r.Forwarding().DropComparisons()
		}
	}
	if d.out.Fitting.State != LanesFirst && ctx.Err() == nil {
		d.out.TurnOff = d.turnOff(ctx)
	}
	if d.out.Tables != nil {
		d.out.Lanes = in.Settings.uses(d.next.sls, d.next.fitting.State == Fitted)
	}
	return d.out, d.next
}

// route takes the tables that the subnet gets.
func (d *decision) route(ctx context.Context) {
	out, t := &d.out, d.Topo
	if out.RoutesHeld() {
		return
	}
	a := &attempt{decision: d, chain: d.Chain, rerouting: d.Rerouting}
	if a.chain.Grouped() {
		a.chain, out.Members = a.chain.WithMembers(t, d.Partitions, d.was.members)
		if out.Members.Changed(d.was.members) {
			a.rerouting = max(a.rerouting, Regroups)
		}
	}
	a.in = routing.In{Topo: t, LIDs: d.LIDs, Prev: d.previous(), Keep: a.keep(), Lanes: d.In.Lanes,
		Tenants: tenants(t, d.Partitions), Workers: d.Workers}
	if a.in.Prev == nil {
		a.in.Keep = routing.KeepNone
	}
	if a.in.Keep == routing.KeepNone {
		d.next.whose = ownRoutes
	}
	if d.next.by == byChosen {
		a.chain = a.chain.Chosen()
	}
	if a.chain, out.Seen = a.chain.For(t); d.next.whose == recordedRoutes {
		a.chain = d.was.record.from(a.chain)
	}
	d.next.interim = nil
	r := a.chooseInTime(ctx)
	if r == nil {
		d.next.interim = d.was.interim
		return
	}
	out.Taken = d.was.interim != nil && d.next.interim == nil
	var err error
	if out.Transition, err = a.transition(ctx, r); err == nil { // else ctx is done
		a.take(r)
	}
}

// tenants are the hosts that exchange packets by the partitions that they are about to get.
func tenants(t *topo.Topo, parts *partitions.Tables) *routing.Tenants {
	return routing.NewTenants(t, func(p topo.PortIdx) *topo.PKeyTable { return parts.Table(t, p) })
}

// keep decides how much of the previous tables stays. Routes of another manager stay as long
// as they work. Our own stay until a link between switches is added, so that new links are
// used.
func (a *attempt) keep() routing.Keep {
	adopted := a.next.whose.adopted()
	switch {
	case a.rerouting > Regroups || a.Prev == nil && !adopted:
		return routing.KeepNone
	case adopted:
		return routing.KeepWorking
	case a.rerouting == Regroups || linksAdded(a.Prev, a.Topo):
		return routing.KeepNone
	}
	return routing.KeepMinimal
}

// take takes routes for the result, and what the next sweep must know of them.
func (a *attempt) take(r *routed) {
	out, t, next, tables := &a.out, a.Topo, &a.next, r.tables
	if r.base != nil && r.base.uneven {
		out.Foreign = r.engine.Name
	}
	if next.base = r.base; next.base == nil && slices.ContainsFunc(a.chain, func(e engines.Engine) bool {
		return a.was.base != nil && e.Name == a.was.base.engine
	}) {
		next.base = a.was.base // its engine may route the next subnet again
	}
	if next.interim == nil {
		next.answers = a.newAnswers(r)
	}
	out.Unknown = r.engine.Unknown(t)
	next.engine, next.members = r.engine.Name, out.Members
	next.foreign = out.Foreign
	out.Engine, out.Keep, out.Report, out.BeforeCut, out.Tables = r.engine.Name, r.keep, r.report, r.beforeCut, tables
	out.Unused = r.keep == routing.KeepWorking && a.Prev != nil && linksAdded(a.Prev, t) && r.base.lacks(t)
	if out.Closing = r.closing; out.Closing == nil && r.credit.Loop != nil && r.keep == routing.KeepWorking {
		out.Closing = a.was.closing
	}
	next.closing = out.Closing
	out.Fitting, out.CreditLoop, out.Stopped = r.fitting, r.credit.Loop, r.credit.Findings
	next.report, next.sls, next.proof = r.report, tables.SLs, r.proof
	out.StoppedSA = a.stopsToSA(r)
	next.record = a.record(r)
	a.shareRows(tables)
}
