package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/routing"
	"ibsm/routing/lanes"
	"ibsm/routing/minhop"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// lanesOf is the table that writeLanes gives to a pair of ports, another one for each.
func lanesOf(node int32, in, out, salt uint8) (t smp.SLtoVLMappingTable) {
	for sl := range uint8(16) {
		t.SetVL(sl, uint8(node)*3+in+5*out+sl*(salt|1))
	}
	return t
}

// writeLanes gives each pair of ports a table of its own. It sends by LID, from a host
// without a manager.
func (b *harness) writeLanes(from net.End, salt uint8) {
	b.Helper()
	st, err := b.Fabric.Attach(from)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Detach()
	set := func(to net.End, in, out uint8, mod uint32) {
		info := b.Fabric.PortInfo(to)
		d := mad.Datagram{Addr: mad.Addr{LID: info.LID()}}
		d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrSLtoVLMappingTable, mod)
		*d.Packet.Data() = lanesOf(to.Node, in, out, salt)
		st.Send([]mad.Datagram{d})
		b.pass(time.Millisecond)
	}
	for to := range b.Fabric.EndPorts() {
		if b.Fabric.NodeType(to.Node) != mad.Switch {
			set(to, 0, 0, 0)
			continue
		}
		for out := range b.Fabric.NumPorts(to.Node) + 1 {
			for in := range b.Fabric.NumPorts(to.Node) + 1 {
				set(to, in, out, smp.SLtoVLMod(in, out))
			}
		}
	}
}

// laneSMPs counts the Gets or Sets of tables of lanes.
func (b *harness) laneSMPs(m mad.Method) uint64 {
	smps := b.Fabric.Stats().SMPs
	return smps[fabric.Kind{Method: m, Attr: smp.AttrSLtoVLMappingTable}] +
		smps[fabric.Kind{Method: m, Attr: smp.AttrVLArbitrationTable}]
}

// useOf is the use of lanes of all kinds of port that the tests want: without a VL 15, which would
// drop what the subnet administrator is asked.
func useOf(limit uint8) lanes.Uses {
	all := lanes.Settings{HighLimit: &limit, Low: []lanes.Turn{{VL: 6, Weight: 11}, {VL: 1, Weight: 12}},
		SLtoVL: []uint8{0, 5, 3, 2, 1, 14}}
	return lanes.NewUses(all, [lanes.Kinds]lanes.Settings{})
}

// lanesWrong lists ports with a link that do not use their lanes as useOf says.
func (b *harness) lanesWrong(limit uint8) (wrong []string) {
	for at := range b.Fabric.Ports() {
		info, isSwitch, ins := b.Fabric.PortInfo(at), b.Fabric.NodeType(at.Node) == mad.Switch, uint8(0)
		if isSwitch {
			sw := b.Fabric.SwitchInfo(at.Node)
			if ins = b.Fabric.NumPorts(at.Node); at.Port == 0 && !sw.EnhancedPort0() {
				continue
			}
		}
		if !b.Fabric.Powered(at.Node) || info.PortState() == smp.PortDown {
			continue
		}
		note := func(what string, got, want uint8) {
			if got != want {
				wrong = append(wrong, fmt.Sprintf("%v: %s is %d, want %d", at, what, got, want))
			}
		}
		mask := uint8(1)<<(info.OperationalVLs()-1) - 1
		for in := range ins + 1 {
			for sl, vl := range [16]uint8{0, 5, 3, 2, 1, 14} {
				note(fmt.Sprintf("VL of SL %d from port %d", sl, in), b.Fabric.VL(at, in, uint8(sl)), vl&mask)
			}
		}
		if info.VLCap() == 1 {
			continue
		}
		note("VLHighLimit", info.VLHighLimit(), limit)
		low := b.Fabric.VLArbitration(at, 0)
		for i, want := range [3][2]uint8{{6 & mask, 11}, {1 & mask, 12}, {}} {
			if i < int(info.VLArbitrationLowCap()) {
				vl, weight := low.Entry(i)
				note(fmt.Sprintf("VL of turn %d", i), vl, want[0])
				note(fmt.Sprintf("weight of turn %d", i), weight, want[1])
			}
		}
	}
	return wrong
}

// laneConfig is that of a manager with QoS.
func laneConfig(priority, limit uint8) manager.Config {
	cfg := minhopConfig()
	cfg.Elect.Priority = priority
	cfg.Sweep.Settings.QoS, cfg.Sweep.Settings.Lanes = true, useOf(limit)
	return cfg
}

// lanes counts the SLtoVLMappingTables of ports with a link that the view does not have, and those
// that it has otherwise than the fabric.
func (b *harness) lanes(m *watched) (unknown, wrong int) {
	b.Helper()
	t := m.View.Topo
	for p := range t.Ports {
		port := &t.Ports[p]
		node := &t.Nodes[port.Node]
		at, found := b.Fabric.Find(t.Ports[t.EndPort(topo.PortIdx(p))].GUID)
		if base := node.Type == mad.Switch && port.Num == 0 && !node.SwitchInfo.EnhancedPort0(); !found || !port.Seen ||
			base || port.Info.PortState() == smp.PortDown {
			continue // a base port 0 sends on VL 15 alone
		}
		ins := uint8(0)
		if node.Type == mad.Switch {
			at.Port, ins = port.Num, node.NumPorts
		}
		held := m.View.Ports.Blocks(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: node.GUID, Port: port.Num})
		for in := range ins + 1 {
			table := smp.SLtoVLMappingTable(held.Known(int(in)))
			if held.State(int(in)) != device.Known {
				unknown++
				continue
			}
			var want smp.SLtoVLMappingTable
			for sl := range uint8(16) {
				want.SetVL(sl, b.Fabric.VL(at, in, sl))
			}
			if table != want {
				wrong++
			}
		}
	}
	return unknown, wrong
}

// With QoS a manager has every port use its lanes as configured, whoever wrote before. It asks and
// writes only where something may be otherwise.
func TestLanes(t *testing.T) {
	for name, wildcards := range ordered(map[string]uint8{"one by one": 0, "wildcards": 1}) {
		t.Run(name, func(t *testing.T) { testLanes(t, wildcards) })
	}
}

func testLanes(t *testing.T, wildcards uint8) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	b := newHarness(t, n,
		fabric.Config{Seed: 1, TrainTime: 5 * time.Millisecond, Caps: func(i int32, node *net.Node, c *fabric.Caps) {
			c.OptimizedSLtoVL, c.OneVL = wildcards, i%2 == 0
			if c.VLCap = uint8(i)%5 + 1; node.Type == mad.Switch {
				c.VLCap = uint8(i)%3 + 3
			}
		}})
	plain := b.comeUp(minhopConfig())
	if b.laneSMPs(mad.MethodGet)+b.laneSMPs(mad.MethodSet) > 0 ||
		plain.View.Ports.Blocks(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: plain.View.Topo.Nodes[0].GUID,
			Port: 1}) != nil {
		t.Error("lanes are read or written without QoS")
	}
	b.writeLanes(host(n, 3), 0)
	plain.retire()
	m := b.add(host(n, 5), laneConfig(3, 40))
	t.Cleanup(m.dump)
	expect := func(what string, writes bool, limit uint8) {
		t.Helper()
		sets := b.laneSMPs(mad.MethodSet)
		if writes != (sets > 0) {
			t.Errorf("%s: %d tables are written", what, sets)
		}
		if wrong := b.lanesWrong(limit); wrong != nil {
			t.Errorf("%s: %d values are wrong, such as %s", what, len(wrong), wrong[0])
		}
		if unknown, wrong := b.lanes(m); unknown+wrong > 0 {
			t.Errorf("%s: %d tables are not known, %d are not as the fabric has them", what, unknown, wrong)
		}
		b.Fabric.ResetStats()
	}
	b.pass(settling)
	expect("takeover", true, 40)
	for range 3 {
		m.sweep(manager.Heavy)
	}
	if n := b.laneSMPs(mad.MethodGet); n > 0 {
		t.Errorf("heavy sweeps ask for %d tables", n)
	}
	expect("heavy sweeps", false, 40)

	bounced := uplink(n, firstSwitch(b))
	b.Fabric.LinkDown(bounced)
	b.pass(settling)
	b.Fabric.LinkUp(bounced)
	b.pass(settling)
	expect("a link between switches comes back", false, 40)
	b.Fabric.Reboot(host(n, 2).Node)
	b.pass(settling)
	expect("a host reboots", true, 40)
	b.Fabric.Reboot(firstSwitch(b))
	b.pass(settling)
	expect("a switch reboots", true, 40)
	b.Configure(m.Manager, laneConfig(3, 41))
	b.pass(settling)
	expect("another VLHighLimit", false, 41)

	m.retire()
	m = b.add(host(n, 5), laneConfig(3, 41))
	t.Cleanup(m.dump)
	b.pass(settling)
	expect("a restart", false, 41)

	high := minhopConfig()
	high.Elect.Priority = 9
	other := b.add(host(n, 0), high)
	t.Cleanup(other.dump)
	b.pass(settling)
	if m.last() != smp.Standby {
		t.Fatalf("beside a higher manager it is %v", m.last())
	}
	b.writeLanes(host(n, 3), 2)
	b.Kill(other.Manager)
	b.Fabric.ResetStats()
	b.pass(2 * settling)
	expect("another manager was master", true, 41)

	cfg := laneConfig(3, 41)
	cfg.Sweep.Settings.QoS = false
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	if b.laneSMPs(mad.MethodGet)+b.laneSMPs(mad.MethodSet) > 0 {
		t.Error("tables that do not matter any more are read or written")
	}
}

// TestSLtoVLSingly: no wildcard is sent where that is not wanted, though all switches take them, and all ports get
// their tables.
func TestSLtoVLSingly(t *testing.T) {
	for _, singly := range []bool{false, true} {
		wildcards := 0
		b := newHarness(t, nettest.Generate(t, "fattree:k=4,levels=2"),
			fabric.Config{Seed: 1, Caps: func(_ int32, _ *net.Node, c *fabric.Caps) {
				c.OptimizedSLtoVL = 1
				c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					if p.AttrID() == smp.AttrSLtoVLMappingTable && p.Method() == mad.MethodSet && p.AttrMod() > 0xffff {
						wildcards++
					}
					return obey(), true
				}
			}})
		cfg := laneConfig(0, 7)
		cfg.Sweep.Settings.SLtoVLSingly = singly
		b.comeUp(cfg)
		if wrong := b.lanesWrong(7); wrong != nil || wildcards > 0 == singly {
			t.Errorf("singly %v: %d wildcards; %d values are wrong, %v", singly, wildcards, len(wrong),
				wrong[:min(len(wrong), 1)])
		}
	}
}

// What is lost on the way is written again, and of ports that refuse, forget or change their
// tables nothing wrong is believed. Where a switch refuses a wildcard it gets its tables one by one.
func TestLanesAreLost(t *testing.T) {
	for _, seed := range seeds(t) {
		n := nettest.Generate(t, "fattree:k=4,levels=2")
		unresponsive, refuses, truncates := host(n, 2), host(n, 6), host(n, 4)
		rng, lossy := rand.New(rand.NewPCG(seed, 0x51)), true
		b := newHarness(t, n, fabric.Config{Seed: seed, Caps: func(i int32, node *net.Node, c *fabric.Caps) {
			c.OneVL, c.OptimizedSLtoVL = true, 1
			c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				wildcard := p.AttrID() == smp.AttrSLtoVLMappingTable && p.AttrMod() > 0xffff
				switch {
				case p.AttrID() != smp.AttrSLtoVLMappingTable && p.AttrID() != smp.AttrVLArbitrationTable:
				case i == refuses.Node, wildcard && i%3 == 1:
					return mad.StatusBadMethodAttr, true
				case i == unresponsive.Node, lossy && rng.IntN(3) > 0:
					return mad.StatusOK, false
				case i == truncates.Node && p.Method() == mad.MethodSet: // it takes the first byte
					clear(p.Data()[1:])
					return obey(), true
				case wildcard && i%3 == 2: // it takes another
					p.Data()[0] ^= 0x33
					status := obey()
					return status, true
				}
				return obey(), true
			}
		}})
		m := b.comeUp(minhopConfig())
		b.Configure(m.Manager, laneConfig(0, 7))
		b.pass(settling)
		lossy = false
		b.Ask(m.Manager, manager.Heavy)
		b.pass(2 * settling)
		for _, w := range b.lanesWrong(7) {
			var at net.End
			if fmt.Sscanf(w, "{%d %d}", &at.Node, &at.Port); at != unresponsive && at != refuses && at != truncates {
				t.Fatalf("seed %d: %s", seed, w)
			}
		}
		// The host that truncates tables shows what it holds.
		if unknown, wrong := b.lanes(m); unknown != 2 || wrong > 0 {
			t.Errorf(
				"seed %d: %d tables are not known, want those of the two hosts that do not show theirs; %d are wrong",
				seed, unknown, wrong)
		}
		for what, sick := range ordered(map[string]net.End{"answers nothing": unresponsive, "refuses": refuses,
			"truncates": truncates}) {
			if guid := b.Fabric.PortGUID(sick); !slices.ContainsFunc(m.View.Findings, func(f finding.Finding) bool {
				return m.View.Topo.FindPort(guid) != topo.None &&
					f.Node == m.View.Topo.Nodes[m.View.Topo.Ports[m.View.Topo.FindPort(guid)].Node].GUID
			}) {
				t.Errorf("seed %d: no fault of the host that %s: %+v", seed, what, m.View.Findings)
			}
		}
	}
}

// threeSLs puts the paths of min-hop on three SLs, by the switches of both ends.
func threeSLs(ctx context.Context, in routing.In) (*routing.Tables, error) {
	tables, err := minhop.Route(ctx, in)
	if err != nil {
		return nil, err
	}
	rows := make([][]uint8, len(in.Topo.Switches))
	for s := range rows {
		rows[s] = make([]uint8, len(rows))
		for to := range rows[s] {
			rows[s][to] = uint8(s+to) % 3
		}
	}
	of := *tables
	of.SLs = routing.SLsBySwitch(in.Topo, in.LIDs, rows)
	return &of, nil
}

// Without QoS the tables are left as they are as long as all paths have SL 0. An engine that puts
// paths on several SLs has them written: each SL on the lane of its number, at every port before a
// link is ARMED. Hosts send to the manager on the SL of their path.
func TestLanesOfEngine(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, _ *net.Node, c *fabric.Caps) {
		c.OneVL, c.VLCap = true, 3
	}})
	cfg := minhopConfig()
	cfg.Sweep.Engines, cfg.Sweep.Settings.EngineSLs = engines.Chain{{Name: "three", Route: threeSLs}}, true
	cfg.Sweep.Settings.Lanes = useOf(9)
	m := b.comeUp(cfg)
	for at := range b.Fabric.Ports() {
		info, ins := b.Fabric.PortInfo(at), uint8(0)
		if isSwitch := b.Fabric.NodeType(at.Node) == mad.Switch; isSwitch {
			ins = b.Fabric.NumPorts(at.Node)
		}
		if at.Port == 0 || info.PortState() != smp.PortActive {
			continue
		}
		for in := range ins + 1 {
			for sl := range uint8(3) {
				if vl := b.Fabric.VL(at, in, sl); vl != sl {
					t.Fatalf("%v: SL %d from port %d is on VL %d", at, sl, in, vl)
				}
			}
		}
		if info.VLHighLimit() != 9 {
			t.Errorf("%v: VLHighLimit %d", at, info.VLHighLimit())
		}
	}
	v, several := m.View, map[uint8]bool{}
	for _, p := range v.Topo.EndPorts {
		info := &v.Topo.Ports[p].Info
		at, _ := b.Fabric.Find(v.Topo.Ports[p].GUID)
		held := b.Fabric.PortInfo(at)
		want := v.Tables.SLs.Of(info.LID(), v.LIDs.Base[v.Topo.Self])
		if several[want] = true; held.MasterSMSL() != want {
			t.Errorf("%v: MasterSMSL %d, want %d", at, held.MasterSMSL(), want)
		}
	}
	if len(several) < 2 {
		t.Fatal("all paths to the manager have one SL")
	}
	b.Fabric.ResetStats()
	for range 2 {
		m.sweep(manager.Heavy)
	}
	m.retire()
	b.add(host(n, 4), cfg)
	b.pass(settling)
	if sets := b.laneSMPs(mad.MethodSet); sets > 0 {
		t.Errorf("%d tables are written again", sets)
	}
}

// TestPlanShowsLanes: a dry run shows both tables of VL arbitration as they would be written.
func TestPlanShowsLanes(t *testing.T) {
	limit := uint8(7)
	b := newHarness(t, nettest.Generate(t, "fattree:k=4,levels=2"), fabric.Config{Seed: 1})
	cfg := laneConfig(0, limit)
	cfg.Sweep.Settings.Lanes = lanes.NewUses(lanes.Settings{HighLimit: &limit, High: []lanes.Turn{{VL: 2, Weight: 9}},
		Low: []lanes.Turn{{VL: 1, Weight: 12}, {VL: 3, Weight: 4}}}, [lanes.Kinds]lanes.Settings{})
	cfg.DryRun = true
	dry := b.add(host(b.net, 1), cfg)
	b.Run(b.Fabric.Now()+settling, func() bool { return dry.Exited })
	if len(dry.shown) != 1 {
		t.Fatalf("%d plans", len(dry.shown))
	}
	text := strings.Join(slices.Collect(dry.shown[0].Steps), "\n")
	for _, want := range []string{"VLArbitrationTable, low priority from entry 0, VL:weight 1:12 3:4 0:0",
		"VLArbitrationTable, high priority from entry 0, VL:weight 2:9 0:0", "VLHighLimit"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
