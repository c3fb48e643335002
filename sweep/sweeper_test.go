package sweep

import (
	"context"
	"slices"
	"strings"
	"testing"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/routing"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/sweep/lids"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/topo/net"
)

const small = "fattree:k=4,levels=2"

// TestRefusedSet: what a port holds after it refused a Set is what counts, and a
// refusal of what is there already is none.
func TestRefusedSet(t *testing.T) {
	for _, c := range []struct {
		name     string
		op       smp.PortState // of the Sets that are refused
		taken    bool          // the port did it all the same
		again    mad.Status    // of the Get that follows
		failures bool
	}{
		{"arming, done before", smp.PortArmed, true, 0, false},
		{"arming", smp.PortArmed, false, 0, true},
		{"arming, and no answer that helps", smp.PortArmed, false, mad.StatusBadField, true},
		{"activating, done before", smp.PortActive, true, 0, false},
		{"activating", smp.PortActive, false, 0, true},
	} {
		b := newHarness(t, small, Config{})
		gets, refused := 0, 0
		b.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.Attr != smp.AttrPortInfo {
				return
			}
			set := (*smp.PortInfo)(&req.Data)
			switch {
			case req.Method == mad.MethodSet && set.PortState() == c.op:
				if refused++; !c.taken {
					// Undo it: the simulated port has taken it.
					state := smp.PortInit
					if c.op == smp.PortActive {
						state = smp.PortArmed
					}
					(*smp.PortInfo)(&o.Data).SetPortState(state)
				}
				o.Status = mad.StatusBadField
			case req.Method == mad.MethodGet && b.program != nil:
				gets++
				o.Status = c.again
				if !c.taken {
					(*smp.PortInfo)(&o.Data).SetPortState(c.op - 1)
				}
			}
		}
		out := b.heavy()
		once := len(b.net.Nodes) // each node gets one refused Set without bit 31 of the modifier, first
		if refused == 0 || gets != refused-once {
			t.Errorf("%s: %d refusals, %d looks at what the ports hold", c.name, refused, gets)
		}
		if (len(out.Failures) > 0) != c.failures {
			t.Errorf("%s: failures %v", c.name, out.Failures)
		}
	}
}

// TestUnresponsiveNode: a node that does not answer Sets is passed over, and the rest comes
// up.
func TestUnresponsiveNode(t *testing.T) {
	b := newHarness(t, small, Config{})
	sick := mad.GUID(0)
	sent := 0
	b.meddle = func(req *txn.Request, o *txn.Outcome) {
		if b.program == nil || req.Route.Hops() != 1 { // our own switch
			return
		}
		sent++
		sick = b.net.Nodes[b.node(mad.Switch, 0)].GUID
		*o = txn.Outcome{Tag: o.Tag, Method: o.Method, Attr: o.Attr, Mod: o.Mod, Result: txn.TimedOut}
	}
	out := b.heavy()
	const maxTimeOuts = 2 // Sets of an attribute that a node may leave unanswered in a sweep
	if sent > maxTimeOuts || len(out.Failures) == 0 || len(out.Failures) > maxTimeOuts+1 {
		t.Errorf("%d Sets to a node that does not answer, %d failures of %v: %v", sent, len(out.Failures), sick,
			out.Failures)
	}
	b.meddle = nil
	if out = b.heavy(); len(out.Failures) != 0 {
		t.Errorf("failures when it answers again: %v", out.Failures)
	}
	if at, bad := b.fabric.FirstNotActive(); bad {
		t.Errorf("port %v is not ACTIVE", at)
	}
}

// TestTableNotHeld: a switch that does not hold its table lets no data in, also over links to
// switches that are ARMED already, and is named once.
func TestTableNotHeld(t *testing.T) {
	for name, spoil := range map[string]func(req *txn.Request, o *txn.Outcome){
		"another block": func(req *txn.Request, o *txn.Outcome) {
			if req.Attr == smp.AttrLinearForwardingTable { // also where it is read again
				o.Data[1] ^= 1
			}
		},
		"block refused": func(req *txn.Request, o *txn.Outcome) {
			if req.Attr == smp.AttrLinearForwardingTable && req.Method == mad.MethodSet {
				o.Status = mad.StatusBadField
			}
		},
		"block without response": func(req *txn.Request, o *txn.Outcome) {
			if req.Attr == smp.AttrLinearForwardingTable && req.Method == mad.MethodSet {
				o.Result = txn.TimedOut
			}
		},
		"another LinearFDBTop": func(req *txn.Request, o *txn.Outcome) {
			if req.Attr == smp.AttrSwitchInfo {
				(*smp.SwitchInfo)(&o.Data).SetLinearFDBTop(3)
			}
		},
	} {
		b := newHarness(t, small, Config{})
		found := b.walk()
		before := found.Builder.Freeze()
		found.Drop()
		for i := range before.Ports {
			if port := &before.Ports[i]; port.Peer != topo.None && before.IsSwitchPort(topo.PortIdx(i)) &&
				before.IsSwitchPort(port.Peer) {
				b.arm(before, topo.PortIdx(i))
			}
		}
		armed := 0
		b.meddle = func(req *txn.Request, o *txn.Outcome) {
			if len(req.Route.Ports()) != 1 {
				return
			}
			spoil(req, o)
			if set := (*smp.PortInfo)(&req.Data); req.Attr == smp.AttrPortInfo && req.Method == mad.MethodSet &&
				set.PortState() >= smp.PortArmed {
				armed++
			}
		}
		out := b.heavy()
		if armed != 0 {
			t.Errorf("%s: %d links armed at the switch", name, armed)
		}
		left := slices.DeleteFunc(slices.Clone(out.Failures), func(f finding.Finding) bool {
			return f.Kind != finding.Unrouted && f.Kind != finding.Excluded
		})
		if len(left) != 1 || left[0].Kind != finding.Unrouted {
			t.Errorf("%s: want one switch whose links are left in INIT, failures %v", name, out.Failures)
		}
		for _, sw := range b.state.devices.Switches {
			if sent := sw.LFT.State(0); sent == device.InFlight {
				t.Errorf("%s: a block of %v is still %v", name, sw.GUID, sent)
			}
		}
		b.meddle = nil
		b.heavy()
		if out = b.heavy(); len(out.Failures) != 0 || len(b.sets) != 0 {
			t.Errorf("%s: afterwards failures %v, %d Sets", name, out.Failures, len(b.sets))
		}
	}
}

// TestFieldNotHeld: it is reported once, and not sent for ever.
func TestFieldNotHeld(t *testing.T) {
	b := newHarness(t, small, Config{Settings: Settings{SubnetTimeOut: Given[uint8](9)}})
	b.meddle = func(req *txn.Request, o *txn.Outcome) {
		if req.Attr == smp.AttrPortInfo {
			(*smp.PortInfo)(&o.Data).SetSubnetTimeOut(31)
		}
	}
	out := b.heavy()
	hosts := 0
	for _, h := range out.NotKept {
		if h.Detail == "SubnetTimeOut" {
			hosts++
		}
	}
	if hosts != len(out.NotKept) || hosts != len(out.Topo.EndPorts) {
		t.Errorf("%d end ports, not held: %v", len(out.Topo.EndPorts), out.NotKept)
	}
	for range 2 {
		if out = b.heavy(); len(out.NotKept) != 0 || len(b.sets) != 0 {
			t.Errorf("again: %d Sets, not held %v", len(b.sets), out.NotKept)
		}
	}
}

func TestLightSweep(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(b *harness)
		reason string // "" for none
		extent Extent
	}{
		{"nothing changed", func(*harness) {}, "", 0},
		{"a link falls", func(b *harness) {
			b.fabric.LinkDown(net.End{Node: b.node(mad.Switch, 1), Port: 1})
		}, "change of port state", Quick},
		{"a switch does not answer", func(b *harness) {
			b.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Attr == smp.AttrSwitchInfo && req.Route.Hops() == 2 {
					o.Result = txn.TimedOut
				}
			}
		}, "does not answer", Retry},
		{"a switch refuses", func(b *harness) {
			b.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Attr == smp.AttrSwitchInfo {
					o.Status = mad.StatusBadMethodAttr
				}
			}
		}, "does not answer", Retry},
		{"a table is lost", func(b *harness) {
			b.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Attr == smp.AttrSwitchInfo {
					(*smp.SwitchInfo)(&o.Data).SetLinearFDBTop(0)
				}
			}
		}, "lost its forwarding table", Quick},
		{"our own port", func(b *harness) {
			b.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Attr == smp.AttrPortInfo {
					(*smp.PortInfo)(&o.Data).SetPortState(smp.PortInit)
				}
			}
		}, "our own port is Initialize", Full},
		{"our own port does not answer once", func(b *harness) {
			b.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Attr == smp.AttrPortInfo {
					o.Result, o.Data = txn.TimedOut, [mad.DataSize]byte{}
				}
			}
		}, "", 0},
	} {
		b := up(t, small, Config{})
		c.spoil(b)
		reason, of, sms := b.look()
		if (reason == "") != (c.reason == "") || !strings.Contains(reason, c.reason) || of != c.extent ||
			len(sms) != 0 {
			t.Errorf("%s: %q, extent %v, managers %v", c.name, reason, of, sms)
		}
		if switches := b.asked[smp.AttrSwitchInfo]; len(b.sets) != 0 || switches != len(b.state.prev.Switches) ||
			b.asked[smp.AttrPortInfo] != 1 || len(b.asked) != 2 {
			t.Errorf("%s: asked %v, %d Sets", c.name, b.asked, len(b.sets))
		}
	}
}

// TestLightSweepStaleBlocks: a block of any attribute whose Set was repeated is read again. Where the device holds
// another one, a heavy sweep is needed.
func TestLightSweepStaleBlocks(t *testing.T) {
	for i := range device.Attributes {
		table := &device.Attributes[i]
		b := up(t, small, Config{Settings: Settings{QoS: true}})
		top, block := b.state.prev, device.Block{}
		for _, p := range top.EndPorts {
			port := &top.Ports[p]
			node := &top.Nodes[port.Node]
			if table.Blocks(node, port.Num) > 0 {
				block = device.Block{Place: device.Place{Attr: table.ID, Node: node.GUID, Port: port.Num}}
			}
		}
		b.state.devices.Check(block)
		if reason, _, _ := b.look(); reason != "" || b.asked[table.ID] != 1 {
			t.Fatalf("%s: %q after %d Gets of %+v", table.Name, reason, b.asked[table.ID], block)
		}
		b.state.devices.Check(block)
		b.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.Attr == table.ID {
				o.Data[0] ^= 1
			}
		}
		if reason, of, _ := b.look(); !strings.Contains(reason, "holds an old block of its "+table.Name) ||
			of != Quick {
			t.Errorf("%s: %q, extent %v", table.Name, reason, of)
		}
	}
}

// TestLightSweepKey: the key is shown, or a protected fabric would not answer.
func TestLightSweepKey(t *testing.T) {
	b := up(t, small, Config{Settings: Settings{MKey: Given[mad.MKey](0x55), MKeyProtect: Given[uint8](2)}})
	if reason, _, _ := b.look(); reason != "" {
		t.Errorf("in a subnet with an M_Key: %q", reason)
	}
}

// TestUnresponsive: what does not answer behind a port that is up is asked again.
func TestUnresponsive(t *testing.T) {
	b := up(t, small, Config{})
	host := b.node(mad.CA, 3)
	b.fabric.SetUnresponsive(host, true)
	out := b.heavy()
	if n := out.Topo.FindNode(b.net.Nodes[host].GUID); n == topo.None || out.Topo.Nodes[n].Missed != 1 ||
		!b.Waiting() || len(b.sets) != 0 {
		t.Fatalf("node %d, waiting %v, %d Sets", n, b.Waiting(), len(b.sets))
	}
	if reason, _, _ := b.look(); reason != "" || b.asked[smp.AttrNodeInfo] != 1 {
		t.Errorf("it is unresponsive still: %q, asked %v", reason, b.asked)
	}
	b.fabric.SetUnresponsive(host, false)
	if reason, of, _ := b.look(); !strings.Contains(reason, "something answers") || of != Retry {
		t.Errorf("it answers: %q", reason)
	}
}

// TestWaitAndTakeDown: a host that stays unresponsive keeps its routes for MaxMissed sweeps;
// then its link is taken down.
func TestWaitAndTakeDown(t *testing.T) {
	b := up(t, small, Config{})
	host := b.node(mad.CA, 3)
	guid := b.net.Nodes[host].Ports[1].GUID
	lid := lids.Find(b.state.lids, guid).Base
	b.fabric.SetUnresponsive(host, true)
	for i := range topo.MaxMissed {
		if out := b.heavy(); len(b.sets) != 0 || len(out.Lost) != 0 || out.Tables.LFT[0][lid] == 0xff {
			t.Fatalf("sweep %d: %d Sets, given up %v", i+1, len(b.sets), out.Lost)
		}
	}
	out := b.heavy()
	down := slices.ContainsFunc(b.sets, func(s fabric.Set) bool {
		return s.Attr == smp.AttrPortInfo && (*smp.PortInfo)(&s.Data).PortState() == smp.PortDown
	})
	if len(out.Lost) != 1 || out.Lost[0] != b.net.Nodes[host].GUID || !down || out.Tables.LFT[0][lid] != 0xff {
		t.Errorf("given up %v, taken down %v, route to %d", out.Lost, down, out.Tables.LFT[0][lid])
	}
	b.fabric.SetUnresponsive(host, false)
	for range 3 {
		b.heavy()
	}
	if at, bad := b.fabric.FirstNotActive(); bad || lids.Find(b.state.lids, guid).Base != lid {
		t.Errorf("port %v is not ACTIVE, LID %v was %v", at, lids.Find(b.state.lids, guid), lid)
	}
}

// TestProbeLostOnce: a cable whose node answers elsewhere, and whose own probe was
// lost, is not taken down at once.
func TestProbeLostOnce(t *testing.T) {
	b := up(t, small, Config{})
	prev := b.state.prev
	host := prev.FindPort(b.net.Nodes[b.node(mad.CA, 3)].Ports[1].GUID)
	key := plan.Key{Node: prev.Nodes[prev.Ports[prev.Ports[host].Peer].Node].GUID,
		Port: prev.Ports[prev.Ports[host].Peer].Num}
	now := *prev
	now.Ports = slices.Clone(prev.Ports)
	now.Ports[prev.Ports[host].Peer].Peer = topo.None
	now.Ports[host].Peer = topo.None
	for i := range topo.MaxMissed {
		counts, dead, grace := b.state.unanswered(&now, true, topo.MaxMissed)
		if b.state.unresponsive = counts; len(dead) != 0 || !grace || counts[key] != uint8(i+1) {
			t.Fatalf("sweep %d: dead %v, grace %v", i+1, dead, grace)
		}
	}
	counts, dead, grace := b.state.unanswered(&now, true, topo.MaxMissed)
	if b.state.unresponsive = counts; len(dead) != 1 || grace {
		t.Errorf("after %d sweeps: dead %v, grace %v", topo.MaxMissed, dead, grace)
	}
	counts, _, _ = b.state.unanswered(prev, true, topo.MaxMissed)
	if b.state.unresponsive = counts; len(counts) != 0 {
		t.Error("a port is counted that is not unresponsive")
	}
	// But a node that has been waited for as a node is not waited for again.
	old := *prev
	old.Nodes = slices.Clone(prev.Nodes)
	old.Nodes[prev.Ports[host].Node].Missed = topo.MaxMissed
	b.state.prev = &old
	if _, dead, _ := b.state.unanswered(&now, true, topo.MaxMissed); len(dead) != 1 {
		t.Errorf("a node that was given up: dead %v", dead)
	}
}

// TestReserved: while something is unresponsive whose LID is not known, entries of LIDs that
// nobody owns stay.
func TestReserved(t *testing.T) {
	b := up(t, small, Config{})
	host := b.node(mad.CA, 3)
	guid := b.net.Nodes[host].Ports[1].GUID
	lid := lids.Find(b.state.lids, guid).Base
	before := slices.Clone(b.fabric.LFT(b.node(mad.Switch, 0)))
	fresh := New(Config{Engines: b.cfg.Engines}) // a manager that comes anew
	b.Sweeper = fresh
	b.fabric.SetUnresponsive(host, true)
	out := b.heavy()
	if out.LIDs.PortOf(lid) != topo.None || slices.Contains(out.LIDs.Base, lid) {
		t.Errorf("LID %v of an unresponsive host is given out", lid)
	}
	if after := b.fabric.LFT(b.node(mad.Switch, 0)); after[lid] != before[lid] {
		t.Errorf("its entry was %d and is %d", before[lid], after[lid])
	}
	for _, s := range b.sets {
		if s.Attr == smp.AttrLinearForwardingTable {
			t.Errorf("a block is written")
		}
	}
}

// TestForget: after another manager has been master, the state of the fabric takes precedence.
func TestForget(t *testing.T) {
	b := up(t, small, Config{})
	moved := b.node(mad.CA, 5)
	guid := b.net.Nodes[moved].Ports[1].GUID
	other := New(Config{Engines: b.cfg.Engines})
	mine := b.Sweeper
	b.Sweeper = other
	other.state.lids = []lids.Assignment{{Port: guid, Base: 40}} // it gives another LID
	b.heavy()
	if info := b.fabric.PortInfo(net.End{Node: moved, Port: 1}); info.LID() != 40 {
		t.Fatal("the other manager is not master")
	}
	mine.Abdicate()
	if mine.Known() || mine.Waiting() {
		t.Error("a subnet is known after abdication")
	}
	b.Sweeper = mine
	b.heavy()
	for _, s := range b.sets {
		if info := (*smp.PortInfo)(&s.Data); s.Attr != smp.AttrPortInfo || !info.ClientReregister() {
			t.Errorf("Set of %v", smp.AttrName(s.Attr))
		}
	}
	if info := b.fabric.PortInfo(net.End{Node: moved, Port: 1}); info.LID() != 40 {
		t.Errorf("LID 40 becomes %v", info.LID())
	}
}

// TestUnmatchedReply: a late reply with an older block makes the block unknown.
func TestUnmatchedReply(t *testing.T) {
	b := up(t, small, Config{})
	sw := b.state.prev.Switches[0]
	node := &b.state.prev.Nodes[sw]
	reply := func(change func(p *mad.Packet)) *mad.Packet {
		var p mad.Packet
		p.SetDirected(&node.Route, mad.MethodGetResp, smp.AttrLinearForwardingTable, 0)
		copy(p.Data()[:], b.state.devices.Find(node.GUID).LFT.Row())
		change(&p)
		return &p
	}
	for _, c := range []struct {
		name   string
		change func(p *mad.Packet)
		want   bool
	}{
		{"the block as it is", func(*mad.Packet) {}, false},
		{"a refusal", func(p *mad.Packet) {
			p.Data()[3] ^= 1
			p.SetStatus(mad.StatusBadField)
		}, false},
		{"a block that is not held", func(p *mad.Packet) {
			m := mad.MakeRoute(node.Route.Ports()...)
			p.SetDirected(&m, mad.MethodGetResp, smp.AttrLinearForwardingTable, 1<<31)
		}, false},
		{"a route that leads nowhere", func(p *mad.Packet) {
			p.Data()[3] ^= 1
			p.InitialPath()[1] = 77
		}, false},
		{"another attribute", func(p *mad.Packet) {
			p.SetDirected(&node.Route, mad.MethodGetResp, smp.AttrSwitchInfo, 0)
		}, false},
		{"an older block", func(p *mad.Packet) { p.Data()[3] ^= 1 }, true},
		{"the same again", func(p *mad.Packet) { p.Data()[3] ^= 1 }, false},
	} {
		if got := b.UnmatchedReply(reply(c.change)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	b.heavy()
	if b.asked[smp.AttrLinearForwardingTable] == 0 {
		t.Error("the doubtful block is believed")
	}
	if New(Config{}).UnmatchedReply(reply(func(p *mad.Packet) { p.Data()[3] ^= 1 })) {
		t.Error("a stray of an unknown subnet")
	}
}

// TestRebooted: the table of a switch that has, or may have, rebooted is written again.
func TestRebooted(t *testing.T) {
	for name, spoil := range map[string]func(b *harness, sw int32){
		"rebooted": func(b *harness, sw int32) { b.fabric.Reboot(sw) },
		"LinearFDBTop is another": func(b *harness, sw int32) {
			b.state.devices.Find(b.net.Nodes[sw].GUID).Top++
		},
	} {
		b := up(t, small, Config{})
		sw := b.node(mad.Switch, 0)
		spoil(b, sw)
		b.heavy()
		if b.asked[smp.AttrLinearForwardingTable] == 0 {
			t.Errorf("%s: the table is neither read nor written", name)
		}
		b.heavy()
		if at, bad := b.fabric.FirstNotActive(); bad || len(b.sets) != 0 {
			t.Errorf("%s: port %v not ACTIVE: %v, %d Sets in the next sweep", name, at, bad, len(b.sets))
		}
	}
}

// TestLearn holds a table that was not read against the signs of a reboot.
func TestLearn(t *testing.T) {
	for _, c := range []struct {
		name    string
		top     mad.LID // that the switch says; it holds one up to 9
		before  uint8   // port in use at the last walk; 0 none
		now     uint8
		believe bool
	}{
		{"nothing changed", 9, 1, 1, true},
		{"another port", 9, 1, 2, false},
		{"no port any more", 9, 1, 0, false},
		{"no port before", 9, 0, 1, true},
		{"another top", 8, 1, 1, false},
		{"as after power-up", 0, 0, 0, false},
	} {
		m, top := newState(Restored{}), twoStars(t)
		node := &top.Nodes[top.Switches[0]]
		s := device.Switch{GUID: node.GUID, LFT: device.Read(make([]uint8, 64), nil), Top: 9}
		if c.top == 0 {
			s.Top = 0
		}
		if c.before > 0 {
			s.Up.Add(c.before)
		}
		if c.now > 0 {
			top.Ports[top.Port(top.Switches[0], c.now)].Info.SetPortState(smp.PortActive)
		}
		m.devices.Switches = []device.Switch{s}
		node.SwitchInfo.SetLinearFDBTop(c.top)
		if known := m.walked(top, nil, nil)[0].LFT != nil; known != c.believe {
			t.Errorf("%s: believed %v", c.name, known)
		}
	}
}

// TestKeep: routes are kept as far as they can be, unless there is more to use.
func TestKeep(t *testing.T) {
	b := newHarness(t, small, Config{})
	for _, c := range []struct {
		name string
		do   func()
		want routing.Keep
	}{
		{"cold", func() {}, routing.KeepNone},
		{"unchanged", func() {}, routing.KeepMinimal},
		{"a link falls", func() { b.fabric.LinkDown(b.inner()) }, routing.KeepMinimal},
		{"it returns", func() { b.fabric.LinkUp(b.inner()) }, routing.KeepNone},
		{"asked for", func() { b.Reroute() }, routing.KeepNone},
		{"another manager's", func() { b.Sweeper = New(b.cfg) }, routing.KeepWorking},
		{"still", func() {}, routing.KeepWorking},
		{"asked for again", func() { b.Reroute() }, routing.KeepNone},
		{"ours from then on", func() {}, routing.KeepMinimal},
	} {
		c.do()
		if out := b.heavy(); out.Keep != c.want || len(out.Failures) != 0 {
			t.Errorf("%s: %d, want %d; failures %v", c.name, out.Keep, c.want, out.Failures)
		}
	}
}

// TestReturns: the routes of another manager are what they were when a link, a switch or a host is back, and no link is
// said to be unused.
func TestReturns(t *testing.T) {
	b := up(t, small, Config{})
	b.Sweeper = New(b.cfg)
	first := b.heavy()
	spine := b.inner()
	for i := range b.net.Nodes {
		if strings.HasPrefix(b.net.Nodes[i].Desc, "spine") {
			spine.Node = int32(i)
		}
	}
	for _, lost := range []struct {
		name       string
		take, back func()
	}{
		{"link", func() { b.fabric.LinkDown(b.inner()) }, func() { b.fabric.LinkUp(b.inner()) }},
		{"switch", func() { b.fabric.NodeDown(spine.Node) }, func() { b.fabric.NodeUp(spine.Node) }},
		{"host", func() { b.fabric.NodeDown(b.node(mad.CA, 5)) }, func() { b.fabric.NodeUp(b.node(mad.CA, 5)) }},
	} {
		lost.take()
		if out := b.heavy(); out.Keep != routing.KeepWorking ||
			slices.EqualFunc(out.Tables.LFT, first.Tables.LFT, slices.Equal) {
			t.Errorf("%s lost: keep %d, and nothing changed: a useless test", lost.name, out.Keep)
		}
		lost.back()
		if out := b.heavy(); out.Keep != routing.KeepWorking || out.Unused ||
			!slices.EqualFunc(out.Tables.LFT, first.Tables.LFT, slices.Equal) {
			t.Errorf("%s back: keep %d, links unused: %v, or other tables", lost.name, out.Keep, out.Unused)
		}
	}
}

// inner is a port of a link between switches.
func (b *harness) inner() net.End {
	for at := range b.fabric.Ports() {
		if peer := b.fabric.Peer(at); peer != net.NoEnd && b.fabric.NodeType(at.Node) == mad.Switch &&
			b.fabric.NodeType(peer.Node) == mad.Switch {
			return at
		}
	}
	b.Fatal("no link between switches")
	return net.NoEnd
}

// TestDropped: a walk that is given up when it is done has cleared PortStateChange; the next quick one reads those
// ports all the same.
func TestDropped(t *testing.T) {
	b := up(t, small, Config{})
	lost := b.inner()
	b.fabric.LinkDown(lost)
	b.extent = Quick
	b.walk().Drop()
	out := b.heavy()
	guid := b.fabric.PortGUID(net.End{Node: lost.Node})
	if p := out.Topo.FindNodePort(guid, lost.Port); !out.Found.Quick || p == topo.None ||
		out.Topo.Ports[p].Peer != topo.None {
		t.Errorf("the link that is lost is believed to be there: quick %v", out.Found.Quick)
	}
}

// TestCancelled: a computation that is given up leaves a Sweeper that can go on.
func TestCancelled(t *testing.T) {
	b := up(t, small, Config{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	found := b.walk()
	if c := found.Task(1).Run(ctx); c != nil {
		t.Error("a cancelled computation has a result")
	}
	found.Drop()
	if !b.Known() {
		t.Error("the subnet is not known any more")
	}
	b.heavy()
	if len(b.sets) != 0 {
		t.Errorf("%d Sets afterwards", len(b.sets))
	}
}

// TestSteps shows a plan without carrying it out, twice the same.
func TestSteps(t *testing.T) {
	b := newHarness(t, small, Config{})
	c := b.walk().Task(1).Run(context.Background())
	var shown [2][]string
	for i := range shown {
		for s := range c.Steps {
			shown[i] = append(shown[i], s)
		}
	}
	if len(shown[0]) < 50 || !slices.Equal(shown[0], shown[1]) {
		t.Errorf("%d and %d steps", len(shown[0]), len(shown[1]))
	}
	out, sent := b.write(c), 0
	for _, n := range out.Sets {
		sent += n
	}
	if sent != len(shown[0]) || len(out.Failures) != 0 {
		t.Errorf("%d steps are shown, %d Sets sent, failures %v", len(shown[0]), sent, out.Failures)
	}
}

// A switch on which another manager has written LinearFDBTop may have other multicast
// tables, too.
func TestForeignTables(t *testing.T) {
	b := up(t, "fattree:k=4", Config{})
	prev := b.state.prev
	for s, n := range prev.Switches {
		node := prev.Nodes[n]
		info := node.SwitchInfo
		info.SetLinearFDBTop(info.LinearFDBTop() + 1)
		o := b.ask(&txn.Request{Route: node.Route, Method: mad.MethodSet, Attr: smp.AttrSwitchInfo, Data: info})
		if o.Result != txn.Replied || o.Status != mad.StatusOK {
			t.Fatalf("%+v", o)
		}
		for at := range b.state.devices.Switches {
			b.state.devices.Switches[at].Multicast = device.Anything
		}
		b.heavy()
		for at, sw := range b.state.devices.Switches {
			if want := at == s; (sw.Multicast == device.AnotherSM) != want {
				t.Errorf("switch %d has another LinearFDBTop: the multicast table of switch %d may hold %v", s, at,
					sw.Multicast)
			}
		}
	}
}
