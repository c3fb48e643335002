package sim_test

import (
	"context"
	"testing"
	"time"

	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/routing/sssp"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// slowConfig has an engine that needs more work than there is a budget for before the first SUBNET UP.
func slowConfig(asked *int) manager.Config {
	cfg := minhopConfig()
	dfsssp := sssp.NewDeadlockFree(sssp.Settings{})
	cfg.Sweep.Engines = engines.Chain{
		{Name: "dfsssp", NoCreditLoop: true, Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
			routing.Spend(ctx, 1<<40)
			if ctx.Err() == nil {
				*asked++
			}
			return dfsssp(ctx, in)
		}}, engines.MinHop}
	return cfg
}

// TestInterimRoutes: while a slow engine computes, SUBNET UP is reached with interim routes, by which all hosts reach
// each other also while its own take their place. The log says so once each, and what is published does.
func TestInterimRoutes(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=4x4")
	written := false
	b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
		written = written || s.Attr == smp.AttrLinearForwardingTable
	}})
	asked := 0
	m := b.add(host(n, 0), slowConfig(&asked))
	if !b.Run(b.Fabric.Now()+settling, func() bool { return m.View != nil && len(m.ups) > 0 }) {
		t.Fatal("never: SUBNET UP")
	}
	if asked != 1 || m.View.Routing.Engine != "updown" || m.View.Routing.Awaited != "dfsssp" ||
		m.says("INFO", "interim routes are in use until the routing engine has finished") != 1 {
		t.Fatalf("asked %d times, %+v", asked, m.View.Routing)
	}
	b.mustBeWhole(m)
	written = false
	changes := 0
	if !b.Run(b.Fabric.Now()+settling, func() bool {
		if written {
			b.mustConnectHosts()
			written = false
			changes++
		}
		return m.View.Routing.Awaited == ""
	}) || changes == 0 {
		t.Fatal("never: the engine's routes")
	}
	b.pass(settling)
	b.mustBeWhole(m)
	if asked != 1 || m.View.Routing.Engine != "dfsssp" ||
		m.says("INFO", "the routes of the routing engine replace the interim routes") != 1 {
		t.Errorf("asked %d times, %+v", asked, m.View.Routing)
	}
	if m.says("INFO", "interim routes are in use") != 2 || m.says("INFO", "ended: interim routes are in use") != 1 {
		t.Error("the begin and the end of interim routes are not logged once each")
	}
}

// TestInterimRoutesTakeover: an engine that is at work is ended when this manager is master no more. The manager that
// takes over connects all hosts.
func TestInterimRoutesTakeover(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=4x4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.ComputeTime = 100 * time.Millisecond // so that the engine takes ten seconds
	asked, works := 0, false
	m := b.add(host(n, 0), slowConfig(&asked))
	m.OnAction = func(now time.Duration, a manager.Action) {
		m.took(now, a)
		switch a := a.(type) {
		case manager.Task:
			works = works || a.Purpose == manager.ForEngine
		case manager.Cancel:
			works = works && a.For != manager.ForEngine
		}
	}
	if !b.Run(b.Fabric.Now()+settling, func() bool { return len(m.ups) > 0 }) || !works {
		t.Fatal("never: SUBNET UP with interim routes")
	}
	cfg := slowConfig(&asked)
	cfg.Elect.Priority = 9
	next := b.add(host(n, 3), cfg)
	if !b.Run(b.Fabric.Now()+settling, func() bool {
		return m.last() == smp.Standby && next.last() == smp.Master
	}) || works {
		t.Fatalf("the engine of %v works: %v, beside %v", m.last(), works, next.last())
	}
	b.pass(settling)
	b.mustBeWhole(next)
}

// TestInterimRoutesEnd: an engine that is at work is ended when the subnet changes, and begins anew. A manager that is
// restarted meanwhile goes on to the engine's routes.
func TestInterimRoutesEnd(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=4x4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.ComputeTime = 100 * time.Millisecond // so that the engine takes ten seconds
	disk, asked, begun, ended := sim.NewDisk(time.Millisecond), 0, 0, 0
	m := b.addKept(host(n, 0), slowConfig(&asked), disk)
	m.OnAction = func(now time.Duration, a manager.Action) {
		m.took(now, a)
		switch a := a.(type) {
		case manager.Task:
			if a.Purpose == manager.ForEngine {
				begun++
			}
		case manager.Cancel:
			if a.For == manager.ForEngine {
				ended++
			}
		}
	}
	if !b.Run(b.Fabric.Now()+settling, func() bool { return len(m.ups) > 0 }) {
		t.Fatal("never: SUBNET UP")
	}
	b.pass(time.Second)
	b.Fabric.LinkDown(net.End{Node: 5, Port: 2})
	b.pass(3 * time.Second)
	// the next one begins when the result of the first one is there
	if begun != 1 || ended != 1 || m.View.Routing.Awaited != "dfsssp" {
		t.Errorf("begun %d, ended %d, %+v", begun, ended, m.View.Routing)
	}
	b.mustBeWhole(m)
	b.pass(10 * time.Second)
	if begun != 2 || ended != 1 || m.View.Routing.Awaited != "dfsssp" {
		t.Errorf("begun %d, ended %d, %+v", begun, ended, m.View.Routing)
	}
	m.retire()
	again := b.addKept(host(n, 0), slowConfig(&asked), disk)
	if !b.Run(b.Fabric.Now()+4*settling, func() bool {
		return again.View != nil && again.View.Routing.Engine == "dfsssp"
	}) {
		t.Fatal("never: the engine's routes")
	}
	if again.View.Routing.Foreign != "" || again.View.Routing.Kept {
		t.Errorf("%+v", again.View.Routing)
	}
	b.mustBeWhole(again)
}
