package sweep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/file"
	"ibsm/routing/lash"
	"ibsm/routing/minhop"
	"ibsm/routing/tree"
	"ibsm/routing/updn"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/sweep/routes"
	"ibsm/topo"
	"ibsm/topo/net"
)

func chainOf(t *testing.T, s engines.Settings, names ...string) engines.Chain {
	t.Helper()
	c, err := engines.New(names, &s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wroteRoutes(b *harness) bool {
	return slices.ContainsFunc(b.sets, func(s fabric.Set) bool { return s.Attr == smp.AttrLinearForwardingTable })
}

// TestChain: engines are tried in order, each with the same problem. One that breaks its promise is
// not used, and the next one is.
func TestChain(t *testing.T) {
	refuses := engines.Engine{Name: "refuses", Route: func(context.Context, routing.In) (*routing.Tables, error) {
		return nil, errors.New("switch 7 is not one")
	}}
	breaks := engines.Engine{Name: "breaks", Route: minhop.Route, NoCreditLoop: true}
	b := newHarness(t, "torus:dims=5,hosts=1", Config{Engines: engines.Chain{refuses, breaks, engines.MinHop}})
	out := b.heavy()
	if out.Engine != "minhop" || len(out.Refused) != 2 || out.CreditLoop == nil || out.Err != nil {
		t.Fatalf("engine %q, refused %v, loop %v, error %v", out.Engine, out.Refused, out.CreditLoop, out.Err)
	}
	if text := out.Refused[0].String(); text != "refuses: switch 7 is not one" {
		t.Error(text)
	}
	if text := out.Refused[1].String(); !strings.HasPrefix(text, "breaks: the proof finds a credit loop") ||
		!strings.Contains(text, `" port `) {
		t.Error(text)
	}

	b = newHarness(t, "torus:dims=5,hosts=1", Config{Engines: engines.Chain{refuses, breaks}})
	c := b.walk().Task(1).Run(t.Context())
	if c.Tables != nil || c.Engine != "" || c.Err == nil ||
		!strings.Contains(c.Err.Error(), "refuses: switch 7 is not one; breaks: the proof") {
		t.Errorf("engine %q, error %v", c.Engine, c.Err)
	}
}

// TestRefusedAfterLoss: the routes of an engine that changes as little as it must, and that refuses the subnet after a
// loss, are repaired: all others stay, and none are those of the next engine. When it routes the subnet again, all is
// as at first. Where it refuses from the beginning, or routes are computed afresh, the next engine routes.
func TestRefusedAfterLoss(t *testing.T) {
	refuses := false
	steady := engines.Engine{Name: "steady", Steady: true, NoCreditLoop: true,
		Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
			if refuses {
				return nil, errors.New("something is missing")
			}
			return tree.New(tree.Settings{})(ctx, in)
		}}
	b := newHarness(t, "fattree:k=4", Config{Engines: engines.Chain{steady, engines.MinHop}})
	was := b.heavy().Tables.LFT
	leaf := int32(slices.IndexFunc(b.net.Nodes, func(n net.Node) bool { return n.Desc == "leaf-05" }))
	lost := net.End{Node: leaf, Port: 3}
	refuses = true
	b.fabric.LinkDown(lost)
	b.fabric.Advance(b.fabric.Now())
	out := b.heavy()
	if out.Engine != "steady" || len(out.Refused) != 1 ||
		out.Refused[0].String() != "steady: something is missing; its routes are repaired" || out.CreditLoop != nil ||
		out.Report.Bad() > 0 {
		t.Fatalf("engine %q, refused %v, loop %v, %v", out.Engine, out.Refused, out.CreditLoop, out.Report.Count)
	}
	tracer, moved := routing.NewTracer(out.Topo, out.LIDs), 0
	passed := func(at topo.SwitchIdx, lid int) bool { // its way was over the link
		for range routing.MaxTrace {
			port := was[at][lid]
			end := net.End{Node: int32(slices.IndexFunc(b.net.Nodes, func(n net.Node) bool {
				return n.GUID == out.Topo.Nodes[out.Topo.Switches[at]].GUID
			})), Port: port}
			if end == lost || end == b.net.Nodes[lost.Node].Ports[lost.Port].Peer {
				return true
			}
			if at = tracer.Next(at, port); at == topo.None {
				return false
			}
		}
		return false
	}
	for s, row := range out.Tables.LFT {
		for lid, port := range row {
			if port == was[s][lid] {
				continue
			}
			if moved++; !passed(topo.SwitchIdx(s), lid) {
				t.Errorf("switch %d LID %d: port %d, and was %d, by which packets arrive", s, lid, port, was[s][lid])
			}
		}
	}
	if moved == 0 {
		t.Error("nothing passed the link")
	}
	if b.heavy(); wroteRoutes(b) {
		t.Error("another sweep writes routes")
	}
	refuses = false
	b.fabric.LinkUp(lost)
	b.fabric.Advance(b.fabric.Now())
	if out = b.heavy(); out.Engine != "steady" || out.Refused != nil ||
		!slices.EqualFunc(out.Tables.LFT, was, slices.Equal) {
		t.Errorf("engine %q, refused %v, or routes are not as at first", out.Engine, out.Refused)
	}
	refuses = true
	b.Reroute()
	if out = b.heavy(); out.Engine != "minhop" || len(out.Refused) != 1 ||
		out.Refused[0].String() != "steady: something is missing" {
		t.Errorf("a reroute: engine %q, refused %v", out.Engine, out.Refused)
	}
	if out = b.heavy(); out.Engine != "minhop" || wroteRoutes(b) {
		t.Errorf("after a reroute: engine %q, routes written %v", out.Engine, wroteRoutes(b))
	}
}

// TestChainOfOpenSM: lash routes a torus without a credit loop where it has lanes enough, updn
// where it finds roots; min-hop comes last.
func TestChainOfOpenSM(t *testing.T) {
	for _, c := range []struct {
		spec    string
		names   []string
		start   uint8
		maxVLs  uint8 // code
		engine  string
		refused int
		loop    bool
	}{
		{"torus:dims=5x5,hosts=1", []string{"lash"}, 0, 5, "lash", 0, false},
		{"torus:dims=5x5,hosts=1", []string{"updn", "lash"}, 0, 5, "lash", 1, false},
		{"torus:dims=5x5,hosts=1", []string{"updn", "lash"}, 15, 5, "minhop", 2, true},
		{"torus:dims=5x5,hosts=1", []string{"lash"}, 0, 2, "minhop", 1, true},
		{"fattree:k=4", []string{"updn", "lash"}, 0, 1, "updn", 0, false},
	} {
		s := engines.Settings{Lash: lash.Settings{StartVL: c.start}}
		b := newHarness(t, c.spec,
			Config{Engines: chainOf(t, s, c.names...), Settings: Settings{MaxOpVLs: Given(c.maxVLs)}})
		out := b.heavy()
		if out.Engine != c.engine || len(out.Refused) != c.refused || (out.CreditLoop != nil) != c.loop ||
			(out.Tables.SLs != nil) != (c.engine == "lash") {
			t.Errorf("%s by %v: engine %q, refused %v, loop %v", c.spec, c.names, out.Engine, out.Refused,
				out.CreditLoop)
		}
		b.heavy()
		if wroteRoutes(b) {
			t.Errorf("%s by %v: another sweep writes routes", c.spec, c.names)
		}
	}
}

// TestForced: tables of a file that have a credit loop get SLs, if links have the lanes. If not, or
// if routes go round in circles, they are refused unless they are forced.
func TestForced(t *testing.T) {
	was := newHarness(t, "torus:dims=5x5,hosts=1", Config{}).heavy()
	written, circles := &file.LFTs{}, &file.LFTs{}
	for s, n := range was.Topo.Switches {
		lft := file.LFT{GUID: was.Topo.Nodes[n].GUID, Port: was.Tables.LFT[s]}
		written.Switches = append(written.Switches, lft)
		lft.Port = slices.Clone(lft.Port)
		host := was.LIDs.Base[was.Topo.Self]
		for num := uint8(1); num <= was.Topo.Nodes[n].NumPorts &&
			was.Topo.SwitchOf(was.Topo.Self) != topo.SwitchIdx(s); num++ {
			if peer := was.Topo.Ports[was.Topo.Port(n, num)].Peer; peer != topo.None && was.Topo.IsSwitchPort(peer) {
				lft.Port[host] = num // away from wherever: nobody leads to the host's own switch
			}
		}
		circles.Switches = append(circles.Switches, lft)
	}
	for _, c := range []struct {
		file   *file.LFTs
		forced bool
		vls    uint8
		engine string
		sls    bool
		reason string
	}{
		{written, false, 5, "file", true, ""},
		{written, false, 1, "minhop", false,
			"file: the proof finds a credit loop among its routes, and there are not lanes enough for SLs without one; lfts_file_force uses them all the same"},
		{written, true, 1, "file", false, ""},
		{circles, false, 5, "minhop", false, "file: packets would go round in circles"},
		{circles, true, 5, "file", true, ""},
	} {
		s := engines.Settings{File: engines.FileSettings{LFTs: c.file, Forced: c.forced}}
		b := newHarness(t, "torus:dims=5x5,hosts=1",
			Config{Engines: chainOf(t, s, "file"), Settings: Settings{MaxOpVLs: Given(c.vls)}})
		out, reason := b.heavy(), ""
		if len(out.Refused) > 0 {
			reason = out.Refused[0].String()
		}
		if out.Engine != c.engine || (out.Tables.SLs != nil) != c.sls || !strings.HasPrefix(reason, c.reason) ||
			(reason == "") != (c.reason == "") {
			t.Errorf("forced %v, %d lanes: engine %q, SLs %v, refused: %s", c.forced, c.vls, out.Engine,
				out.Tables.SLs != nil, reason)
		}
		if out.Tables.SLs != nil && out.CreditLoop != nil {
			t.Errorf("with SLs: a credit loop %v", out.CreditLoop)
		}
	}
}

// TestTakeOver: tables that the chosen engine computes are its own, with their SLs. Others stay as
// long as nobody asks for new routes.
func TestTakeOver(t *testing.T) {
	b := newHarness(t, "torus:dims=5x5,hosts=1", Config{Engines: chainOf(t, engines.Settings{}, "lash")})
	was := b.heavy()
	again := func(names ...string) *Outcome {
		b.Sweeper = New(Config{Engines: chainOf(t, engines.Settings{}, names...)})
		out := b.heavy()
		if wroteRoutes(b) {
			t.Errorf("%v: routes were written", names)
		}
		return out
	}
	out := again("updn", "lash")
	if out.Engine != "lash" || out.Keep == routing.KeepWorking || out.Foreign != "" || out.CreditLoop != nil {
		t.Errorf("the engine's own: engine %q, keep %v, not of %q, loop %v", out.Engine, out.Keep, out.Foreign,
			out.CreditLoop)
	}
	for _, from := range out.Topo.EndPorts {
		for _, to := range out.Topo.EndPorts {
			if l, m := out.LIDs.Base[from], out.LIDs.Base[to]; out.Tables.SLs.Of(l, m) != was.Tables.SLs.Of(l, m) {
				t.Fatalf("from LID %v to LID %v: another SL", l, m)
			}
		}
	}
	b.Reroute()
	b.Configure(Config{Engines: engines.Chain{engines.MinHop}})
	b.heavy()
	b.Sweeper = New(Config{Engines: chainOf(t, engines.Settings{}, "lash"), Settings: Settings{EngineSLs: true}})
	for range 2 { // what is said of the routes holds for further sweeps, too
		if out = b.heavy(); out.Keep != routing.KeepWorking || out.Foreign != "lash" || out.Fitting.State != routes.Fitted ||
			out.CreditLoop != nil || wroteRoutes(b) {
			t.Errorf("min-hop's: engine %q, keep %v, not of %q, routes were written: %v", out.Engine, out.Keep,
				out.Foreign, wroteRoutes(b))
		}
	}
	b.Reroute()
	if out = b.heavy(); out.Engine != "lash" || out.Foreign != "" || out.Tables.SLs == nil {
		t.Errorf("after a reroute: engine %q, not of %q", out.Engine, out.Foreign)
	}
}

// TestTakeOverDamaged: an engine that keeps what works repairs its own tables within its rules, also
// where a link was lost while nobody was master.
func TestTakeOverDamaged(t *testing.T) {
	b := newHarness(t, "fattree:k=4,levels=2", Config{})
	var spines []mad.GUID
	for _, node := range b.net.Nodes {
		if node.Type == mad.Switch && !slices.ContainsFunc(node.Ports, func(p net.Port) bool {
			return p.Peer.Node >= 0 && b.net.Nodes[p.Peer.Node].Type != mad.Switch
		}) {
			spines = append(spines, node.GUID)
		}
	}
	cfg := Config{Engines: chainOf(t, engines.Settings{Updn: updn.Settings{Roots: spines}}, "updn")}
	b.Sweeper = New(cfg)
	b.heavy()
	b.fabric.LinkDown(b.inner())
	b.Sweeper = New(cfg)
	if out := b.heavy(); out.Engine != "updn" || out.Foreign != "" || out.Keep != routing.KeepMinimal ||
		!wroteRoutes(b) {
		t.Errorf("engine %q, not of %q, keep %v", out.Engine, out.Foreign, out.Keep)
	}
}

// TestRepair: routes of another manager are repaired after each lost cable of a mesh; others stay. A credit loop that
// comes of it is said to be the repair's, as long as it lasts.
func TestRepair(t *testing.T) {
	const spec = "mesh:dims=2x3,hosts=1"
	closed := 0
	for i := range 7 {
		b := newHarness(t, spec, Config{})
		b.heavy()
		b.Sweeper = New(b.cfg)
		found := b.heavy()
		if found.Keep != routing.KeepWorking || found.CreditLoop != nil {
			t.Fatalf("keep %v, loop %v", found.Keep, found.CreditLoop)
		}
		b.fabric.LinkDown(b.links()[i])
		lost := b.heavy()
		if lost.Report.Bad() > 0 || !wroteRoutes(b) {
			t.Errorf("cable %d: %d bad routes; routes were written: %v", i, lost.Report.Bad(), wroteRoutes(b))
		}
		again := b.heavy()
		for s := range lost.Tables.LFT {
			for lid, port := range found.Tables.LFT[s] {
				if again.Tables.LFT[s][lid] != lost.Tables.LFT[s][lid] {
					t.Errorf("cable %d: switch %d LID %d: another sweep changes port %d to %d", i, s, lid,
						lost.Tables.LFT[s][lid], again.Tables.LFT[s][lid])
				}
				if changed := lost.Tables.LFT[s][lid] != port; changed &&
					arrives(lost.SweepPlan, found.Tables, topo.SwitchIdx(s), mad.LID(lid)) {
					t.Errorf("cable %d: switch %d LID %d: port %d worked", i, s, lid, port)
				}
			}
		}
		if (lost.CreditLoop != nil) != (lost.Closing != nil) || !slices.Equal(lost.Closing, again.Closing) {
			t.Errorf("cable %d: loop %v, repaired routes %v, then %v", i, lost.CreditLoop, lost.Closing, again.Closing)
		}
		if lost.Closing != nil {
			closed++
		}
	}
	if closed == 0 {
		t.Error("no repair closes a loop")
	}
}

// TestReturnPastUnresponsive: a route of another manager does not return through a switch that does not answer and
// holds a way around.
func TestReturnPastUnresponsive(t *testing.T) {
	b := newHarness(t, "torus:dims=8,hosts=1", Config{})
	b.heavy()
	b.Abdicate()
	found := b.heavy()
	tracer, self, tried := found.Report.Forwarding().Tracer, found.Topo.SwitchOf(found.Topo.Self), 0
	node := func(s topo.SwitchIdx) int32 {
		guid := found.Topo.Nodes[found.Topo.Switches[s]].GUID
		return int32(slices.IndexFunc(b.net.Nodes, func(n net.Node) bool { return n.GUID == guid }))
	}
	for lid := mad.LID(1); lid <= found.LIDs.Top && tried == 0; lid++ {
		for first := range found.Tables.LFT { // a route over three links between switches
			route := []topo.SwitchIdx{topo.SwitchIdx(first)}
			for len(route) < 4 && route[len(route)-1] >= 0 {
				at := route[len(route)-1]
				route = append(route, tracer.Next(at, found.Tables.LFT[at][lid]))
			}
			if len(route) < 4 || slices.Contains(route, topo.None) || slices.Contains(route, self) || tried > 0 {
				continue
			}
			tried++
			third := net.End{Node: node(route[2]), Port: found.Tables.LFT[route[2]][lid]}
			b.fabric.LinkDown(third)
			if lost := b.heavy(); lost.Report.Bad() > 0 {
				t.Fatalf("a link is lost: %v", lost.Report.Count)
			}
			b.fabric.SetUnresponsive(node(route[1]), true)
			b.heavy()
			b.fabric.LinkUp(third)
			if back := b.heavy(); back.Topo.Nodes[back.Topo.Switches[route[1]]].Missed == 0 || back.Report.Bad() > 0 ||
				back.BeforeCut != nil {
				t.Errorf("the link is back: %v, loops were cut: %v", back.Report.Count, back.BeforeCut != nil)
			}
		}
	}
	if tried == 0 {
		t.Error("no route is long enough")
	}
}

// links are an end of each link between switches.
func (b *harness) links() (ends []net.End) {
	for at := range b.fabric.Ports() {
		peer := b.fabric.Peer(at)
		if peer != net.NoEnd && peer.Node > at.Node && b.fabric.NodeType(at.Node) == mad.Switch &&
			b.fabric.NodeType(peer.Node) == mad.Switch {
			ends = append(ends, at)
		}
	}
	return ends
}

// arrives reports whether packets to a LID arrive from a switch by some tables, in the subnet of a plan.
func arrives(c *SweepPlan, tables *routing.Tables, s topo.SwitchIdx, lid mad.LID) bool {
	for range c.Topo.Switches {
		port := c.Topo.Port(c.Topo.Switches[s], tables.LFT[s][lid])
		if owner, peer := c.LIDs.PortOf(lid), c.Topo.Ports[port].Peer; owner == port || peer != topo.None &&
			owner == peer {
			return true
		} else if peer == topo.None || c.Topo.Nodes[c.Topo.Ports[peer].Node].Switch == topo.None {
			return false
		} else {
			s = c.Topo.Nodes[c.Topo.Ports[peer].Node].Switch
		}
	}
	return false
}

// TestRefusedKeepsSLs: paths keep their SLs with their tables when no engine routes the subnet any
// more.
func TestRefusedKeepsSLs(t *testing.T) {
	b := newHarness(t, "mesh:dims=3,hosts=1",
		Config{Engines: chainOf(t, engines.Settings{Lash: lash.Settings{StartVL: 2}}, "lash", "no_fallback")})
	b.heavy()
	c := b.cfg
	c.Engines = engines.Chain{{Name: "refuses", Route: func(context.Context, routing.In) (*routing.Tables, error) {
		return nil, errors.New("no")
	}}}
	b.Configure(c)
	plan := b.walk().Task(1).Run(t.Context())
	if plan.Tables != nil || plan.InForce().SLs.Of(1, 2) != 2 {
		t.Errorf("tables %v, SLs %v", plan.Tables, plan.InForce().SLs)
	}
}
