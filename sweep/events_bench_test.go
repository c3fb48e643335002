package sweep

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
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
	"ibsm/sweep/lids"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/topo/net"
)

// living is a fabric that changes, and what a manager knows of it from sweep to sweep.
type living struct {
	*routingtest.Living
	chain  engines.Chain
	order  rerouting // of the routes computed next
	state  *state
	rows   map[mad.GUID][]uint8 // in force, by switch
	spent  time.Duration        // of processors, for routes and their proof
	orders time.Duration        // and for the order in which they are written
}

// newLiving has the tables of the engine tree in force, or adopted ones of another manager's min-hop.
func newLiving(b testing.TB, spec string, adopted bool) *living {
	b.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		b.Fatal(err)
	}
	list := []string{"tree"}
	if adopted {
		list = []string{"minhop"}
	}
	f := &living{Living: routingtest.NewLiving(b, fabric, 0), state: newState(Restored{}), rows: map[mad.GUID][]uint8{}}
	if f.chain, err = engines.New(list, &engines.Settings{}); err != nil {
		b.Fatal(err)
	}
	f.walk(b)
	if adopted {
		tables, err := minhop.Route(b.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs})
		if err != nil {
			b.Fatal(err)
		}
		f.state.whose = foundRoutes
		f.keep(f.Topo, tables)
	}
	f.route(b)
	return f
}

// route is the part of a sweep that computes routes.
func (f *living) route(b testing.TB) {
	b.Helper()
	t := f.Topo
	out := &SweepPlan{Topo: t, Assigned: lids.Assigned{LIDs: f.LIDs}}
	out.delta.whose = f.state.whose
	for _, n := range t.Switches {
		guid := t.Nodes[n].GUID
		out.delta.switches = append(out.delta.switches,
			device.Walked{Switch: device.Switch{GUID: guid, Row: f.rows[guid]}})
	}
	j := &RouteTask{state: f.state, chain: f.chain, reroute: f.order}
	a := &attempts{RouteTask: j, out: out, in: routing.In{Topo: t, LIDs: f.LIDs, Prev: previous(out), Keep: j.keep(out),
		Lanes: plan.Lanes(t, &plan.Values{MaxOpVLs: 15})}}
	begin := processorTime(b)
	r := a.choose(b.Context())
	routed := processorTime(b)
	if r == nil || r.report.Bad() > 0 || r.credit.Loop != nil {
		b.Fatal(out.Err)
	}
	if _, err := a.transition(b.Context(), r); err != nil {
		b.Fatal(err)
	}
	f.spent, f.orders = f.spent+routed-begin, f.orders+processorTime(b)-routed
	next := *f.state
	next.mastership, next.prev, next.whose = swept, t, out.delta.whose
	if a.in.Keep == routing.KeepNone {
		next.whose = ownRoutes
	}
	next.report, next.sls, next.credit, next.rules, next.base = r.report, r.tables.SLs, r.credit, r.rules, r.base
	f.state = &next
	f.keep(t, r.tables)
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
}

// lose takes a host away, a leaf, a spine, or the link of a leaf: the last one, as the manager is on the first.
func (f *living) lose(what string) {
	end := map[string]string{"link": "leaf", "leaf": "leaf", "spine": "spine", "host": "host"}[what]
	var name string
	for _, c := range slices.Backward(append(f.Cables(true), f.Cables(false)...)) {
		for _, e := range c {
			desc := f.Fabric.Nodes[e.Node].Desc
			if strings.HasPrefix(desc, end) && (name == "" || name == desc && what != "link") {
				name = desc
				f.Cut(c)
			}
		}
	}
}

// BenchmarkEvents computes routes and their proof, and the order in which they are written, when a link, a leaf, a
// spine and a host are lost and when they are back, and by an order to reroute by tree, beside those of a fresh run:
// with tables of the engine tree, and with adopted ones of min-hop. Beside the time it reports that of processors,
// which does not depend on what else runs. IBSM_PROOF=1 is for 11,664 hosts.
func BenchmarkEvents(b *testing.B) {
	spec := "fattree:k=16"
	if os.Getenv("IBSM_PROOF") == "1" {
		spec = "fattree:k=36"
	}
	for _, adopted := range []bool{false, true} {
		name := "own"
		if adopted {
			name = "adopted"
		}
		b.Run(name, func(b *testing.B) {
			f := newLiving(b, spec, adopted)
			run := func(what string, from *state) {
				rows := f.rows
				b.Run(what, func(b *testing.B) {
					f.spent, f.orders = 0, 0
					for b.Loop() {
						f.state, f.rows = from, maps.Clone(rows)
						f.route(b)
					}
					b.ReportMetric(float64(f.spent)/1e6/float64(b.N), "processor-ms/op")
					b.ReportMetric(float64(f.orders)/1e6/float64(b.N), "order-ms/op")
				})
			}
			first := f.state
			run("fresh", newState(Restored{}))
			f.state = first
			for _, what := range []string{"link", "leaf", "spine", "host"} {
				f.lose(what)
				f.walk(b)
				run(what+"-lost", f.state)
				for len(f.Lost) > 0 {
					f.Restore(len(f.Lost) - 1)
				}
				f.walk(b)
				run(what+"-returned", f.state)
			}
			var err error
			if f.chain, err = engines.New([]string{"tree"}, &engines.Settings{}); err != nil {
				b.Fatal(err)
			}
			f.order = reroutesByAll
			run("reroute", f.state)
		})
	}
}

// BenchmarkFresh computes all routes and their proof, by the engine tree and by min-hop: of 3,456 hosts, and with
// IBSM_PROOF=1 of 39,366. It reports the time of processors, and how much memory is allocated beside the tables, of
// which less is in use at any time.
func BenchmarkFresh(b *testing.B) {
	spec := "fattree:k=24"
	if os.Getenv("IBSM_PROOF") == "1" {
		spec = "fattree:k=54"
	}
	fabric, err := net.Generate(spec)
	if err != nil {
		b.Fatal(err)
	}
	whole := routingtest.NewLiving(b, fabric, 0)
	for _, name := range []string{"tree", "minhop"} {
		b.Run(name, func(b *testing.B) {
			f := &living{Living: whole, rows: map[mad.GUID][]uint8{}}
			if f.chain, err = engines.New([]string{name}, &engines.Settings{}); err != nil {
				b.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				f.state = newState(Restored{})
				clear(f.rows)
				f.route(b)
			}
			runtime.ReadMemStats(&after)
			tables := len(f.Topo.Switches) * routing.RowLen(f.LIDs.Top)
			b.ReportMetric(float64(f.spent)/1e6/float64(b.N), "processor-ms/op")
			b.ReportMetric((float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)-float64(tables))/1e6,
				"MB-beside-tables/op")
		})
	}
}
