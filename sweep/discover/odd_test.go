package discover

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// two is a subnet of two switches with one cable, our host on the first and another on
// the second. Ports 3 to 6 of the switches are free.
func two() (p *plant, self net.End, a, b int32) {
	p = &plant{}
	host := p.add(mad.CA, 0x10, 1)
	a, b = p.add(mad.Switch, 0x1000, 6), p.add(mad.Switch, 0x2000, 6)
	far := p.add(mad.CA, 0x20, 2)
	p.cable(host, 1, a, 1)
	p.cable(a, 2, b, 2)
	p.cable(b, 1, far, 1)
	return p, net.End{Node: host, Port: 1}, a, b
}

// TestPortRefused: a port that refuses PortInfo altogether says nothing about its kind.
func TestPortRefused(t *testing.T) {
	p, self, _, _ := two()
	w := newWalker(t, &p.Net, self, fabric.Config{})
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if req.Attr == smp.AttrPortInfo && req.Route.Hops() == 1 && uint8(req.Mod) == 5 {
			o.Status = mad.StatusBadField
		}
	}
	speeds := device.NewFeatures()
	r := w.walk(New(Config{Features: speeds}))
	if kinds(r)[finding.GetRefused] != 1 || len(r.Findings) != 1 {
		t.Errorf("findings %v", r.Findings)
	}
	if node := findNode(r.Builder.Freeze(), 0x1000); speeds.Of(device.ExtendedGets, &node.Info) == device.Fails {
		t.Error("it is taken for a device that does not accept bit 31")
	}
	if f := r.Findings[0]; f.GUID != 0x1000 || f.Port != 5 || f.Status != mad.StatusBadField {
		t.Errorf("finding %v", f)
	}
}

func TestDuplicates(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(p *plant, a, b int32)
		want  map[finding.Kind]int
		nodes int // left in the Topo
	}{
		{"adapters, port numbers and port GUIDs alike", func(p *plant, a, b int32) {
			p.cable(a, 3, p.add(mad.CA, 0x30, 1), 1)
			p.cable(b, 3, p.add(mad.CA, 0x30, 1), 1)
		}, map[finding.Kind]int{finding.DuplicateNodeGUID: 1}, 5},
		{"adapters, other port GUIDs", func(p *plant, a, b int32) {
			p.cable(a, 3, p.add(mad.CA, 0x30, 1), 1)
			duplicate := p.add(mad.CA, 0x30, 1)
			p.Nodes[duplicate].Ports[1].GUID = 0x99
			p.cable(b, 3, duplicate, 1)
		}, map[finding.Kind]int{finding.DuplicateNodeGUID: 1}, 5},
		{"adapters with ports of their own", func(p *plant, a, b int32) {
			p.cable(a, 3, p.add(mad.CA, 0x30, 1), 1)
			p.cable(b, 3, p.add(mad.CA, 0x30, 2), 1)
		}, map[finding.Kind]int{finding.DuplicateNodeGUID: 1}, 5},
		{"adapter and switch", func(p *plant, a, b int32) {
			p.cable(a, 3, p.add(mad.CA, 0x2000, 1), 1)
		}, map[finding.Kind]int{finding.DuplicateNodeGUID: 1}, 4},
		{"switches at the same port", func(p *plant, a, b int32) {
			p.cable(a, 3, p.add(mad.Switch, 0x3000, 4), 1)
			p.cable(b, 3, p.add(mad.Switch, 0x3000, 4), 1)
		}, map[finding.Kind]int{finding.DuplicateNodeGUID: 1}, 5},
		{"switches of different make", func(p *plant, a, b int32) {
			p.cable(a, 3, p.add(mad.Switch, 0x3000, 4), 1)
			duplicate := p.add(mad.Switch, 0x3000, 4)
			p.Nodes[duplicate].DeviceID = 99
			p.cable(b, 3, duplicate, 2)
		}, map[finding.Kind]int{finding.DuplicateNodeGUID: 1}, 5},
		{"switches at other ports", func(p *plant, a, b int32) {
			p.cable(a, 3, p.add(mad.Switch, 0x3000, 4), 1)
			p.cable(b, 3, p.add(mad.Switch, 0x3000, 4), 2)
		}, map[finding.Kind]int{finding.OneSided: 1}, 5},
		{"one port GUID at two nodes", func(p *plant, a, b int32) {
			p.cable(a, 3, p.add(mad.CA, 0x30, 1), 1)
			duplicate := p.add(mad.CA, 0x40, 1)
			p.Nodes[duplicate].Ports[1].GUID = 0x31
			p.cable(b, 3, duplicate, 1)
		}, map[finding.Kind]int{finding.DuplicatePortGUID: 1}, 5},
		{"one port GUID at two ports", func(p *plant, a, b int32) {
			duplicate := p.add(mad.CA, 0x30, 2)
			p.Nodes[duplicate].Ports[2].GUID = 0x31
			p.cable(a, 3, duplicate, 1)
			p.cable(b, 3, duplicate, 2)
		}, map[finding.Kind]int{finding.DuplicatePortGUID: 1}, 5},
		{"our own GUIDs", func(p *plant, a, b int32) {
			p.cable(b, 3, p.add(mad.CA, 0x10, 1), 1)
		}, map[finding.Kind]int{finding.DuplicateNodeGUID: 1}, 4},
		{"a loopback plug", func(p *plant, a, b int32) {
			p.cable(a, 4, a, 4)
		}, map[finding.Kind]int{finding.Loopback: 1}, 4},
		{"a switch cabled to itself", func(p *plant, a, b int32) {
			p.cable(a, 4, a, 5)
		}, map[finding.Kind]int{finding.SameNode: 1}, 4},
		{"an adapter cabled to itself", func(p *plant, a, b int32) {
			duplicate := p.add(mad.CA, 0x30, 3)
			p.cable(duplicate, 2, duplicate, 3)
			p.cable(a, 3, duplicate, 1)
		}, nil, 5},
		{"a ring of cables", func(p *plant, a, b int32) {
			p.cable(a, 4, b, 4)
			p.cable(a, 5, b, 6)
		}, nil, 4},
	} {
		for _, window := range []int{1, 8} {
			p, self, a, b := two()
			c.spoil(p, a, b)
			w := newWalker(t, &p.Net, self, fabric.Config{})
			w.window = window
			r := w.walk(New(Config{}))
			top := r.Builder.Freeze()
			checkTopo(t, top)
			for _, kind := range []finding.Kind{finding.DuplicateNodeGUID, finding.DuplicatePortGUID, finding.OneSided,
				finding.Loopback, finding.SameNode, finding.BadNodeInfo} {
				if got := kinds(r)[kind]; got != c.want[kind] {
					t.Errorf("%s, window %d: %d findings of kind %d, want %d, of %v", c.name, window, got, kind,
						c.want[kind], r.Findings)
				}
			}
			if len(top.Nodes) != c.nodes {
				t.Errorf("%s, window %d: %d nodes, want %d", c.name, window, len(top.Nodes), c.nodes)
			}
			for _, guid := range []mad.GUID{0x11, 0x1000, 0x2000, 0x21} { // what is in order stays
				if top.FindPort(guid) == topo.None {
					t.Errorf("%s, window %d: port %v is lost", c.name, window, guid)
				}
			}
		}
	}
}

// TestMoved moves a cable while the walk goes on: the node is found where it is now.
func TestMoved(t *testing.T) {
	p, self, a, b := two()
	transition := p.add(mad.Switch, 0x3000, 4)
	p.cable(a, 3, transition, 1)
	host := p.add(mad.CA, 0x30, 1)
	p.cable(transition, 2, host, 1)
	stand := p.add(mad.CA, 0x40, 1) // what stands in for the cable's other place
	p.cable(b, 3, stand, 1)
	w := newWalker(t, &p.Net, self, fabric.Config{})
	moved, old := false, false
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		ports := req.Route.Ports()
		switch {
		case slices.Equal(ports, []uint8{1, 2, 3}) && req.Attr == smp.AttrNodeInfo: // behind the second switch
			info := (*smp.NodeInfo)(&o.Data)
			info.SetNodeType(mad.Switch)
			info.SetNodeGUID(0x3000)
			info.SetPortGUID(0x3000)
			info.SetNumPorts(4)
			info.SetLocalPortNum(1)
			moved = true
		// another port is there now
		case moved && old && slices.Equal(ports, []uint8{1, 3}) && req.Attr == smp.AttrNodeInfo:
			(*smp.NodeInfo)(&o.Data).SetLocalPortNum(4)
		case moved && len(ports) >= 2 && ports[1] == 3 && req.Attr == smp.AttrNodeInfo: // the old place is empty
			o.Result, o.Status, o.Data = txn.TimedOut, 0, [mad.DataSize]byte{}
		}
	}
	for _, elsewhere := range []bool{false, true} {
		old = elsewhere
		moved = false
		r := w.walk(New(Config{}))
		top := r.Builder.Freeze()
		checkTopo(t, top)
		n := top.FindNode(0x3000)
		if !moved || n == topo.None || !r.Moved || kinds(r)[finding.DuplicateNodeGUID] != 0 {
			t.Fatalf("moved %v, node %d, findings %v", r.Moved, n, r.Findings)
		}
		if peer := top.Ports[top.Port(n, 1)].Peer; peer == topo.None || top.Nodes[top.Ports[peer].Node].GUID != 0x2000 {
			t.Errorf("port 1 of the switch leads to port %d", peer)
		}
	}
}

func TestBackToBack(t *testing.T) {
	var p plant
	a, b := p.add(mad.CA, 0x10, 2), p.add(mad.CA, 0x20, 1)
	p.cable(a, 2, b, 1)
	w := newWalker(t, &p.Net, net.End{Node: a, Port: 2}, fabric.Config{})
	r := w.walk(New(Config{}))
	top := r.Builder.Freeze()
	checkTopo(t, top)
	w.mustCount("two adapters", counts{smp.AttrNodeInfo: 2, smp.AttrNodeDescription: 2, smp.AttrPortInfo: 2,
		smp.AttrPKeyTable: 4})
	if len(top.Nodes) != 2 || len(top.EndPorts) != 2 || top.Ports[top.Self].GUID != 0x12 || len(r.Findings) != 0 {
		t.Errorf("%d nodes, self %v, findings %v", len(top.Nodes), top.Ports[top.Self].GUID, r.Findings)
	}
}

// TestOnSwitch: a manager at port 0 of a switch.
func TestOnSwitch(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	var self net.End
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.Switch {
			self = net.End{Node: int32(i)}
		}
	}
	w := newWalker(t, n, self, fabric.Config{})
	r := w.walk(New(Config{}))
	top := r.Builder.Freeze()
	checkTopo(t, top)
	if len(top.Nodes) != 36 || r.Own != OwnUp || top.Ports[top.Self].Num != 0 ||
		top.Nodes[top.Ports[top.Self].Node].GUID != n.Nodes[self.Node].GUID {
		t.Errorf("%d nodes, self port %d, own port %v", len(top.Nodes), top.Ports[top.Self].Num, r.Own)
	}
}

func TestSelfDown(t *testing.T) {
	var p plant
	w := newWalker(t, &p.Net, net.End{Node: p.add(mad.CA, 0x10, 1), Port: 1}, fabric.Config{})
	if r := w.walk(New(Config{})); r.Own != OwnDown || len(r.Builder.Freeze().Nodes) != 1 {
		t.Error("a port without a cable is not down")
	}
}

// TestSecondPorts: the agent of each port of an adapter is asked for that port.
func TestSecondPorts(t *testing.T) {
	p, self, a, _ := two()
	p.cable(a, 3, 3, 2) // port 2 of the far adapter
	own := p.add(mad.CA, 0x50, 1)
	p.cable(a, 4, own, 1)
	w := newWalker(t, &p.Net, self, fabric.Config{})
	top := w.walk(New(Config{})).Builder.Freeze()
	checkTopo(t, top)
	for _, guid := range []mad.GUID{0x21, 0x22} {
		e := top.FindPort(guid)
		if e == topo.None || top.Ports[e].Info.LocalPortNum() != top.Ports[e].Num {
			t.Fatalf("port %v: %d", guid, e)
		}
		route, ok := top.RouteTo(e)
		if !ok {
			t.Fatalf("port %v: no route", guid)
		}
		o := w.ask(&txn.Request{Route: route, Method: mad.MethodGet, Attr: smp.AttrNodeInfo})
		if info := (*smp.NodeInfo)(&o.Data); info.PortGUID() != guid {
			t.Errorf("route %v leads to port %v, want %v", route, info.PortGUID(), guid)
		}
	}
}

func TestOtherManagers(t *testing.T) {
	p, self, _, _ := two()
	for _, ignore := range []bool{false, true} {
		w := newWalker(t, &p.Net, self, fabric.Config{})
		w.at.SetIsSM(true) // ours is not asked
		other, err := w.fabric.Attach(net.End{Node: 3, Port: 1})
		if err != nil {
			t.Fatal(err)
		}
		other.SetIsSM(true)
		for _, guid := range []mad.GUID{0x21, 0x99} { // a port that answers for another one is not believed
			w.meddle = func(req *txn.Request, o *txn.Outcome) {
				if req.Attr == smp.AttrSMInfo {
					var info smp.SMInfo
					info.SetGUID(guid)
					info.SetPriority(5)
					o.Result, o.Data = txn.Replied, info
				}
			}
			r := w.walk(New(Config{IgnoreOtherSM: ignore}))
			if asked := w.count[smp.AttrSMInfo]; asked != 1 && !ignore || asked != 0 && ignore {
				t.Errorf("ignore %v: %d managers asked", ignore, asked)
			}
			if found := len(r.SMs) == 1; found != (guid == 0x21 && !ignore) {
				t.Errorf("ignore %v, GUID %v: found %v", ignore, guid, r.SMs)
			} else if found && (r.SMs[0].Port != 0x21 || r.SMs[0].Info.Priority() != 5 ||
				r.SMs[0].Route.String() != "0,1,2,1") {
				t.Errorf("found %+v", r.SMs[0])
			}
		}
	}
}

// TestTables: the forwarding table of a switch is read only where traffic may flow
// through it and it is not known.
func TestTables(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  smp.PortState
		top    mad.LID
		known  mad.LID // 0: not
		blocks int     // read
	}{
		{"nothing up", smp.PortInit, 130, 0, 0},
		{"ARMED", smp.PortArmed, 130, 0, 3},
		{"ACTIVE", smp.PortActive, 130, 0, 3},
		{"one block", smp.PortActive, 63, 0, 1},
		{"known", smp.PortActive, 130, 130, 0},
		{"known, but another top", smp.PortActive, 130, 131, 3},
		{"top beyond all LIDs", smp.PortActive, 0xc000, 0, 0},
	} {
		p, self, _, _ := two()
		w := newWalker(t, &p.Net, self, fabric.Config{})
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			switch req.Attr {
			case smp.AttrPortInfo:
				if info := (*smp.PortInfo)(&o.Data); info.PortState() == smp.PortInit {
					info.SetPortState(c.state)
				}
			case smp.AttrSwitchInfo:
				(*smp.SwitchInfo)(&o.Data).SetLinearFDBTop(c.top)
			case smp.AttrLinearForwardingTable:
				if o.Result != txn.Replied {
					t.Errorf("%s: block %d is not answered", c.name, req.Mod)
				}
				if req.Mod == 1 {
					o.Result = txn.TimedOut
				}
				for i := range o.Data {
					o.Data[i] = uint8(req.Mod) + 1
				}
			}
		}
		known := &device.Record{}
		for _, guid := range []mad.GUID{0x1000, 0x2000} {
			if c.known != 0 {
				known.Switches = append(known.Switches,
					device.Switch{GUID: guid, LFT: device.Read(make([]byte, device.BlockSize), nil), Top: c.known})
			}
		}
		r := w.walk(New(Config{Devices: known}))
		if got := w.count[smp.AttrLinearForwardingTable]; got != 2*c.blocks {
			t.Errorf("%s: %d blocks read of two switches, want %d", c.name, got, 2*c.blocks)
		}
		if c.blocks == 0 {
			if len(r.Tables) != 0 {
				t.Errorf("%s: %d tables", c.name, len(r.Tables))
			}
			continue
		}
		table := r.Tables[0x2000]
		if table == nil || len(table.Row()) != c.blocks*smp.LFTBlockSize || table.Complete() != (c.blocks == 1) {
			t.Fatalf("%s: table %+v", c.name, table)
		}
		for i, port := range table.Row() {
			if want := []uint8{1, 0xff, 3}[i/smp.LFTBlockSize]; port != want {
				t.Fatalf("%s: LID %d leads to %d, want %d", c.name, i, port, want)
			}
		}
	}
}

// TestTableLastPort: whether traffic may flow is known when the last port has answered.
func TestTableLastPort(t *testing.T) {
	p, self, a, _ := two()
	p.cable(a, 6, p.add(mad.CA, 0x30, 1), 1)
	w := newWalker(t, &p.Net, self, fabric.Config{})
	w.meddle = func(req *txn.Request, o *txn.Outcome) {
		if req.Attr == smp.AttrPortInfo && req.Route.Hops() == 1 && uint8(req.Mod) == 6 {
			(*smp.PortInfo)(&o.Data).SetPortState(smp.PortArmed)
		}
	}
	if r := w.walk(New(Config{})); len(r.Tables) != 1 || r.Tables[0x1000] == nil {
		t.Errorf("%d tables are read", len(r.Tables))
	}
}

// TestAdaptive: NVIDIA's attributes go to NVIDIA's switches, and there once what does
// not change.
func TestAdaptive(t *testing.T) {
	for _, c := range []struct {
		name   string
		vendor uint32
		nvidia bool
		ar     fabric.AdaptiveRouting
		want   topo.ARState
		first  int // GeneralInfo and ARInfo asked of two switches in the first walk
		second int
	}{
		{"on", 0x0002c9, true, fabric.AROn, topo.AROn, 4, 2},
		{"off", 0x0002c9, true, fabric.AROff, topo.AROff, 4, 2},
		{"not known to the switch", 0x0002c9, true, fabric.ARUnsupported, topo.ARAbsent, 2, 0},
		// the other one is of the same model
		{"GeneralInfo refused", 0x0002c9, false, fabric.ARUnsupported, topo.ARAbsent, 1, 0},
		{"another vendor", 0x0005ad, true, fabric.AROn, topo.ARAbsent, 0, 0},
	} {
		p, self, _, _ := two()
		for i := range p.Nodes {
			p.Nodes[i].VendorID = c.vendor
		}
		w := newWalker(t, &p.Net, self, fabric.Config{Caps: func(_ int32, n *net.Node, caps *fabric.Caps) {
			if n.Type == mad.Switch {
				caps.NVIDIA, caps.AR = c.nvidia, c.ar
			}
		}})
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.Attr >= 0xff00 && req.Route.Hops() != 1 && req.Route.String() != "0,1,2" {
				t.Errorf("%s: attribute %v is asked at %v", c.name, req.Attr, req.Route)
			}
		}
		features := device.NewFeatures()
		top := w.walk(New(Config{Features: features})).Builder.Freeze()
		isState := func(got topo.ARState) bool { return got == c.want || got == topo.ARUnknown && !c.nvidia }
		if got := w.count[smp.AttrGeneralInfo] + w.count[smp.AttrARInfo]; got != c.first {
			t.Errorf("%s: %d questions, want %d", c.name, got, c.first)
		}
		for _, n := range top.Switches {
			if node := &top.Nodes[n]; !isState(node.AR) ||
				(node.ARInfo != nil && node.ARInfo.Enabled()) != (c.want == topo.AROn) {
				t.Errorf("%s: state %d", c.name, top.Nodes[n].AR)
			}
		}
		w.meddle = func(req *txn.Request, o *txn.Outcome) { // once it does not answer
			if req.Attr >= 0xff00 {
				o.Result = txn.TimedOut
			}
		}
		now := w.walk(New(Config{Prev: top, Features: features})).Builder.Freeze()
		if got := w.count[smp.AttrGeneralInfo] + w.count[smp.AttrARInfo]; got != c.second {
			t.Errorf("%s: %d questions the second time, want %d", c.name, got, c.second)
		}
		for i, n := range now.Switches {
			if !isState(now.Nodes[n].AR) || now.Nodes[n].ARInfo != top.Nodes[top.Switches[i]].ARInfo {
				t.Errorf("%s: state %d when it does not answer once", c.name, now.Nodes[n].AR)
			}
		}
	}
}

func TestAggregationNode(t *testing.T) {
	p, self, _, b := two()
	an := p.add(mad.CA, 0x60, 1)
	p.Nodes[an].VendorID, p.Nodes[an].Desc = 0x0002c9, "Mellanox Technologies Aggregation Node"
	p.cable(b, 3, an, 1)
	other := p.add(mad.CA, 0x70, 1)
	p.Nodes[other].Desc = "my Aggregation Node"
	p.cable(b, 4, other, 1)
	w := newWalker(t, &p.Net, self, fabric.Config{})
	top := w.walk(New(Config{})).Builder.Freeze()
	for range 2 {
		for i := range top.Nodes {
			if n := &top.Nodes[i]; n.Aggregation != (n.GUID == 0x60) {
				t.Errorf("node %v is an aggregation node: %v", n.GUID, n.Aggregation)
			}
		}
		top = w.walk(New(Config{Prev: top})).Builder.Freeze()
	}
}

// TestMKey: the key is shown in every request.
func TestMKey(t *testing.T) {
	p, self, _, _ := two()
	w := newWalker(t, &p.Net, self, fabric.Config{})
	w.meddle = func(req *txn.Request, _ *txn.Outcome) {
		if req.MKey != 0x77 {
			t.Errorf("%s to %v shows M_Key %#x", smp.AttrName(req.Attr), req.Route, uint64(req.MKey))
		}
	}
	w.walk(New(Config{MKey: 0x77, Clear: true}))
}

// garbage replies to everything with random bytes, some of them likely ones.
func garbage(r *rand.Rand, req *txn.Request) txn.Outcome {
	o := txn.Outcome{Tag: req.Tag, Method: req.Method, Attr: req.Attr, Mod: req.Mod, Result: txn.Replied}
	switch r.IntN(12) {
	case 0:
		o.Result = txn.TimedOut
	case 1:
		o.Status = mad.Status(r.Uint32())
	case 2:
		o.Status = mad.StatusBadField
	}
	if o.Result != txn.Replied {
		return o
	}
	for i := range o.Data {
		o.Data[i] = uint8(r.Uint32())
	}
	guid := func() mad.GUID { return mad.GUID(r.IntN(40)) }
	switch req.Attr {
	case smp.AttrNodeInfo:
		if info := (*smp.NodeInfo)(&o.Data); r.IntN(8) > 0 {
			o.Data = [mad.DataSize]byte{}
			info.SetNodeType([]mad.NodeType{mad.Switch, mad.CA, mad.Router}[r.IntN(3)])
			info.SetNodeGUID(guid())
			info.SetPortGUID(guid())
			info.SetNumPorts(uint8(r.IntN(6)))
			info.SetLocalPortNum(uint8(r.IntN(6)))
			info.SetVendorID(0x0002c9)
		}
	case smp.AttrPortInfo:
		if info := (*smp.PortInfo)(&o.Data); r.IntN(8) > 0 {
			info.SetPortState(smp.PortState(r.IntN(6)))
		}
	case smp.AttrSMInfo:
		(*smp.SMInfo)(&o.Data).SetGUID(guid())
	}
	return o
}

// walkGarbage walks through random replies, twice, and judges what comes of it.
func walkGarbage(t *testing.T, seed uint64, window int) {
	r := rand.New(rand.NewPCG(seed, 3))
	var prev *topo.Topo
	for walk := range 3 {
		m := New(Config{Prev: prev, Quick: walk == 2, Clear: r.IntN(2) == 0, Features: device.NewFeatures()})
		m.limit = limit{nodes: 60, ports: 2000}
		var open []txn.Request
		asked := 0
		for {
			for len(open) < window {
				req, ok := m.Next()
				if !ok {
					break
				}
				open = append(open, req)
			}
			if len(open) == 0 {
				break
			}
			if asked++; asked > 200000 {
				t.Fatalf("seed %d: the walk has no end", seed)
			}
			i := r.IntN(len(open))
			o := garbage(r, &open[i])
			open = slices.Delete(open, i, i+1)
			m.Done(&o)
		}
		if !m.Finished() {
			t.Fatalf("seed %d: nothing to ask, and not finished", seed)
		}
		res := m.Result()
		if res.Builder.Len() > 60 {
			t.Fatalf("seed %d: %d nodes", seed, res.Builder.Len())
		}
		res.Builder.KeepMissing(prev, topo.Clear)
		prev = res.Builder.Freeze()
		for i := range res.Findings {
			if prev.Self != topo.None {
				_ = res.Findings[i].In(prev)
			}
		}
		checkTopo(t, prev)
	}
}

func TestGarbage(t *testing.T) {
	for seed := range uint64(300) {
		walkGarbage(t, seed, 1+int(seed%9))
	}
}

func FuzzGarbage(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, window uint8) { walkGarbage(t, seed, 1+int(window%16)) })
}
