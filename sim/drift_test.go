package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/routing/dor"
	"ibsm/routing/minhop"
	"ibsm/routing/tree"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// losing takes away one cable after the other, so that the routes of the engine tree become uneven.
func losing(b *harness, n *net.Net) {
	for i := range 6 {
		leaf := n.Nodes[host(n, 6*i+1).Node].Ports[1].Peer.Node
		for port := range n.Nodes[leaf].Ports {
			if peer := n.Nodes[leaf].Ports[port].Peer.Node; peer >= 0 && n.Nodes[peer].Type == mad.Switch && (port+i)%3 == 0 {
				b.Fabric.LinkDown(net.End{Node: leaf, Port: uint8(port)})
				b.pass(time.Second)
			}
		}
	}
}

// TestDrift: routes that have drifted from fresh ones are offered once, in the log and to whoever is notified. In the maintenance window, and not before, all are
// computed afresh, once. Nothing is measured while routes change, and a sweep that computes routes ends what is being measured.
func TestDrift(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=12,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.ComputeTime = 100 * time.Millisecond
	cfg := chainConfig(t, engines.Settings{}, "tree")
	cfg.Maintenance.Threshold = 10
	m := b.add(host(n, 0), cfg)
	var drifted []manager.Drifted
	measures, ended := 0, 0
	m.OnAction = func(now time.Duration, a manager.Action) {
		m.took(now, a)
		switch a := a.(type) {
		case manager.Measure:
			measures++
		case manager.EndMeasure:
			ended++
		case manager.Drifted:
			if a.Drift != nil {
				drifted = append(drifted, a)
			}
		}
	}
	b.pass(settling + time.Minute)
	b.mustBeWhole(m)
	if len(drifted) != 1 || drifted[0].Percent() != 0 || drifted[0].Offered || drifted[0].Engine != "tree" || drifted[0].Fullest != drifted[0].BestFullest {
		t.Fatalf("%+v", drifted)
	}
	losing(b, n)
	if measures != 1 {
		t.Errorf("%d were measured while routes changed", measures)
	}
	b.pass(2 * time.Minute)
	last := drifted[len(drifted)-1]
	if measures != 2 || len(drifted) != 2 || !last.Offered || last.Percent() <= 10 || m.says("WARN", "routes have degraded") != 1 {
		t.Fatalf("%d measured, %+v", measures, last.Drift)
	}
	m.sweep(manager.Heavy)
	b.pass(2 * time.Minute)
	if measures != 2 || m.says("WARN", "routes have degraded") != 1 {
		t.Errorf("%d measured, although nothing has changed", measures)
	}
	before := b.lfts()
	now := b.Fabric.Now() // time of day, as it begins at midnight
	cfg.Maintenance.From, cfg.Maintenance.To = (now + 10*time.Minute).Truncate(time.Second), (now + 20*time.Minute).Truncate(time.Second)
	b.Configure(m.Manager, cfg)
	b.pass(9 * time.Minute)
	if len(changed(before, b.lfts())) > 0 {
		t.Fatal("routes change before the window")
	}
	b.pass(4 * time.Minute)
	b.mustBeWhole(m)
	last = drifted[len(drifted)-1]
	if len(drifted) != 3 || last.Offered || last.Percent() != 0 || m.says("INFO", "maintenance window") != 1 || len(changed(before, b.lfts())) == 0 {
		t.Errorf("in the window: %d measured, %+v", measures, last.Drift)
	}
	b.pass(20 * time.Minute)
	if m.says("INFO", "maintenance window") != 1 || measures != 3 || ended != 0 {
		t.Errorf("after it: %d measured, %d ended", measures, ended)
	}
	leaf := n.Nodes[host(n, 40).Node].Ports[1].Peer.Node
	b.Fabric.LinkDown(uplink(n, leaf))
	b.Run(b.Fabric.Now()+time.Minute, func() bool { return measures == 4 })
	b.Fabric.LinkUp(uplink(n, leaf))
	b.pass(2 * time.Minute)
	if ended != 1 || measures != 5 {
		t.Errorf("a sweep beside it: %d ended, %d measured", ended, measures)
	}
}

// measuring is a manager that measures drift, and what it said of it.
type measuring struct {
	*watched
	drifted  []manager.Drifted
	measures int
}

func (b *harness) addMeasuring(cfg manager.Config) *measuring {
	m := &measuring{watched: b.add(host(b.net, 0), cfg)}
	m.OnAction = func(now time.Duration, a manager.Action) {
		m.took(now, a)
		switch a := a.(type) {
		case manager.Measure:
			m.measures++
		case manager.Drifted:
			m.drifted = append(m.drifted, a)
		}
	}
	return m
}

// last is what the manager said last; the zero value for nothing.
func (m *measuring) last() (d manager.Drifted) {
	if n := len(m.drifted); n > 0 {
		d = m.drifted[n-1]
	}
	return d
}

// TestDriftWithdrawn: figures and offers end when other routes come into force, and with a threshold of 0. Another threshold is judged by at once.
func TestDriftWithdrawn(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=12,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := chainConfig(t, engines.Settings{}, "tree")
	cfg.Maintenance.Threshold = 10
	m := b.addMeasuring(cfg)
	b.pass(settling + time.Minute)
	if len(m.drifted) != 1 {
		t.Fatalf("%+v", m.drifted)
	}
	losing(b, n)
	if len(m.drifted) != 2 || m.last().Drift != nil {
		t.Errorf("routes have changed: %+v", m.drifted)
	}
	b.pass(2 * time.Minute)
	threshold := func(percent int) {
		cfg.Maintenance.Threshold = percent
		b.Configure(m.Manager, cfg)
		b.pass(time.Second)
	}
	measures := m.measures
	if !m.last().Offered || m.says("WARN", "routes have degraded") != 1 {
		t.Fatalf("%+v", m.last())
	}
	if threshold(10000); m.last().Drift == nil || m.last().Offered {
		t.Errorf("threshold 10000: %+v", m.last())
	}
	if threshold(10); !m.last().Offered || m.says("WARN", "routes have degraded") != 2 {
		t.Errorf("threshold 10: %+v", m.last())
	}
	if threshold(11); len(m.drifted) != 5 || m.measures != measures {
		t.Errorf("threshold 11: said %d times, measured %d times", len(m.drifted), m.measures)
	}
	if threshold(0); m.last().Drift != nil || m.last().Offered {
		t.Errorf("threshold 0: %+v", m.last())
	}
	b.pass(2 * time.Minute)
	if m.measures != measures {
		t.Error("measured with threshold 0")
	}
	if threshold(10); m.last().Drift != nil {
		t.Errorf("threshold 10 again: %+v", m.last())
	}
	if b.pass(time.Minute); !m.last().Offered || m.measures != measures+1 {
		t.Errorf("a minute later: %+v, measured %d times", m.last(), m.measures)
	}
}

// fickle is an engine that computes better routes for a comparison than for a sweep. Sweeps get routes that differ each time.
func fickle(sweeps *int) engines.Engine {
	return engines.Engine{Name: "fickle", Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		if in.Prev == nil && *sweeps > 0 {
			return tree.New(tree.Settings{})(ctx, in)
		}
		*sweeps++
		if *sweeps%2 == 0 {
			return dor.New(routing.Balancing{})(ctx, in)
		}
		return minhop.Route(ctx, in)
	}}
}

// TestOneRerouteInWindow: in each window all routes are computed afresh once, however bad they are after that. The time of day can be set while the manager runs.
func TestOneRerouteInWindow(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	sweeps := 0
	cfg.Sweep.Engines = engines.Chain{fickle(&sweeps)}
	cfg.Maintenance = manager.Maintenance{Threshold: 10, From: 2 * time.Hour, To: 4 * time.Hour}
	m := b.addMeasuring(cfg)
	b.pass(10 * time.Minute)
	if !m.last().Offered || m.says("INFO", "maintenance window") != 0 {
		t.Fatalf("%+v", m.last())
	}
	b.SetClock(m.Manager, int64((90 * time.Minute).Seconds()))
	b.pass(15 * time.Minute)
	if m.says("INFO", "maintenance window") != 0 {
		t.Error("the window has begun")
	}
	before := b.lfts()
	b.pass(10 * time.Minute)
	if m.says("INFO", "maintenance window") != 1 || len(changed(before, b.lfts())) == 0 {
		t.Error("the window has not begun")
	}
	leaf := n.Nodes[host(n, 40).Node].Ports[1].Peer.Node
	b.Fabric.LinkDown(uplink(n, leaf))
	b.pass(time.Hour)
	if !m.last().Offered || m.says("INFO", "maintenance window") != 1 || m.measures < 3 {
		t.Errorf("later in the window: %+v, %d orders, measured %d times", m.last(), m.says("INFO", "maintenance window"), m.measures)
	}
	b.pass(24 * time.Hour)
	if m.says("INFO", "maintenance window") != 2 {
		t.Errorf("the next day: %d orders", m.says("INFO", "maintenance window"))
	}
}

// TestNoSecondReroute: an order in the window that changes nothing is not given again for the same tables, also of another subnet.
func TestNoSecondReroute(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=8")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	cfg.Sweep.Engines = engines.Chain{{Name: "steadfast", Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		if in.Prev == nil && in.Workers == 1 {
			return tree.New(tree.Settings{})(ctx, in)
		}
		return minhop.Route(ctx, in)
	}}}
	cfg.Maintenance = manager.Maintenance{Threshold: 10, From: 2 * time.Hour, To: 4 * time.Hour}
	m := b.addMeasuring(cfg)
	b.pass(3 * time.Hour)
	if !m.last().Offered || m.says("INFO", "maintenance window") != 1 {
		t.Fatalf("%+v, %d orders", m.last(), m.says("INFO", "maintenance window"))
	}
	measures := m.measures
	b.Fabric.SetNodeDescription(host(n, 40).Node, "renamed") // another Topo
	m.sweep(manager.Heavy)
	b.pass(48 * time.Hour)
	if m.says("INFO", "maintenance window") != 1 {
		t.Errorf("%d orders, measured %d times, before %d", m.says("INFO", "maintenance window"), m.measures, measures)
	}
}

// TestNothingToCompare: where no engine routes a subnet afresh, figures of other routes end, and it is not tried again for the same routes.
func TestNothingToCompare(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	refuses := false
	cfg.Sweep.Engines = engines.Chain{{Name: "once", Route: func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		if refuses && in.Prev == nil {
			return nil, errors.New("refused")
		}
		return minhop.Route(ctx, in)
	}}}
	cfg.Maintenance.Threshold = 10
	m := b.addMeasuring(cfg)
	b.pass(2 * settling)
	if m.last().Drift == nil {
		t.Fatal("nothing was measured")
	}
	refuses = true
	leaf := n.Nodes[host(n, 6).Node].Ports[1].Peer.Node
	b.Fabric.LinkDown(uplink(n, leaf))
	b.pass(2 * settling)
	if m.last().Drift != nil || m.measures != 2 {
		t.Errorf("%+v, measured %d times", m.last(), m.measures)
	}
	m.sweep(manager.Heavy)
	if b.pass(2 * settling); m.measures != 2 {
		t.Errorf("measured %d times", m.measures)
	}
}
