package sim_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/routing/torus"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// plan asks for a plan and returns its steps.
func (w *watched) plan(s manager.Sweep) (steps []string, err error) {
	w.harness.Helper()
	computed, err := w.planOf(manager.SweepRequested{Sweep: s})
	if err != nil {
		return nil, err
	}
	return slices.Collect(computed.Steps), nil
}

// planOf asks for a plan of something.
func (w *watched) planOf(r manager.SweepRequested) (computed *sweep.SweepPlan, err error) {
	w.harness.Helper()
	forward := w.OnAction
	defer func() { w.OnAction = forward }()
	var answers []manager.Planned
	w.OnAction = func(now time.Duration, a manager.Action) {
		if p, ok := a.(manager.Planned); ok {
			answers = append(answers, p)
		}
		forward(now, a)
	}
	w.harness.Request(w.Manager, r)
	w.harness.Run(w.harness.Fabric.Now()+settling, func() bool { return len(answers) > 0 })
	if len(answers) != 1 {
		w.harness.Fatalf("%d answers to one question for a plan", len(answers))
	}
	if answers[0].Err != nil {
		return nil, answers[0].Err
	}
	return answers[0].Plan, nil
}

// misinform has a port believe in another manager: no trap reports that.
func (b *harness) misinform(at net.End) {
	b.Helper()
	st, err := b.Fabric.Attach(at)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Detach()
	info := b.Fabric.PortInfo(at)
	info.SetMasterSMLID(info.MasterSMLID() + 1)
	info.KeepStates()
	var d mad.Datagram
	d.Packet.SetDirected(&mad.Route{}, mad.MethodSet, smp.AttrPortInfo, uint32(at.Port))
	*d.Packet.Data() = info
	st.Send([]mad.Datagram{d})
	b.pass(time.Millisecond)
	if got := b.Fabric.PortInfo(at); got.MasterSMLID() != info.MasterSMLID() {
		b.Fatal("the port does not take it")
	}
}

// A plan of a subnet that is as it should be is empty. One after a change is what the
// next sweep writes, and changes neither the fabric nor what that sweep does.
func TestPlan(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	run := func(planned bool) (written int, steps []string) {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		m := b.comeUp(minhopConfig())
		if steps, err := m.plan(manager.Plan); err != nil || len(steps) > 0 {
			t.Errorf("the plan for a subnet that is well: %v, %q", err, steps)
		}
		b.misinform(host(n, 5))
		b.Fabric.ResetStats()
		if planned {
			var err error
			if steps, err = m.plan(manager.Plan); err != nil {
				t.Fatal(err)
			}
			if again, _ := m.plan(manager.Plan); !slices.Equal(again, steps) {
				t.Errorf("planned twice: %q, then %q", steps, again)
			}
			if b.sets() > 0 {
				t.Errorf("a plan wrote: %d Sets", b.sets())
			}
		}
		up := m.sweep(manager.Heavy)
		for _, count := range up.Sets {
			written += count
		}
		b.mustBeWhole(m)
		return written, steps
	}
	without, _ := run(false)
	with, steps := run(true)
	if with == 0 || with != without || len(steps) != with {
		t.Errorf("a sweep writes %d times, %d times after a plan of %d steps: %q", without, with, len(steps), steps)
	}
}

// A manager that is not master has no plan.
func TestPlanOfStandby(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.comeUp(minhopConfig())
	m := b.add(host(n, 3), minhopConfig())
	b.pass(settling)
	if _, err := m.plan(manager.Plan); !errors.Is(err, manager.ErrNotMaster) {
		t.Errorf("the plan of a standby: %v", err)
	}
}

// What a manager did is counted.
func TestStats(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	before := m.Core.Stats()
	m.sweep(manager.Light)
	m.sweep(manager.Heavy)
	m.plan(manager.Plan)
	at := uplink(n, 0)
	b.Fabric.LinkDown(at)
	b.pass(settling)
	s := m.Core.Stats()
	for kind, least := range ordered(map[manager.SweepKind]uint64{manager.LightSweep: 1, manager.HeavySweep: 1,
		manager.PlanSweep: 1, manager.QuickSweep: 1}) {
		if s.Sweeps[kind]-before.Sweeps[kind] < least {
			t.Errorf("%v sweeps: %d, then %d", kind, before.Sweeps[kind], s.Sweeps[kind])
		}
	}
	heavy := s.Sweeps[manager.HeavySweep] + s.Sweeps[manager.QuickSweep]
	for phase, times := range s.ByPhase() {
		count := uint64(0)
		for _, n := range times.Buckets {
			count += n
		}
		want := heavy
		switch phase {
		case manager.Looking:
			want = s.Sweeps[manager.LightSweep]
		case manager.Walking, manager.Computing:
			want += s.Sweeps[manager.PlanSweep]
		}
		if count != want {
			t.Errorf("%v was timed %d times, want %d", phase, count, want)
		}
		if phase == manager.Walking && times.Sum == 0 {
			t.Error("walks took no time")
		}
	}
	for number, count := range s.Traps() {
		if got := count > 0; got != (number == smp.TrapLinkState) {
			t.Errorf("trap %d: %d", number, count)
		}
	}
}

// A plan shows what would be written of multicast tables: nothing where they are in force,
// and every block where nothing is known of them.
func TestPlanShowsMulticast(t *testing.T) {
	c, _ := filled(t, "fattree:k=4", 5, fabric.Config{Seed: 1})
	const words = "multicast forwarding table block 0, position 0: "
	count := func(steps []string) (n int) {
		for _, s := range steps {
			if strings.Contains(s, words) {
				n++
			}
		}
		return n
	}
	if steps, err := c.m.plan(manager.Plan); err != nil || len(steps) > 0 {
		t.Errorf("at rest: %v, %q", err, steps)
	}
	c.Fabric.SetFaults(fabric.Faults{Loss: 1}) // no trap reports what comes
	c.Fabric.NodeDown(uplinkPeer(c.net))
	c.pass(time.Millisecond)
	c.Fabric.SetFaults(fabric.Faults{})
	steps, err := c.m.plan(manager.Plan)
	if err != nil || count(steps) == 0 || !strings.Contains(strings.Join(steps, "\n"), words+"MLID 0xc00") {
		t.Errorf("without a switch: %v, %q", err, steps)
	}
	cfg := minhopConfig()
	cfg.DryRun = true
	dry := c.add(host(c.net, 1), cfg)
	c.Register(dry.Manager, c.reg.Freeze())
	before := c.mfts()
	c.Run(c.Fabric.Now()+settling, func() bool { return dry.Exited })
	if len(dry.shown) != 1 || count(slices.Collect(dry.shown[0].Steps)) != 19 || c.mfts() != before {
		t.Errorf("a dry run shows %d plans", len(dry.shown))
	}
	c.pass(settling)
	c.judgeMulticast()
}

// A plan has the trees of the trunk of torus-2QoS, as the sweep after it writes them.
func TestPlanShowsTrunk(t *testing.T) {
	n := nettest.Generate(t, "torus:dims=5x5,hosts=1")
	guid := map[string]mad.GUID{}
	for i := range n.Nodes {
		guid[n.Nodes[i].Desc] = n.Nodes[i].GUID
	}
	settings, _, errs := torus.Parse("torus", fmt.Appendf(nil, "torus 5 5 1\nxp_link %#x %#x\nyp_link %#x %#x\n",
		uint64(guid["switch-1-1"]), uint64(guid["switch-2-1"]), uint64(guid["switch-1-1"]), uint64(guid["switch-1-2"])))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	engine, _ := engines.Find("torus-2QoS", &engines.Settings{Torus: settings})
	cfg := minhopConfig()
	cfg.Sweep.Engines = engines.Chain{engine}
	c := newChoir(newHarness(t, n, fabric.Config{Seed: 1}), cfg)
	c.fill(8)
	root := c.m.View.Topo.Switches[c.m.View.Tables.Trunk.Root]
	c.Fabric.SetFaults(fabric.Faults{Loss: 1}) // no trap reports what comes
	c.Fabric.NodeDown(int32(slices.IndexFunc(n.Nodes, func(node net.Node) bool {
		return node.GUID == c.m.View.Topo.Nodes[root].GUID
	})))
	c.pass(time.Millisecond)
	c.Fabric.SetFaults(fabric.Faults{})
	steps, err := c.m.plan(manager.Plan)
	if err != nil {
		t.Fatal(err)
	}
	c.pass(settling)
	shown := 0
	for _, step := range steps {
		from, changes, is := strings.Cut(step, ": multicast forwarding table block 0, position 0: ")
		if !is {
			continue
		}
		sw := slices.IndexFunc(n.Nodes, func(node net.Node) bool { return strings.Contains(from, node.GUID.String()) })
		for change := range strings.SplitSeq(changes, ", ") {
			var mlid mad.LID
			if _, err := fmt.Sscanf(change, "MLID 0x%x ", &mlid); err != nil {
				t.Fatalf("%q: %v", change, err)
			}
			var ports []int
			for port := range n.Nodes[sw].NumPorts() + 1 {
				if c.Fabric.MulticastPort(int32(sw), mlid, uint8(port)) {
					ports = append(ports, port)
				}
			}
			if _, after, _ := strings.Cut(change, " -> "); after != fmt.Sprint(ports) {
				t.Errorf("%s: %s, but the sweep has written %v", from, change, ports)
			}
			shown++
		}
	}
	if shown == 0 {
		t.Errorf("no tree changes: %q", steps)
	}
}

// A repair does not wait for a plan that is being computed, nor for those that wait for it. The plan is that of the
// subnet as it was when it was asked for, says that it may not be so any more, and leaves no trace.
func TestRepairBesidePlan(t *testing.T) {
	const held = 20 * time.Second // in virtual time, for the plan
	n := nettest.Generate(t, "fattree:k=8")
	at := uplink(n, 0)
	type outcome struct {
		steps    []string
		outdated bool
		repaired time.Duration
		sets     uint64
	}
	run := func(plans int, repair func(m *watched)) (out outcome) {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		cfg := minhopConfig()
		cfg.SweepInterval = 0
		m := b.comeUp(cfg)
		b.misinform(host(n, 5))
		var answers []manager.Planned
		forward := m.OnAction
		computing := false
		m.OnAction = func(now time.Duration, a manager.Action) {
			switch a := a.(type) {
			case manager.Planned:
				answers = append(answers, a)
			case manager.Task:
				computing = computing || a.Purpose == manager.ForPlan
			}
			forward(now, a)
		}
		if plans > 0 {
			short := b.ComputeTime
			b.ComputeTime = held
			for number := range plans {
				b.Request(m.Manager, manager.SweepRequested{Sweep: manager.Plan, Number: uint64(number)})
			}
			b.Run(b.Fabric.Now()+settling, func() bool { return computing })
			b.ComputeTime = short
		}
		begun := b.Fabric.Now()
		b.Fabric.ResetStats()
		if repair != nil {
			repair(m)
			out.repaired = b.Fabric.Now() - begun
			out.sets = b.sets()
			if len(answers) > 0 {
				t.Error("the plan was answered before the repair")
			}
		}
		b.pass(held)
		b.Run(b.Fabric.Now()+settling, func() bool { return len(answers) == plans })
		if plans > 0 {
			for number, p := range answers {
				if p.Err != nil || p.Number != uint64(number) || number > 0 && p.Outdated {
					t.Errorf("answer %d: number %d, %v, outdated: %t", number, p.Number, p.Err, p.Outdated)
				}
			}
			if len(answers) != plans || answers[0].Err != nil {
				t.Fatalf("%d plans were answered with %v", plans, answers)
			}
			out.steps, out.outdated = slices.Collect(answers[0].Plan.Steps), answers[0].Outdated
		}
		m.sweep(manager.Heavy)
		b.mustBeWhole(m)
		return out
	}
	quiet := run(1, nil)
	if len(quiet.steps) != 1 || quiet.outdated {
		t.Errorf("without a repair the plan is %q, outdated: %t", quiet.steps, quiet.outdated)
	}
	for name, repair := range ordered(map[string]func(m *watched){
		"link down": func(m *watched) { m.lose(at) },
		"heavy":     func(m *watched) { m.sweep(manager.Heavy) },
		"reroute":   func(m *watched) { m.sweep(manager.Reroute) },
	}) {
		t.Run(name, func(t *testing.T) {
			alone := run(0, repair)
			for _, plans := range []int{1, 16} {
				beside := run(plans, repair)
				if (beside.repaired-alone.repaired).Abs() > 2*latency || beside.sets != alone.sets || beside.sets == 0 {
					t.Errorf("the repair takes %v and %d Sets, beside %d plans %v and %d", alone.repaired, alone.sets,
						plans, beside.repaired, beside.sets)
				}
				if !slices.Equal(beside.steps, quiet.steps) || !beside.outdated {
					t.Errorf("the first of %d plans is %q, outdated: %t; without a repair %q", plans, beside.steps,
						beside.outdated, quiet.steps)
				}
			}
		})
	}
}
