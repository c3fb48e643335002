package sim_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/priority"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/view"
)

// BenchmarkEvents shows what a manager does about a link, ten links, a leaf switch, a top switch and a host that are
// lost: entries of tables that change, blocks that are written, and the time of processors, of the task (routes, their
// proof, the plan; the Topo, LIDs and P_Key tables too) and of the core, collections of garbage included. The tables
// are those of the engine tree, or adopted ones of another manager's min-hop. The subnets have 1,024 hosts; with
// IBSM_PROOF=1 11,664 and 39,366. Of several runs it shows the median.
func BenchmarkEvents(b *testing.B) {
	specs := []string{"fattree:k=16"}
	if os.Getenv("IBSM_PROOF") == "1" {
		specs = []string{"fattree:k=36", "fattree:k=54"}
	}
	var rows strings.Builder
	for _, spec := range specs {
		for _, engine := range []string{"tree", "minhop"} {
			b.Run(spec+"/"+engine, func(b *testing.B) {
				e := newEvents(b, spec, engine)
				for b.Loop() {
					e.run()
				}
				e.report(&rows, spec, engine)
			})
		}
	}
	fmt.Printf("\n| lost | hosts | tables | entries changed | blocks written | task, ms | core, ms |\n"+
		"| --- | --- | --- | --- | --- | --- | --- |\n%s", rows.String())
}

// events are what a manager is measured at.
type events struct {
	*harness
	m    *watched
	core time.Duration // since the last event
	all  map[string][]work
}

// work is what an event took.
type work struct {
	entries, blocks int
	task, core      time.Duration
}

var eventNames = []string{"link", "ten links", "leaf switch", "top switch", "host"}

func newEvents(b *testing.B, spec, engine string) *events {
	n := nettest.Generate(b, spec)
	e := &events{harness: newHarness(b, n, fabric.Config{Seed: 1, TrainTime: 20 * time.Millisecond}),
		all: map[string][]work{}}
	cfg := minhopConfig()
	cfg.SweepInterval = 0 // traps report all
	if engine == "tree" {
		var err error
		if cfg.Sweep.Engines, err = engines.New([]string{engine}, &engines.Settings{}); err != nil {
			b.Fatal(err)
		}
	}
	e.m = e.comeUp(cfg)
	if engine != "tree" { // the next manager finds the tables of this one
		e.Kill(e.m.Manager)
		e.m = e.comeUp(cfg)
	}
	e.Clock = priority.Ran
	e.StepTook = func(_ manager.Event, took time.Duration) { e.core += took }
	return e
}

// run has all be lost, and come back each time.
func (e *events) run() {
	n, top := e.net, int32(-1)
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch && !slices.ContainsFunc(n.Nodes[i].Ports, func(p net.Port) bool {
			return p.Peer.Node >= 0 && n.Nodes[p.Peer.Node].Type != mad.Switch
		}) {
			top = int32(i) // the last one has links to other switches only
		}
	}
	links := func(count int) (ends []net.End) {
		for i := range count {
			ends = append(ends, uplink(n, e.Fabric.Peer(host(n, 100+i*70)).Node))
		}
		return ends
	}
	some := links(10)
	e.lose("link", func() { e.Fabric.LinkDown(some[0]) }, func() { e.Fabric.LinkUp(some[0]) })
	each := func(do func(net.End)) func() {
		return func() {
			for _, at := range some {
				do(at)
			}
		}
	}
	e.lose("ten links", each(e.Fabric.LinkDown), each(e.Fabric.LinkUp))
	node := func(what string, node int32) {
		e.lose(what, func() { e.Fabric.NodeDown(node) }, func() { e.Fabric.NodeUp(node) })
	}
	node("leaf switch", e.Fabric.Peer(host(n, 600)).Node)
	node("top switch", top)
	node("host", host(n, 700).Node)
}

// tableSets is how many blocks of forwarding tables have been written.
func (e *events) tableSets() (count int) {
	for k, n := range e.Fabric.Stats().SMPs {
		if k.Method == mad.MethodSet && k.Attr == smp.AttrLinearForwardingTable {
			count += int(n)
		}
	}
	return count
}

// lose measures a loss, and passes over the return.
func (e *events) lose(what string, lose, restore func()) {
	e.Helper()
	before := e.m.View
	e.core, e.m.Busy = 0, 0
	sets := e.tableSets()
	lose()
	e.pass(20 * time.Second)
	after := e.m.View
	e.all[what] = append(e.all[what], work{entries: changedEntries(before, after), blocks: e.tableSets() - sets,
		task: e.m.Busy - e.core, core: e.core})
	restore()
	e.pass(2 * time.Minute)
}

// changedEntries counts the entries of switches in both views that are not what they were.
func changedEntries(before, after *view.View) (count int) {
	for s, n := range after.Topo.Switches {
		if was := before.Topo.FindNode(after.Topo.Nodes[n].GUID); was != topo.None {
			row := before.Tables.LFT[before.Topo.Nodes[was].Switch]
			routing.Unequal(row, after.Tables.LFT[s], func(int) { count++ })
		}
	}
	return count
}

// report adds the medians of all events to a table.
func (e *events) report(rows *strings.Builder, spec, engine string) {
	hosts := 0
	for i := range e.net.Nodes {
		if e.net.Nodes[i].Type != mad.Switch {
			hosts++
		}
	}
	whose := map[string]string{"tree": "own", "minhop": "adopted"}[engine]
	for _, what := range eventNames {
		all := e.all[what]
		slices.SortFunc(all, func(a, b work) int { return int(a.task - b.task) })
		w := all[len(all)/2]
		fmt.Fprintf(rows, "| %s | %d | %s | %d | %d | %d | %d |\n", what, hosts, whose, w.entries, w.blocks,
			w.task.Milliseconds(), w.core.Milliseconds())
	}
}
