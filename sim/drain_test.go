package sim_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/routing/updn"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/view"
)

// probes sends packets between random hosts after each event, for a time. All must arrive.
func (b *harness) probes(t *testing.T, what string, d time.Duration, hosts []net.End) {
	t.Helper()
	rng, lost := rand.New(rand.NewPCG(1, 1)), 0
	b.Run(b.Fabric.Now()+d, func() bool {
		for range 4 {
			from, to := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
			info := b.Fabric.PortInfo(to)
			if hops, end := b.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil); end != fabric.Delivered {
				t.Errorf("%s: a packet from %v to %v is lost: %v, %v", what, from, to, end, hops)
				lost++
			}
		}
		return lost > 3
	})
}

// passes is how many ways between hosts lead through a switch.
func (b *harness) passes(hosts []net.End, node int32) (n int) {
	for _, from := range hosts {
		for _, to := range hosts {
			info := b.Fabric.PortInfo(to)
			hops, _ := b.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil)
			if slices.ContainsFunc(hops, func(h fabric.Hop) bool { return h.Node == node }) {
				n++
			}
		}
	}
	return n
}

// TestDrain drains a switch, switches it off, on, and undrains it: no packet between hosts is lost, and while it is
// drained none passes it. A manager that takes over in between, with the same file, leaves routes as they are.
func TestDrain(t *testing.T) {
	for _, c := range []struct{ engine, spec, node string }{
		{"minhop", "fattree:k=4", "spine-01"}, {"tree", "fattree:k=8", "spine-01"}, {"tree", "fattree:k=8", "agg-01"},
		{"updn", "fattree:k=4", "agg-01"},
	} {
		t.Run(c.engine+" "+c.node, func(t *testing.T) {
			n := nettest.Generate(t, c.spec)
			b := newHarness(t, n, fabric.Config{Seed: 1})
			cfg := chainConfig(t, engines.Settings{Updn: updn.Settings{ConnectRoots: true}}, c.engine)
			m := b.comeUp(cfg)
			first := b.lfts()
			node := int32(slices.IndexFunc(n.Nodes, func(o net.Node) bool { return o.Desc == c.node }))
			if node < 0 {
				t.Fatal("no such switch")
			}
			var hosts []net.End
			for i := range n.Nodes {
				if n.Nodes[i].Type != mad.Switch {
					hosts = append(hosts, net.End{Node: int32(i), Port: 1})
				}
			}
			if b.passes(hosts, node) == 0 {
				t.Fatal("nothing passes it")
			}
			drained := cfg
			drained.Sweep.Drained = []routing.SwitchPort{{Switch: n.Nodes[node].GUID}}
			b.Configure(m.Manager, drained)
			b.probes(t, "drain", settling, hosts)
			if got := m.View.Drained; len(got) != 1 || got[0].State != view.DrainEmpty || b.passes(hosts, node) > 0 {
				t.Errorf("%+v, %d ways pass it", got, b.passes(hosts, node))
			}
			if c.engine != "updn" { // which has no routes between some switches
				b.mustBeWhole(m)
			}
			b.Fabric.NodeDown(node)
			b.probes(t, "off", settling, hosts)
			before := b.lfts()
			m.retire()
			m = b.add(host(n, 3), drained)
			b.probes(t, "takeover", settling, hosts)
			if len(changed(before, b.lfts())) > 0 {
				t.Error("a takeover changes routes")
			}
			if got := m.View.Drained; len(got) != 1 || got[0].State != view.DrainAbsent {
				t.Errorf("switched off: %+v", got)
			}
			b.Fabric.NodeUp(node)
			b.probes(t, "on", settling, hosts)
			if b.passes(hosts, node) > 0 {
				t.Error("ways pass it as soon as it is on")
			}
			b.Configure(m.Manager, cfg)
			b.probes(t, "undrain", settling, hosts)
			if c.engine == "minhop" { // the routes that it found are kept, and use no links that were not there
				m.sweep(manager.Reroute)
				b.pass(settling)
			}
			if c.engine != "updn" {
				b.mustBeWhole(m)
			}
			if c.engine == "tree" && len(changed(first, b.lfts())) > 0 {
				t.Error("routes are not as before")
			}
			if b.passes(hosts, node) == 0 {
				t.Error("undrained, and nothing passes it")
			}
		})
	}
}
