package routes

import (
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/routing/routingtest"
	"ibsm/sweep/device"
	"ibsm/sweep/engines"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/topo/net"
)

// living is a fabric that changes, and what a manager knows of it from sweep to sweep.
type living struct {
	*routingtest.Living
	chain  engines.Chain
	order  Rerouting // of the routes computed next
	lanes  uint8     // of links between switches; 0 for unknown
	prev   *topo.Topo
	state  State
	rows   map[mad.GUID][]uint8 // in force, by switch
	spent  time.Duration        // of processors, for routes and their proof
	orders time.Duration        // and for the order in which they are written
}

// newLiving has no tables in force.
func newLiving(b testing.TB, spec string, names ...string) *living {
	b.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		b.Fatal(err)
	}
	f := &living{Living: routingtest.NewLiving(b, fabric, 0), rows: map[mad.GUID][]uint8{}}
	if f.chain, err = engines.New(names, &engines.Settings{}); err != nil {
		b.Fatal(err)
	}
	f.walk(b)
	return f
}

// adopt has the tables of another manager's min-hop in force.
func (f *living) adopt(b testing.TB) {
	b.Helper()
	tables, err := minhop.Route(b.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs})
	if err != nil {
		b.Fatal(err)
	}
	f.state.whose = foundRoutes
	f.keep(f.Topo, tables)
}

// in is what a sweep decides by.
func (f *living) in() In {
	t := f.Topo
	in := In{Topo: t, LIDs: f.LIDs, Ports: &device.Ports{}, Devices: device.NewRecord(), Prev: f.prev,
		First: f.prev == nil, Lanes: plan.Lanes(t, &plan.Values{MaxOpVLs: 15}), Chain: f.chain, Rerouting: f.order}
	for p := range in.Lanes {
		if f.lanes > 0 && t.BetweenSwitches(topo.PortIdx(p)) {
			in.Lanes[p] = f.lanes
		}
	}
	for _, n := range t.Switches {
		guid := t.Nodes[n].GUID
		in.Switches = append(in.Switches, device.Walked{Switch: device.Switch{GUID: guid, Row: f.rows[guid]}})
	}
	return in
}

// sweep decides on routes, which are in force then.
func (f *living) sweep(b testing.TB) Result {
	b.Helper()
	out, next := Decide(b.Context(), f.in(), f.state)
	if out.Tables == nil {
		b.Fatal(out.Err)
	}
	f.state, f.prev = next, f.Topo
	f.keep(f.Topo, out.Tables)
	return out
}

// route is the part of a sweep that computes routes.
func (f *living) route(b testing.TB) {
	b.Helper()
	in, was := f.in(), f.state
	d := &decision{In: &in, was: &was, next: was}
	a := &attempt{decision: d, chain: f.chain, rerouting: f.order}
	a.in = routing.In{Topo: in.Topo, LIDs: in.LIDs, Prev: in.previous(), Keep: a.keep(), Lanes: in.Lanes}
	begin := processorTime(b)
	r := a.choose(b.Context())
	routed := processorTime(b)
	if r == nil || r.report.Bad() > 0 || r.credit.Loop != nil {
		b.Fatal(d.out.Err)
	}
	if _, err := a.transition(b.Context(), r); err != nil {
		b.Fatal(err)
	}
	f.spent, f.orders = f.spent+routed-begin, f.orders+processorTime(b)-routed
	next := was
	next.whose, f.prev = d.next.whose, in.Topo
	if a.in.Keep == routing.KeepNone {
		next.whose = ownRoutes
	}
	next.report, next.sls, next.credit, next.rules, next.base = r.report, r.tables.SLs, r.credit, r.rules, r.base
	f.state = next
	f.keep(in.Topo, r.tables)
}

func processorTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (f *living) keep(t *topo.Topo, tables *routing.Tables) {
	for s, n := range t.Switches {
		f.rows[t.Nodes[n].GUID] = tables.LFT[s]
	}
}

// walk finds the fabric as it is now, with all links ACTIVE: packets pass all switches.
func (f *living) walk(b testing.TB) {
	f.Walk(b)
	for i := range f.Topo.Ports {
		if p := &f.Topo.Ports[i]; p.Peer != topo.None {
			p.Info.SetPortState(smp.PortActive)
		}
	}
	for _, p := range f.Topo.EndPorts {
		f.Topo.Ports[p].Info.SetLID(f.LIDs.Base[p])
	}
}
