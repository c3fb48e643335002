package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// ops is what is done where, in order: "Arm 0x30:2".
func (s *subnet) ops(steps []Step) (out []string) {
	names := map[Op]string{ClearChange: "clear", DisableAR: "noAR", SetSwitch: "switch", SetLFT: "lft", AddPKeys: "add",
		SetPKeys: "keys", SetPort: "set",
		Arm: "arm", Activate: "activate", TakeDown: "down", ShutOff: "off", TurnOn: "on"}
	for _, st := range steps {
		p := &s.Ports[st.Port]
		out = append(out, fmt.Sprintf("%s %x:%d", names[st.Op], uint64(s.Nodes[p.Node].GUID), p.Num))
	}
	return out
}

// all are the steps of a plan by stage, without carrying them out. Without partitions the
// stages of partition tables and of lanes are left out, and without new links those of links.
func (s *subnet) all(p *Plan) (out [][]string) {
	for more := true; more; more = p.Advance() {
		var steps []Step
		for st, ok := p.Next(); ok; st, ok = p.Next() {
			steps = append(steps, st)
		}
		lanes, pkeys := p.at >= LaneSwitches && p.at <= LanePairs, p.at >= RelaxEnforcement && p.at <= MoveHostPKeys
		links := (p.at == ArmLinks || p.at == ActivateLinks) && len(p.links) == 0
		if s.in.Partitions != nil || !lanes && !pkeys && !links {
			out = append(out, s.ops(steps))
		}
	}
	p.Rewind()
	return out
}

func (s *subnet) expect(t *testing.T, name string, want ...[]string) {
	t.Helper()
	got := s.all(New(s.in))
	for i := range got {
		var w []string
		if i < len(want) {
			w = want[i]
		}
		if !slices.Equal(got[i], w) {
			t.Errorf("%s: stage %d is %q, want %q", name, i, got[i], w)
		}
	}
}

func TestColdPlan(t *testing.T) {
	s := newSubnet(t)
	s.expect(t, "cold",
		[]string{"clear 20:0", "clear 30:0"},
		[]string{"switch 20:0", "switch 30:0"},
		[]string{"lft 20:0", "lft 30:0"},
		[]string{"set 10:1"},
		[]string{"arm 10:1", "set 20:0", "arm 20:1", "arm 20:2", "arm 30:0", "arm 30:1", "arm 30:2", "arm 30:3",
			"arm 40:1", "arm 50:1"},
		[]string{"activate 10:1", "activate 20:1", "activate 20:2", "activate 30:0", "activate 30:1", "activate 30:2",
			"activate 30:3",
			"activate 40:1", "activate 50:1"})
	s.carryOut(t, New(s.in))
	for i := range s.Ports {
		if p := &s.Ports[i]; p.Seen && (p.Peer != topo.None || p.Num == 0) && p.Info.PortState() != smp.PortActive {
			t.Errorf("node %v port %d is %v", s.Nodes[p.Node].GUID, p.Num, p.Info.PortState())
		}
	}
}

func TestNothingToDo(t *testing.T) {
	s := newSubnet(t)
	s.up(t)
	s.expect(t, "unchanged")
	// What the plan believes to be there must have been acknowledged, not only sent.
	s.in.Known[0].Take(0, device.Contradicted)
	s.expect(t, "dirty block", nil, nil, []string{"lft 20:0"})
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(s *subnet)
		want  [][]string
	}{
		{"a host has rebooted", func(s *subnet) {
			*s.info(hostGUID, 1) = newSubnet(t).Ports[s.at(hostGUID, 1)].Info
			s.info(sw2GUID, 2).SetPortState(smp.PortInit)
		}, [][]string{4: {"arm 30:2", "arm 40:1"}, 5: {"activate 30:2", "activate 40:1"}}},
		{"a LID is another", func(s *subnet) { s.info(hostGUID, 1).SetLID(77) }, [][]string{4: {"set 40:1"}}},
		{"our own LID is another", func(s *subnet) {
			s.info(selfGUID, 1).SetLID(77)
		}, [][]string{3: {"set 10:1"}, 4: nil}},
		{"a port is ARMED", func(s *subnet) {
			s.info(sw2GUID, 3).SetPortState(smp.PortArmed)
		}, [][]string{5: {"activate 30:3"}}},
		{"top is another", func(s *subnet) {
			s.Nodes[s.Switches[1]].SwitchInfo.SetLinearFDBTop(9)
		}, [][]string{1: {"switch 30:0"}, 2: nil}},
		{"a port changed its state", func(s *subnet) { s.Nodes[s.Switches[0]].SwitchInfo.SetPortStateChange(true) },
			[][]string{0: {"clear 20:0"}}},
		{"no routes", func(s *subnet) {
			s.in.Tables = nil
			s.info(hostGUID, 1).SetPortState(smp.PortInit)
			s.info(hostGUID, 1).SetLID(9)
			s.info(sw2GUID, 2).SetPortState(smp.PortInit)
		}, [][]string{4: {"set 40:1"}}},
		{"a peer does not answer", func(s *subnet) {
			s.Nodes[s.FindNode(hostGUID)].Missed = 1
			s.info(hostGUID, 1).SetLID(77)
			s.info(hostGUID, 1).SetPortState(smp.PortArmed)
			s.info(sw2GUID, 2).SetPortState(smp.PortArmed)
		}, nil},
		{"a switch does not answer", func(s *subnet) {
			s.Nodes[s.FindNode(sw2GUID)].Missed = 3
			s.Nodes[s.Switches[1]].SwitchInfo.SetLinearFDBTop(9)
			s.Nodes[s.Switches[1]].SwitchInfo.SetPortStateChange(true)
			s.in.Known[1] = nil
			s.info(sw2GUID, 0).SetLID(77)
		}, nil},
		{"nothing answers behind a port", func(s *subnet) {
			s.Ports[s.at(sw2GUID, 2)].Peer = topo.None
			s.in.Dead = []topo.PortIdx{s.at(sw2GUID, 2)}
		}, [][]string{4: {"down 30:2"}}},
		{"a port is enabled again", func(s *subnet) {
			s.info(sw2GUID, 2).SetPortState(smp.PortDown)
			s.in.Enable = []topo.PortIdx{s.at(sw2GUID, 2)}
		}, [][]string{4: {"on 30:2"}}},
		{"a port babbles", func(s *subnet) {
			s.in.Disable = []topo.PortIdx{s.at(sw2GUID, 2)}
		}, [][]string{4: {"off 30:2"}}},
		{"the peer is down", func(s *subnet) {
			s.info(hostGUID, 1).SetPortState(smp.PortDown)
			s.info(sw2GUID, 2).SetPortState(smp.PortInit)
			s.info(sw2GUID, 2).SetHOQLife(31) // written when it is armed
		}, nil},
		{"no LID is left", func(s *subnet) {
			s.in.LIDs.Base[s.at(hostGUID, 1)] = 0
			s.info(hostGUID, 1).SetPortState(smp.PortInit)
			s.info(sw2GUID, 2).SetPortState(smp.PortInit)
		}, nil},
		{"another manager's clients", func(s *subnet) {
			s.info(hostGUID, 1).SetMasterSMLID(9)
		}, [][]string{0: {"set 40:1"}}},
		{"another manager's clients, while our own LID is another", func(s *subnet) {
			s.info(hostGUID, 1).SetMasterSMLID(9)
			s.info(selfGUID, 1).SetLID(77)
		}, [][]string{3: {"set 10:1"}, 4: {"set 40:1"}}},
		{"another manager's clients, one with another LID", func(s *subnet) {
			s.info(hostGUID, 1).SetMasterSMLID(9)
			s.info(hostGUID, 1).SetLID(77)
		}, [][]string{4: {"set 40:1"}}},
		{"another manager's switch", func(s *subnet) {
			s.info(sw2GUID, 0).SetMasterSMLID(9)
		}, [][]string{4: {"set 30:0"}}},
		{"all clients should register", func(s *subnet) { s.in.Values.ReregisterAll = true },
			[][]string{3: {"set 10:1"}, 4: {"set 20:0", "set 30:0", "set 40:1", "set 50:1"}}},
		{"none is", func(s *subnet) { s.in.Values.ReregisterAll, s.in.Values.NoReregister = true, true }, nil},
		{"adaptive routing is on", func(s *subnet) {
			s.Nodes[s.Switches[0]].AR = topo.AROn
			s.in.DisableAR = []topo.SwitchIdx{0}
		}, [][]string{0: {"noAR 20:0"}}},
		{"adaptive routing is on and stays", func(s *subnet) { s.Nodes[s.Switches[0]].AR = topo.AROn }, nil},
		{"a port without a cable", func(s *subnet) {
			s.info(sw1GUID, 3).SetHOQLife(31)
			s.info(sw1GUID, 3).SetPortState(smp.PortActive)
		}, nil},
	} {
		s := newSubnet(t)
		s.up(t)
		c.spoil(s)
		s.expect(t, c.name, c.want...)
	}
}

// TestNewLinks: in a subnet in use, a switch that has lost its tables gets them, then its links to others go ACTIVE,
// and then the others get theirs. Its other links, and those to hosts, go ACTIVE last.
func TestNewLinks(t *testing.T) {
	for _, order := range [][][]topo.SwitchIdx{nil, {{0}}, {{0}, {1}}} {
		s := newSubnet(t)
		s.up(t)
		fresh := newSubnet(t)
		for num := range uint8(4) {
			*s.info(sw2GUID, num) = *fresh.info(sw2GUID, num)
		}
		s.info(sw1GUID, 2).SetPortState(smp.PortInit)
		// while the other was away, nothing went there
		lost, leads := s.in.Tables.LFT[0], slices.Clone(s.in.Tables.LFT[0])
		leads[5] = 2
		s.in.Tables.LFT[0] = leads
		s.in.Known = []*device.Blocks{device.Read(lost, nil), nil}
		s.in.Order = order
		want := [][]string{2: {"lft 30:0"}, 3: {"arm 20:2", "arm 30:1"}, 4: {"activate 20:2", "activate 30:1"},
			5: {"lft 20:0"}}
		if len(order) > 1 {
			want = append(want, nil) // the second list is written before
		}
		s.expect(t, fmt.Sprint("a switch has rebooted, order ", order), append(want, nil,
			[]string{"arm 30:0", "arm 30:2", "arm 30:3"},
			[]string{"activate 30:0", "activate 30:2", "activate 30:3"})...)
		s.carryOut(t, New(s.in))
		if p := New(s.in); !p.Empty() {
			t.Errorf("order %v: after it there is still %q to do", order, s.all(p))
		}
		for num := range uint8(4) {
			*s.info(sw2GUID, num) = *fresh.info(sw2GUID, num)
		}
		s.info(sw1GUID, 2).SetPortState(smp.PortInit)
		unread := device.Read(slices.Clone(lost), []int{0})
		for name, held := range map[string]*device.Blocks{"leads there": device.Read(leads, nil),
			"is not known": unread} {
			if s.in.Known = []*device.Blocks{held, nil}; len(New(s.in).newLinks()) > 0 {
				t.Errorf("order %v: a link goes ACTIVE although a table that %s", order, name)
			}
		}
		s.in.Known, s.in.Disable = []*device.Blocks{device.Read(lost, nil), nil}, []topo.PortIdx{s.at(sw1GUID, 2)}
		if len(New(s.in).newLinks()) > 0 {
			t.Errorf("order %v: a link goes ACTIVE that the plan disables", order)
		}
	}
}

// A device that loses a field again and again is believed to ignore it: a port that is up, and a
// port 0 whatever port state it reports, for it has no link.
func TestFieldNotKept(t *testing.T) {
	for _, c := range []struct {
		name  string
		node  mad.GUID
		num   uint8
		state smp.PortState
	}{{"port 0", sw1GUID, 0, smp.PortNoChange}, {"port 0 in ACTIVE", sw1GUID, 0, smp.PortActive},
		{"a port in ACTIVE", hostGUID, 1, smp.PortActive}} {
		s := newSubnet(t)
		s.up(t)
		port := s.at(c.node, c.num)
		s.info(c.node, c.num).SetPortState(c.state)
		asked := 0
		for range 5 {
			s.info(c.node, c.num).SetSubnetTimeOut(3)
			p := New(s.in)
			for _, st := range p.portStep(nil, port, false) {
				if st.Op == SetPort {
					asked++
					s.in.Unsupported.Tried(p.Place(smp.AttrPortInfo, port))
				}
			}
		}
		if asked != 2 {
			t.Errorf("%s: sent %d times, want 2", c.name, asked)
		}
	}
}

func TestRequests(t *testing.T) {
	s := newSubnet(t)
	s.in.Values.ReregisterAll = true
	p := New(s.in)
	host := s.at(hostGUID, 1)
	armed, _ := p.Set(Step{Op: Arm, Port: host})
	if data := (*smp.PortInfo)(&armed.Data); data.PortState() != smp.PortArmed || data.LID() != 4 ||
		!data.ClientReregister() {
		t.Errorf("arming sends %v, LID %v, reregister %v", data.PortState(), data.LID(), data.ClientReregister())
	}
	if _, ok := p.Set(Step{Op: Activate, Port: host}); ok {
		t.Error("a port in INIT is activated")
	}
	s.info(hostGUID, 1).SetPortState(smp.PortArmed)
	if _, ok := p.Set(Step{Op: Activate, Port: host}); ok {
		t.Error("a port is activated before its peer is ARMED")
	}
	s.info(sw2GUID, 2).SetPortState(smp.PortArmed)
	active, ok := p.Set(Step{Op: Activate, Port: host})
	if data := (*smp.PortInfo)(&active.Data); !ok || data.PortState() != smp.PortActive || data.ClientReregister() {
		t.Errorf("activating: %v, %v, reregister %v", ok, data.PortState(), data.ClientReregister())
	}
	off, _ := p.Set(Step{Op: ShutOff, Port: host})
	if data := (*smp.PortInfo)(&off.Data); data.PortState() != smp.PortDown ||
		data.PortPhysicalState() != smp.PhysDisabled {
		t.Errorf("shutting off: %v %v", data.PortState(), data.PortPhysicalState())
	}
	on, _ := p.Set(Step{Op: TurnOn, Port: host})
	if data := (*smp.PortInfo)(&on.Data); data.PortState() != smp.PortNoChange ||
		data.PortPhysicalState() != smp.PhysPolling {
		t.Errorf("turning on: %v %v", data.PortState(), data.PortPhysicalState())
	}
	s.Nodes[s.FindNode(hostGUID)].SetsExtended = false
	if plain, _ := p.Set(Step{Op: SetPort, Port: host}); plain.Mod != 1 {
		t.Errorf("a device that knows no extended speeds is sent modifier %#x", plain.Mod)
	}

	sw := s.at(sw1GUID, 0)
	s.Nodes[s.Switches[0]].SwitchInfo.SetPortStateChange(true)
	clear, _ := p.Set(Step{Op: ClearChange, Port: sw})
	set, _ := p.Set(Step{Op: SetSwitch, Port: sw})
	if c, s := (*smp.SwitchInfo)(&clear.Data), (*smp.SwitchInfo)(&set.Data); !c.PortStateChange() ||
		s.PortStateChange() ||
		s.LinearFDBTop() != 5 || s.LifeTimeValue() != 16 {
		t.Errorf("SwitchInfo: clearing %v, setting %v, top %d, life time %d", c.PortStateChange(), s.PortStateChange(),
			s.LinearFDBTop(), s.LifeTimeValue())
	}
	lft, _ := p.Set(Step{Op: SetLFT, Port: sw})
	if string(lft.Data[:]) != string(s.in.Tables.LFT[0]) || lft.Attr != smp.AttrLinearForwardingTable || lft.Mod != 0 {
		t.Errorf("block 0 is sent as %v %d", lft.Attr, lft.Mod)
	}
}

// TestBlocksInTurn: each block goes to all switches before the next one does.
func TestBlocksInTurn(t *testing.T) {
	s := newSubnet(t)
	s.in.Tables.Top = 130
	for i := range s.in.Tables.LFT {
		s.in.Tables.LFT[i] = row(3, uint8(i+1))
	}
	s.in.Known[0] = device.Read(append(row(1, 1), row(2, 9)...), nil) // block 0 is there
	p := New(s.in)
	for p.at < ForwardingTables {
		p.Advance()
	}
	var got []string
	for st, ok := p.Next(); ok; st, ok = p.Next() {
		got = append(got, fmt.Sprintf("%d:%d", s.Nodes[s.Ports[st.Port].Node].Switch, st.Block))
	}
	if want := []string{"1:0", "0:1", "1:1", "0:2", "1:2"}; !slices.Equal(got, want) {
		t.Errorf("switch and block %v, want %v", got, want)
	}
}

// TestDescribe: a plan in words names what changes, and never an M_Key.
func TestDescribe(t *testing.T) {
	s := newSubnet(t)
	s.info(hostGUID, 1).SetMKey(0xdeadbeef)
	s.Nodes[s.Switches[0]].AR = topo.AROn
	s.in.DisableAR = []topo.SwitchIdx{0}
	s.in.Dead = []topo.PortIdx{s.at(sw1GUID, 3)}
	s.in.Known[1] = device.Read(row(1, 3), nil)
	s.in.Values.ReregisterAll = true
	p := New(s.in)
	var all []string
	for more := true; more; more = p.Advance() {
		for st, ok := p.Next(); ok; st, ok = p.Next() {
			all = append(all, p.Describe(st))
		}
	}
	text := strings.Join(all, "\n")
	for _, secret := range []string{"deadbeef", "DEADBEEF", "5ec2e7", "3735928559", "6210279"} {
		if strings.Contains(text, secret) {
			t.Errorf("an M_Key shows: %s", secret)
		}
	}
	for _, want := range []string{
		`switch 0x0000000000000020 "0x0000000000000020": clear PortStateChange`,
		"turn adaptive routing off",
		"LinearFDBTop 0 -> 5, LifeTimeValue 18 -> 16",
		"forwarding table block 0 (LIDs 0 to 63), whatever it holds",
		"LID 1 3 -> 1", "LID 2 3 -> none",
		"port 1: LID 0 -> 4", "M_Key", "ClientReregister PortState -> Armed", "PortState -> Active",
		"take the link down",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestChanges: each field that a plan sets is named with its old and its new value.
func TestChanges(t *testing.T) {
	for want, set := range map[string]func(p *smp.PortInfo){
		"LID 0 -> 7": func(p *smp.PortInfo) { p.SetLID(7) }, "LMC 0 -> 2": func(p *smp.PortInfo) { p.SetLMC(2) },
		"MasterSMLID 0 -> 5": func(p *smp.PortInfo) {
			p.SetMasterSMLID(5)
		}, "MasterSMSL 0 -> 3": func(p *smp.PortInfo) { p.SetMasterSMSL(3) },
		"SubnetTimeOut 0 -> 18": func(p *smp.PortInfo) {
			p.SetSubnetTimeOut(18)
		}, "M_KeyLeasePeriod 0 -> 60": func(p *smp.PortInfo) {
			p.SetMKeyLeasePeriod(60)
		},
		"M_KeyProtectBits 0 -> 2": func(p *smp.PortInfo) {
			p.SetMKeyProtectBits(2)
		}, "OperationalVLs 0 -> 3": func(p *smp.PortInfo) { p.SetOperationalVLs(3) },
		"VLHighLimit 0 -> 4": func(p *smp.PortInfo) {
			p.SetVLHighLimit(4)
		}, "LinkWidthEnabled 0 -> 3": func(p *smp.PortInfo) {
			p.SetLinkWidthEnabled(3)
		},
		"LinkSpeedEnabled 0 -> 7": func(p *smp.PortInfo) { p.SetLinkSpeedEnabled(7) },
	} {
		var is, wanted smp.PortInfo
		if set(&wanted); !slices.Equal(changes(&is, &wanted), []string{want}) {
			t.Errorf("%q, want %q", changes(&is, &wanted), want)
		}
	}
}

func TestFields(t *testing.T) {
	for _, c := range []struct {
		set  func(*smp.PortInfo)
		want string
	}{
		{func(p *smp.PortInfo) { p.SetNeighborMTU(6) }, "NeighborMTU"}, // MTU codes 3 and 5 differ in these bits
		{func(p *smp.PortInfo) { p.SetMKey(1) }, "M_Key"},
		{func(p *smp.PortInfo) { p.SetMKeyProtectBits(3) }, "M_KeyProtectBits"},
		{func(p *smp.PortInfo) { p.SetGidPrefix(mad.DefaultPrefix) }, "GidPrefix"},
		{func(p *smp.PortInfo) { p.SetOverrunErrors(8) }, "OverrunErrors"},
	} {
		var bits smp.PortInfo
		c.set(&bits)
		if got := Fields(&bits); !slices.Equal(got, []string{c.want}) {
			t.Errorf("fields %q, want %q", got, c.want)
		}
	}
}

func row(blocks int, fill uint8) []uint8 {
	return slices.Repeat([]uint8{fill}, blocks*device.BlockSize)
}
