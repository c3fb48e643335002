package sim_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/sweep/routes"
	"ibsm/topo/net"
)

// script is what happens in a transcript.
type script struct {
	name, about string
	fabric      string
	cfg         fabric.Config
	draw        func(n *net.Net) // changes the fabric before it is built; nil for nothing
	run         func(x *transcript)
}

// Fabrics, as their cables.
const (
	twoLeaves = "leaf-1/1=host-1/1 leaf-1/2=host-2/1 leaf-1/3=spine-1/1 leaf-1/4=spine-2/1 " +
		"leaf-2/1=host-3/1 leaf-2/3=spine-1/2 leaf-2/4=spine-2/2"
	// twoSwitches have two cables in between.
	twoSwitches = "switch-1/1=host-1/1 switch-1/2=host-2/1 switch-2/1=host-3/1 " +
		"switch-1/3=switch-2/3 switch-1/4=switch-2/4"
)

// cabled makes a fabric of cables; a node without "host" in its name is a switch.
func cabled(t *testing.T, cables string) *net.Net {
	t.Helper()
	n := &net.Net{}
	end := func(text string) net.End {
		name, number, _ := strings.Cut(text, "/")
		port, _ := strconv.Atoi(number)
		i := slices.IndexFunc(n.Nodes, func(o net.Node) bool { return o.Desc == name })
		if i < 0 {
			i = len(n.Nodes)
			guid := mad.GUID(0x100 * (i + 1))
			node := net.Node{ID: name, Desc: name, Type: mad.Switch, GUID: guid, SystemImageGUID: guid,
				VendorID: 0x2c9, DeviceID: 0xd2f0, EnhancedPort0: true}
			if node.Ports = []net.Port{{GUID: guid, Peer: net.NoEnd}}; strings.Contains(name, "host") {
				node.Type, node.DeviceID, node.EnhancedPort0, node.Ports[0].GUID = mad.CA, 0x101b, false, 0
			}
			n.Nodes = append(n.Nodes, node)
		}
		for at := &n.Nodes[i]; len(at.Ports) <= port; {
			at.Ports = append(at.Ports, net.Port{Peer: net.NoEnd})
			if at.Type == mad.CA {
				at.Ports[len(at.Ports)-1].GUID = at.GUID + mad.GUID(len(at.Ports)-1)
			}
		}
		return net.End{Node: int32(i), Port: uint8(port)}
	}
	for _, cable := range strings.Fields(cables) {
		one, other, _ := strings.Cut(cable, "=")
		a, b := end(one), end(other)
		n.Nodes[a.Node].Ports[a.Port].Peer, n.Nodes[b.Node].Ports[b.Port].Peer = b, a
		for _, at := range []net.End{a, b} {
			p := &n.Nodes[at.Node].Ports[at.Port]
			p.Width, p.Speed = mad.Width4x, mad.HDR
		}
	}
	if err := n.Validate(); err != nil {
		t.Fatal(err)
	}
	return n
}

// transcripts are the runs of which a text is kept.
var transcripts = []script{
	{name: "bring-up",
		about:  "A manager brings up a fabric whose nodes were just powered up.",
		fabric: twoLeaves, run: func(x *transcript) {
			x.begin("a manager begins at host-1", 25*time.Second, func() {
				x.manager("host-1", minhopConfig(), nil)
			})
		}},
	{name: "bring-up-lmc",
		about:  "With LMC 1 each end port but those of switches has two LIDs, the first of which is even.",
		fabric: twoSwitches, run: func(x *transcript) {
			cfg := minhopConfig()
			cfg.Sweep.Settings.LMC = sweep.Given[uint8](1)
			x.begin("a manager begins at host-1", time.Second, func() { x.manager("host-1", cfg, nil) })
		}},
	{name: "takeover",
		about:  "A manager takes over a subnet that another has left: LIDs and routes stay as they are.",
		fabric: twoLeaves, run: func(x *transcript) {
			x.up("host-1", minhopConfig(), nil).retire()
			x.begin("another manager begins at host-3", 2*time.Second, func() {
				x.manager("host-3", minhopConfig(), nil)
			})
		}},
	{name: "light-sweep",
		about:  "A light sweep finds a change whose trap was lost: a link that went down and up.",
		fabric: twoSwitches, run: func(x *transcript) {
			cfg := minhopConfig()
			cfg.IgnoreTraps = true
			m := x.up("host-1", cfg, nil)
			x.begin("a light sweep, and nothing has changed", time.Second, func() {
				x.Ask(m.Manager, manager.Light)
			})
			x.begin("the cable of host-3 is cut, and good again", 3*time.Second, func() {
				x.Fabric.LinkDown(x.at("host-3", 1))
				x.Fabric.LinkUp(x.at("host-3", 1))
				x.Ask(m.Manager, manager.Light)
			})
		}},
	{name: "heavy-sweep",
		about:  "A heavy sweep sets right what a port was given by another.",
		fabric: twoSwitches, run: func(x *transcript) {
			m := x.up("host-1", minhopConfig(), nil)
			x.begin("a heavy sweep, and nothing has changed", time.Second, func() {
				x.Ask(m.Manager, manager.Heavy)
			})
			x.begin("host-3 is given another MasterSMLID, and a heavy sweep is asked for", time.Second, func() {
				x.misinform(x.at("host-3", 1))
				x.Ask(m.Manager, manager.Heavy)
			})
		}},
	{name: "lost-link",
		about:  "Routes avoid a cable that is cut; when it is good again they use it.",
		fabric: twoLeaves, run: func(x *transcript) {
			x.up("host-1", minhopConfig(), nil)
			x.begin("the cable of leaf-2 to spine-1 is cut", 2*time.Second, func() {
				x.Fabric.LinkDown(x.at("leaf-2", 3))
			})
			x.begin("it is good again", 2*time.Second, func() { x.Fabric.LinkUp(x.at("leaf-2", 3)) })
		}},
	{name: "lost-switch",
		about:  "A switch loses power, and has it again.",
		fabric: twoLeaves, run: func(x *transcript) {
			x.up("host-1", minhopConfig(), nil)
			x.begin("spine-1 loses power", 2*time.Second, func() { x.Fabric.NodeDown(x.at("spine-1", 0).Node) })
			x.begin("it has power again", 2*time.Second, func() { x.Fabric.NodeUp(x.at("spine-1", 0).Node) })
		}},
	{name: "reboot",
		about:  "A switch reboots: it has lost LID, tables and states.",
		fabric: twoSwitches, run: func(x *transcript) {
			x.up("host-1", minhopConfig(), nil)
			x.begin("switch-2 reboots", 2*time.Second, func() { x.Fabric.Reboot(x.at("switch-2", 0).Node) })
		}},
	{name: "unresponsive-host",
		about:  "The agent of a host does not answer for a while.",
		fabric: twoSwitches, run: func(x *transcript) {
			m := x.up("host-1", minhopConfig(), nil)
			x.begin("host-3 does not answer, and a heavy sweep is asked for", 8*time.Second, func() {
				x.Fabric.SetUnresponsive(x.at("host-3", 1).Node, true)
				x.Ask(m.Manager, manager.Heavy)
			})
			x.begin("it answers again, and a heavy sweep is asked for", 2*time.Second, func() {
				x.Fabric.SetUnresponsive(x.at("host-3", 1).Node, false)
				x.Ask(m.Manager, manager.Heavy)
			})
		}},
	{name: "moved-host",
		about:  "A host is plugged in elsewhere and keeps its LID.",
		fabric: twoSwitches + " switch-1/5=host-4/1", run: func(x *transcript) {
			x.up("host-1", minhopConfig(), nil)
			x.begin("host-4 is unplugged, and host-3 has its place", 3*time.Second, func() {
				x.Fabric.Plug(x.at("switch-1", 5), x.at("host-3", 1), mad.Width4x, mad.HDR)
			})
		}},
	{name: "duplicate-guid",
		about:  "A host with the port GUID of another is plugged in.",
		fabric: twoSwitches + " switch-1/5=host-4/1", run: func(x *transcript) {
			x.Fabric.LinkDown(x.at("host-4", 1))
			x.up("host-1", minhopConfig(), nil)
			x.begin("host-4, which has the GUID of host-3, is plugged in", 3*time.Second, func() {
				x.Fabric.LinkUp(x.at("host-4", 1))
			})
		}, draw: func(n *net.Net) {
			find := func(name string) *net.Node {
				return &n.Nodes[slices.IndexFunc(n.Nodes, func(o net.Node) bool { return o.Desc == name })]
			}
			one, other := find("host-3"), find("host-4")
			other.GUID, other.Ports[1].GUID = one.GUID, one.Ports[1].GUID
		}},
	{name: "election",
		about:  "Three managers begin at once: that of the highest priority becomes MASTER.",
		fabric: twoSwitches, run: func(x *transcript) {
			x.begin("managers of priority 1, 9 and 5 begin", 12*time.Second, func() {
				x.manager("host-1", ranked(1), nil)
				x.manager("host-2", ranked(9), nil)
				x.manager("host-3", ranked(5), nil)
			})
		}},
	{name: "handover",
		about:  "A manager that ranks higher comes, and is handed the mastership.",
		fabric: twoSwitches, run: func(x *transcript) {
			x.up("host-1", ranked(3), nil)
			x.begin("a manager of priority 9 begins at host-3", 12*time.Second, func() {
				x.manager("host-3", ranked(9), nil)
			})
		}},
	{name: "failover",
		about:  "The MASTER dies; its standby takes over, and leaves LIDs and routes as they are.",
		fabric: twoSwitches, run: func(x *transcript) {
			first := x.up("host-1", ranked(9), nil)
			x.up("host-3", ranked(3), nil)
			x.begin("the manager at host-1 is killed", 50*time.Second, func() { x.Kill(first.Manager) })
		}},
	{name: "leave",
		about:  "The MASTER is asked to end, and hands over to the higher of two standbys.",
		fabric: twoSwitches, run: func(x *transcript) {
			first := x.up("host-1", ranked(9), nil)
			x.up("host-2", ranked(3), nil)
			x.up("host-3", ranked(5), nil)
			x.begin("the manager at host-1 is asked to end", 3*time.Second, func() { x.Leave(first.Manager) })
		}},
	{name: "leave-to-others",
		about:  "The MASTER is asked to end beside two standbys that are not ibsm; it hands over to the higher at once.",
		fabric: twoSwitches, run: func(x *transcript) {
			first := x.up("host-1", ranked(9), nil)
			x.foreign("host-2", 3)
			x.foreign("host-3", 5)
			x.pass(settling)
			x.begin("the manager at host-1 is asked to end", time.Second, func() { x.Leave(first.Manager) })
		}},
	{name: "false-master",
		about:  "A host says that it is MASTER of a higher priority, without the SM_Key.",
		fabric: twoSwitches, run: func(x *transcript) {
			cfg := minhopConfig()
			cfg.Elect.SMKey = 0x5ec
			m := x.up("host-1", cfg, nil)
			i := x.intrude(x.at("host-3", 1))
			x.begin("host-3 sets IsSM and says that it is MASTER of priority 15", 3*time.Second, func() {
				i.impersonate(15, smp.Master, 1)
				x.Ask(m.Manager, manager.Heavy)
			})
		}},
	{name: "m-key",
		about:  "All ports have one M_Key, which becomes another.",
		fabric: twoSwitches, run: func(x *transcript) {
			cfg := minhopConfig()
			cfg.Sweep.Settings.MKey, cfg.Sweep.Settings.MKeyProtect = sweep.Given(mad.MKey(0x77)), sweep.Given[uint8](1)
			cfg.Sweep.Settings.MKeyLease = sweep.Given[uint16](60)
			var m *watched
			x.begin("a manager with M_Key 0x77 begins at host-1", time.Second, func() {
				m = x.manager("host-1", cfg, nil)
			})
			cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x78))
			x.begin("the M_Key is changed to 0x78", time.Second, func() { x.Configure(m.Manager, cfg) })
		}},
	{name: "port-m-keys",
		about:  "Each port has an M_Key of its own, and another manager with the secret takes over.",
		fabric: twoSwitches, run: func(x *transcript) {
			var m *watched
			x.begin("a manager with M_Keys for each port begins at host-1", time.Second, func() {
				m = x.manager("host-1", portMKeys(1), nil)
			})
			x.Kill(m.Manager)
			cfg := portMKeys(1)
			cfg.Sweep.Restored = x.kept(x.at("host-3", 1))
			x.begin("it is killed, and another begins at host-3", time.Second, func() {
				x.manager("host-3", cfg, nil)
			})
		}},
	{name: "lanes",
		about:  "Ports get SLtoVLMappingTables and VLArbitrationTables.",
		fabric: twoSwitches, run: func(x *transcript) {
			var m *watched
			x.begin("a manager with QoS begins at host-1", time.Second, func() {
				m = x.manager("host-1", laneConfig(0, 7), nil)
			})
			x.begin("qos_high_limit is changed to 9", time.Second, func() {
				x.Configure(m.Manager, laneConfig(0, 9))
			})
		}},
	{name: "adaptive-routing",
		about:  "A manager finds adaptive routing on at a switch, and leaves it on where it writes no routes.",
		fabric: twoLeaves, cfg: fabric.Config{Caps: adaptive(-1)}, run: func(x *transcript) {
			x.up("host-1", minhopConfig(), nil).retire()
			for _, name := range []string{"leaf-1", "leaf-2", "spine-1", "spine-2"} {
				x.Fabric.AdaptiveOn(x.at(name, 0).Node, false)
			}
			x.begin("another manager has turned adaptive routing on everywhere; one begins at host-3", time.Second,
				func() {
					x.manager("host-3", minhopConfig(), nil)
				})
			x.begin("the cable of leaf-2 to spine-1 is cut", 2*time.Second, func() {
				x.Fabric.LinkDown(x.at("leaf-2", 3))
			})
		}},
	{name: "adaptive-routing-off",
		about:  "With ar_mode disable adaptive routing is turned off.",
		fabric: twoSwitches, cfg: fabric.Config{Caps: adaptive(-1)}, run: func(x *transcript) {
			x.up("host-1", minhopConfig(), nil).retire()
			x.Fabric.AdaptiveOn(x.at("switch-1", 0).Node, false)
			cfg := minhopConfig()
			cfg.Sweep.Settings.AR = routes.DisableAR
			x.begin("switch-1 has adaptive routing on; a manager begins at host-3", time.Second, func() {
				x.manager("host-3", cfg, nil)
			})
		}},
	{name: "partitions",
		about:  "Ports get P_Keys; the policy is changed, and ports gain the new key before they lose the old one.",
		fabric: twoSwitches, run: func(x *transcript) {
			cfg := minhopConfig()
			cfg.Sweep.Partitions.Policy = parsePolicy(x.t, "Default=0x7fff: ALL=limited, SELF=full;\n"+
				"red=0x0001: 0x201=full, 0x501=full;\n")
			var m *watched
			x.begin("a manager begins at host-1; red=0x0001 has host-1 and host-3", time.Second, func() {
				m = x.manager("host-1", cfg, nil)
			})
			next := parsePolicy(x.t, "Default=0x7fff: ALL=limited, SELF=full;\nblue=0x0002: 0x201=full, 0x501=full;\n")
			x.begin("blue=0x0002 takes the place of red", time.Second, func() {
				x.Partition(m.Manager, sweep.Partitions{Policy: next})
			})
		}},
	{name: "multicast",
		about:  "Hosts join the broadcast group; one subscribes to traps, and one goes.",
		fabric: twoSwitches, run: func(x *transcript) {
			x.up("host-1", registrarConfig(), nil)
			two, three := x.client("host-2"), x.client("host-3")
			x.begin("host-2 subscribes to trap 65", 300*time.Millisecond, func() {
				x.askSA(two, sarec.AttrInformInfo, func(p *mad.Packet) {
					info := (*sarec.InformInfo)(p.SAData()[:])
					info.SetLIDRangeBegin(registry.AnyLID)
					info.SetIsGeneric(1)
					info.SetType(registry.AnyType)
					info.SetTrapNumber(uint16(smp.TrapGIDOutOfService))
					info.SetProducerType(registry.AnyProducer)
					info.SetQPN(1)
					info.SetSubscribe(1)
				})
			})
			x.begin("host-2 joins the broadcast group", 300*time.Millisecond, func() { x.joinBroadcast(two) })
			x.begin("host-3 joins it", 300*time.Millisecond, func() { x.joinBroadcast(three) })
			x.begin("host-3 loses power", 2*time.Second, func() { x.Fabric.NodeDown(x.at("host-3", 1).Node) })
		}},
	{name: "restart",
		about:  "A manager is killed, and begins again with its store: nothing is written.",
		fabric: twoSwitches, run: func(x *transcript) {
			m := x.up("host-1", minhopConfig(), sim.NewDisk(10*time.Millisecond))
			m.retire()
			x.begin("the manager begins again at host-1", 2*time.Second, func() {
				x.manager("host-1", minhopConfig(), m.Disk)
			})
		}},
	{name: "engine",
		about:  "The routing engine is changed, and routes are computed afresh when that is asked for.",
		fabric: twoLeaves, run: func(x *transcript) {
			m := x.up("host-1", minhopConfig(), nil)
			x.begin("the configuration is read again, with updn", 2*time.Second, func() {
				x.Configure(m.Manager, chainConfig(x.t, engines.Settings{}, "updn"))
			})
			x.begin("a reroute is asked for", 2*time.Second, func() { x.Ask(m.Manager, manager.Reroute) })
		}},
	{name: "drain", about: "A spine is drained: routes avoid it.", fabric: twoLeaves, run: func(x *transcript) {
		m := x.up("host-1", minhopConfig(), nil)
		cfg := minhopConfig()
		cfg.Sweep.Drained = []routing.SwitchPort{{Switch: x.net.Nodes[x.at("spine-1", 0).Node].GUID}}
		x.begin("spine-1 is drained", 2*time.Second, func() { x.Configure(m.Manager, cfg) })
	}},
}

// ranked is a manager with a priority, which answers clients.
func ranked(priority uint8) manager.Config {
	cfg := registrarConfig()
	cfg.Elect.Priority = priority
	return cfg
}
