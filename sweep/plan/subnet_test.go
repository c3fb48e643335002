package plan

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// A subnet of every kind of port: our own adapter and switch 1, which has a base port
// 0; switch 2 with an enhanced one, an adapter and a router.
//
//	self(0x10) -1:1- switch1(0x20) -2:1- switch2(0x30) -2:1- host(0x40)
//	                                                   -3:1- router(0x50)
type subnet struct {
	*topo.Topo
	in In
}

const (
	selfGUID, sw1GUID, sw2GUID = mad.GUID(0x10), mad.GUID(0x20), mad.GUID(0x30)
	hostGUID, routerGUID       = mad.GUID(0x40), mad.GUID(0x50)
)

func newSubnet(t *testing.T) *subnet {
	t.Helper()
	n := &net.Net{}
	add := func(typ mad.NodeType, guid mad.GUID, ports int) {
		node := net.Node{Type: typ, GUID: guid, EnhancedPort0: guid == sw2GUID, Desc: guid.String()}
		for i := range ports + 1 {
			p := net.Port{Peer: net.NoEnd}
			if typ != mad.Switch && i > 0 {
				p.GUID = guid + mad.GUID(i)
			} else if typ == mad.Switch && i == 0 {
				p.GUID = guid
			}
			node.Ports = append(node.Ports, p)
		}
		n.Nodes = append(n.Nodes, node)
	}
	add(mad.CA, selfGUID, 1)
	add(mad.Switch, sw1GUID, 3)
	add(mad.Switch, sw2GUID, 3)
	add(mad.CA, hostGUID, 1)
	add(mad.Router, routerGUID, 1)
	for _, c := range [][2]net.End{
		{{Node: 0, Port: 1}, {Node: 1, Port: 1}}, {{Node: 1, Port: 2}, {Node: 2, Port: 1}},
		{{Node: 2, Port: 2}, {Node: 3, Port: 1}}, {{Node: 2, Port: 3}, {Node: 4, Port: 1}},
	} {
		for i, end := range c {
			p := &n.Nodes[end.Node].Ports[end.Port]
			p.Peer, p.Width, p.Speed = c[1-i], mad.Width4x, mad.QDR
		}
	}
	top, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	for i := range top.Ports {
		p := &top.Ports[i]
		if top.IsSwitchPort(topo.PortIdx(i)) {
			p.Info.SetCapabilityMask(0)
		} else {
			p.Info.SetCapabilityMask(p.Info.CapabilityMask() | smp.IsClientReregistrationSupported)
		}
	}
	lids := topo.SequentialLIDs(top, 0)
	tables := &routing.Tables{Top: lids.Top}
	for range top.Switches {
		row := make([]uint8, routing.RowLen(lids.Top))
		for i := range row {
			row[i] = routing.NoPath
		}
		row[1] = 1
		tables.LFT = append(tables.LFT, row)
	}
	return &subnet{top, In{
		Topo: top, LIDs: lids, Tables: tables, Known: make([]*device.Blocks, len(top.Switches)),
		Unsupported: device.Unsupported{},
		Values: Values{
			Prefix: mad.DefaultPrefix, SubnetTimeOut: 17, LifeTimeValue: 16, MaxOpVLs: 3, HOQLife: 14, LeafHOQLife: 12,
			VLStallCount: 5, LeafVLStall: 6, PhyErrors: 9, Overruns: 10, MKeys: MKeys{One: 0x5ec2e7}, MKeyLease: 60,
			MKeyProtect: 1, SMSL: 2,
		},
	}}
}

// at is a port by its node's GUID and number.
func (s *subnet) at(node mad.GUID, num uint8) topo.PortIdx {
	return s.Port(s.FindNode(node), num)
}

func (s *subnet) info(node mad.GUID, num uint8) *smp.PortInfo {
	return &s.Ports[s.at(node, num)].Info
}

// carryOut does what a plan says on devices that take everything, and returns the
// steps by stage.
func (s *subnet) carryOut(t *testing.T, p *Plan) (stages [][]Step) {
	t.Helper()
	for more := true; more; more = p.Advance() {
		var did []Step
		for _, sw := range p.Switches() {
			s.in.Known[sw] = p.Targets()[sw]
		}
		for st, ok := p.Next(); ok; st, ok = p.Next() {
			req, ok := p.Set(st)
			if !ok {
				t.Fatalf("step %q cannot be taken", p.Describe(st))
			}
			port := &s.Ports[st.Port]
			node := &s.Nodes[port.Node]
			switch req.Attr {
			case smp.AttrPortInfo:
				if req.Mod != smp.PortInfoMod(port.Num, node.GetsExtended) {
					t.Errorf("step %q: modifier %#x", p.Describe(st), req.Mod)
				}
				take(&port.Info, (*smp.PortInfo)(&req.Data))
			case smp.AttrSwitchInfo:
				node.SwitchInfo = req.Data
				node.SwitchInfo.SetPortStateChange(false)
			case smp.AttrLinearForwardingTable:
				s.in.Known[node.Switch].Take(int(st.Block), device.Confirmed)
			case smp.AttrARInfo:
				info := smp.ARInfo(req.Data)
				node.ARInfo = &info
				node.AR = topo.AROff
			}
			did = append(did, st)
		}
		stages = append(stages, did)
	}
	return stages
}

// take stores a Set as a device does: 0 changes nothing in the fields that say so.
func take(is, set *smp.PortInfo) {
	old := *is
	*is = *set
	if set.PortState() == smp.PortNoChange {
		is.SetPortState(old.PortState())
	}
	if set.PortPhysicalState() == smp.PhysNoChange {
		is.SetPortPhysicalState(old.PortPhysicalState())
	}
	if set.LinkDownDefaultState() == smp.PhysNoChange {
		is.SetLinkDownDefaultState(old.LinkDownDefaultState())
	}
	is.SetLinkWidthEnabled(old.LinkWidthEnabled())
	is.SetLinkSpeedEnabled(old.LinkSpeedEnabled())
	is.SetLinkSpeedExtEnabled(old.LinkSpeedExtEnabled())
	is.SetLinkSpeedExtEnabled2(old.LinkSpeedExtEnabled2())
	is.SetClientReregister(false)
}

// up brings the subnet to where a first plan brings it.
func (s *subnet) up(t *testing.T) {
	t.Helper()
	s.carryOut(t, New(s.in))
	if p := New(s.in); !p.Empty() {
		var left []string
		for _, st := range s.carryOut(t, p) {
			for _, st := range st {
				left = append(left, p.Describe(st))
			}
		}
		t.Fatalf("after a plan has been carried out something is left: %q", left)
	}
}
