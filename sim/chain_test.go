package sim_test

import (
	"slices"
	"strings"
	"testing"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing/lash"
	"ibsm/routing/updn"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/view"
)

// chainConfig is a manager with engines.
func chainConfig(t *testing.T, s engines.Settings, names ...string) manager.Config {
	t.Helper()
	cfg := minhopConfig()
	var err error
	if cfg.Sweep.Engines, err = engines.New(names, &s); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestEngineRefuses: where an engine cannot route the subnet any more, the next one does, until it can
// again. Both is logged, in OpenSM's words and with the reason, once.
func TestEngineRefuses(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	var cables []net.End // one of each root
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch && !slices.ContainsFunc(n.Nodes[i].Ports, func(p net.Port) bool {
			return p.Peer.Node >= 0 && n.Nodes[p.Peer.Node].Type != mad.Switch
		}) {
			cables = append(cables, net.End{Node: int32(i), Port: uint8(len(cables) + 1)})
		}
	}
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(chainConfig(t, engines.Settings{Updn: updn.Settings{ConnectRoots: true}}, "updn"))
	b.mustBeWhole(m)
	if r := m.View.Routing; r.Engine != "updn" || r.Refused != nil || r.Kept {
		t.Fatalf("%+v", r)
	}
	for _, c := range cables {
		b.Fabric.LinkDown(c)
	}
	b.pass(settling)
	m.sweep(manager.Heavy)
	if r := m.View.Routing; r.Engine != "minhop" || len(r.Refused) != 1 || r.Refused[0].Engine != "updn" {
		t.Errorf("%+v", r)
	}
	if d := ctltest.Diagnose(t, server.Show(m.View), n.Nodes[host(n, 0).Node].Desc,
		n.Nodes[host(n, 1).Node].Desc); !strings.HasPrefix(d.Routes, "minhop; updn failed: no root switch was found") {
		t.Errorf("why says %q", d.Routes)
	}
	for _, words := range []string{"disabling UPDN algorithm, no root nodes were found",
		"updn: cannot build lid matrices", "a routing engine cannot route this subnet"} {
		if m.says("ERROR", words) != 1 {
			t.Errorf("%q is logged %d times", words, m.says("ERROR", words))
		}
	}
	for _, c := range cables {
		b.Fabric.LinkUp(c)
	}
	b.pass(settling)
	if r := m.View.Routing; r.Engine != "updn" || r.Refused != nil {
		t.Errorf("the links are back: %+v", r)
	}
	b.mustBeWhole(m)
}

// TestEngineReload: other engines, or other settings of one, compute all routes anew; the same
// settings, read once more, do not. Standbys compute nothing.
func TestEngineReload(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5x5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(chainConfig(t, engines.Settings{Lash: lash.Settings{StartVL: 1}}, "lash"))
	b.mustBeWhole(m)
	root := n.Nodes[uplink(n, 0).Node].GUID
	for _, c := range []struct {
		name     string
		settings engines.Settings
		engines  []string
		engine   string
		rewrites bool
		least    uint8 // SL
	}{
		{"the same", engines.Settings{Lash: lash.Settings{StartVL: 1}}, []string{"lash"}, "lash", false, 1},
		{"another lane", engines.Settings{}, []string{"lash"}, "lash", false, 0},
		{"another engine", engines.Settings{Updn: updn.Settings{Roots: []mad.GUID{root}}}, []string{"updn", "lash"},
			"updn", true, 0},
		{"the same root", engines.Settings{Updn: updn.Settings{Roots: []mad.GUID{root}}}, []string{"updn", "lash"},
			"updn", false, 0},
		{"another root", engines.Settings{Updn: updn.Settings{Roots: []mad.GUID{n.Nodes[uplink(n, 2).Node].GUID}}},
			[]string{"updn", "lash"}, "updn", true, 0},
		{"no root", engines.Settings{}, []string{"updn", "lash"}, "lash", true, 0},
	} {
		before := b.lfts()
		b.Configure(m.Manager, chainConfig(t, c.settings, c.engines...))
		b.pass(settling)
		if r := m.View.Routing; r.Engine != c.engine || (len(changed(before, b.lfts())) > 0) != c.rewrites {
			t.Errorf("%s: %+v, %d switches have other tables", c.name, r, len(changed(before, b.lfts())))
		}
		least := uint8(15)
		for _, from := range m.View.Topo.EndPorts {
			for _, to := range m.View.Topo.EndPorts {
				least = min(least, m.View.Tables.SLs.Of(m.View.LIDs.Base[from], m.View.LIDs.Base[to]))
			}
		}
		if least != c.least {
			t.Errorf("%s: the least SL is %d, want %d", c.name, least, c.least)
		}
		b.mustBeWhole(m)
	}
}

// TestEngineReloadKeeps: routes of another manager are kept when the configuration is read once more, and
// are not when another engine is chosen.
func TestEngineReloadKeeps(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5x5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.comeUp(minhopConfig()).retire()
	cfg := chainConfig(t, engines.Settings{}, "lash")
	m := b.add(host(n, 1), cfg)
	b.pass(settling)
	for range 2 {
		if r := m.View.Routing; !r.Kept || r.Foreign != "lash" {
			t.Errorf("%+v", r)
		}
		b.Configure(m.Manager, cfg)
		b.pass(settling)
	}
	if m.says("WARN", "they differ from those of the configured routing engine") != 1 {
		t.Error("it is not logged once")
	}
	b.Configure(m.Manager, chainConfig(t, engines.Settings{Lash: lash.Settings{StartVL: 1}}, "lash"))
	b.pass(settling)
	if r := m.View.Routing; r.Kept || r.Engine != "lash" || r.Foreign != "" {
		t.Errorf("other settings: %+v", r)
	}
}

// TestEngineFailover: a standby with the same engine takes over without a Set of a forwarding table,
// and paths keep their SLs.
func TestEngineFailover(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5x5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := chainConfig(t, engines.Settings{}, "lash")
	m := b.comeUp(cfg)
	was := m.View
	standby := b.add(host(n, 1), cfg)
	b.pass(settling)
	before := b.lfts()
	m.retire()
	b.pass(settling)
	if r := standby.View.Routing; r.Engine != "lash" || r.Kept || len(changed(before, b.lfts())) > 0 {
		t.Errorf("%+v, %d switches have other tables", r, len(changed(before, b.lfts())))
	}
	for _, from := range was.LIDs.Base {
		for _, to := range was.LIDs.Base {
			if from != 0 && to != 0 && was.Tables.SLs.Of(from, to) != standby.View.Tables.SLs.Of(from, to) {
				t.Fatalf("from LID %v to LID %v: another SL", from, to)
			}
		}
	}
}

// TestEngineUnknown: GUIDs in root_guid_file that are no switches do not count, and are logged once with
// what the first of them is.
func TestEngineUnknown(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5,hosts=1")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	root, adapter := n.Nodes[uplink(n, 0).Node].GUID, n.Nodes[host(n, 0).Node].GUID
	m := b.comeUp(
		chainConfig(t, engines.Settings{Updn: updn.Settings{Roots: []mad.GUID{adapter, root, 0xf000000000000007}}},
			"updn"))
	m.sweep(manager.Heavy)
	if r := m.View.Routing; r.Engine != "updn" || m.says("WARN", "lists GUIDs that do not belong to switches",
		"2 of engine updn", adapter.String(), "which is not a switch") != 1 {
		t.Errorf("%+v", r)
	}
}

// TestAutoEngine: with auto each fabric comes up with the engine that suits it, without a file, and the view says what
// the fabric is.
func TestAutoEngine(t *testing.T) {
	for spec, want := range ordered(map[string]view.Routing{
		"fattree:k=4":                {Engine: "tree", Fabric: "fat tree of 3 levels"},
		"torus:dims=5x5,hosts=1":     {Engine: "torus-2QoS", Fabric: "torus 5x5"},
		"dragonfly:a=4,p=1,h=2":      {Engine: "dragonfly", Fabric: "dragonfly of"},
		"hyperx:dims=3x4,hosts=1":    {Engine: "hyperx", Fabric: "HyperX 3x4"},
		"random:switches=10,hosts=1": {Fabric: ""},
	}) {
		t.Run(spec, func(t *testing.T) {
			n := nettest.Generate(t, spec)
			b := newHarness(t, n, fabric.Config{Seed: 1})
			m := b.comeUp(chainConfig(t, engines.Settings{}, "auto", "no_fallback"))
			b.mustBeWhole(m)
			r := m.View.Routing
			if want.Engine != "" && r.Engine != want.Engine || !strings.HasPrefix(r.Fabric, want.Fabric) ||
				r.Refused != nil {
				t.Errorf("%+v", r)
			}
			if r.Engine == "minhop" || m.ups[0].CreditLoop > 0 {
				t.Errorf("%+v, a credit loop of %d", r, m.ups[0].CreditLoop)
			}
		})
	}
}
