package routes

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/priority"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
)

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
		name, engine := "own", "tree"
		if adopted {
			name, engine = "adopted", "minhop"
		}
		b.Run(name, func(b *testing.B) {
			f := newLiving(b, spec, engine)
			if adopted {
				f.adopt(b)
			}
			f.route(b)
			run := func(what string, from State, prev *topo.Topo) {
				rows := f.rows
				b.Run(what, func(b *testing.B) {
					f.spent, f.orders = 0, 0
					priority.Compute(func() { // as a task does
						for b.Loop() {
							f.state, f.prev, f.rows = from, prev, maps.Clone(rows)
							f.route(b)
						}
					})
					b.ReportMetric(float64(f.spent)/1e6/float64(b.N), "processor-ms/op")
					b.ReportMetric(float64(f.orders)/1e6/float64(b.N), "order-ms/op")
				})
			}
			first, prev := f.state, f.prev
			run("fresh", State{}, nil)
			f.state, f.prev = first, prev
			for _, what := range []string{"link", "leaf", "spine", "host"} {
				f.lose(what)
				f.walk(b)
				run(what+"-lost", f.state, f.prev)
				for len(f.Lost) > 0 {
					f.Restore(len(f.Lost) - 1)
				}
				f.walk(b)
				run(what+"-returned", f.state, f.prev)
			}
			var err error
			if f.chain, err = engines.New([]string{"tree"}, &engines.Settings{}); err != nil {
				b.Fatal(err)
			}
			f.order = ReroutesByAll
			run("reroute", f.state, f.prev)
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
				f.state, f.prev = State{}, nil
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
