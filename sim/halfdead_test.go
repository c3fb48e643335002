package sim_test

import (
	"fmt"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// sickness is a defect that an agent has as long as on is true.
type sickness struct {
	on     bool
	defect fabric.Defect
}

func (s *sickness) act(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
	if s.on {
		return s.defect(p, obey)
	}
	return obey(), true
}

// suffer brings a subnet up with a sick node: all links but its own come up, sweeps do not
// follow each other for ever, and hosts reach each other around it. When it is well again all
// is in order, after a heavy sweep at the latest.
func suffer(t *testing.T, sick func(b *harness) int32, defect fabric.Defect) {
	t.Helper()
	n := nettest.Generate(t, "fattree:k=8,levels=2")
	node := sick(&harness{net: n})
	s := &sickness{true, defect}
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: defective(node, s.act)})
	m := b.comeUp(minhopConfig())
	m.mustSweepAtMost(30)
	b.mustBeActive(node)
	b.mustConnectOthers(node)
	s.on = false
	b.pass(settling)
	m.sweep(manager.Heavy)
	b.pass(settling)
	b.mustBeWhole(m)
}

func aSpine(b *harness) int32 { return spine(b.net) }
func aHost(b *harness) int32  { return host(b.net, 5).Node }

// mustConnectOthers fails the test unless data passes between all adapters but one.
func (b *harness) mustConnectOthers(sick int32) {
	b.Helper()
	for _, from := range b.endPorts() {
		for _, to := range b.endPorts() {
			if b.Fabric.NodeType(from.Node) == mad.Switch || b.Fabric.NodeType(to.Node) == mad.Switch ||
				from.Node == sick || to.Node == sick {
				continue
			}
			info := b.Fabric.PortInfo(to)
			if hops, end := b.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil); end != fabric.Delivered {
				b.Errorf("data from %v to %v: %v, by way of %v", from, to, end, hops)
			}
		}
	}
}

// TestHalfDead: an agent answers all requests but those for one attribute.
func TestHalfDead(t *testing.T) {
	for _, c := range []struct {
		attr   mad.AttrID
		method mad.Method
	}{
		{smp.AttrNodeInfo, mad.MethodGet}, {smp.AttrNodeDescription, mad.MethodGet},
		{smp.AttrSwitchInfo, mad.MethodGet}, {smp.AttrPortInfo, mad.MethodGet},
		{smp.AttrPKeyTable, mad.MethodGet}, {smp.AttrLinearForwardingTable, mad.MethodGet},
		{smp.AttrMulticastForwardingTable, mad.MethodGet},
		{smp.AttrGUIDInfo, mad.MethodGet}, {smp.AttrGeneralInfo, mad.MethodGet},
		{smp.AttrExtendedPortInfo, mad.MethodGet},
		{smp.AttrSwitchInfo, mad.MethodSet}, {smp.AttrPortInfo, mad.MethodSet},
		{smp.AttrLinearForwardingTable, mad.MethodSet},
	} {
		for name, sick := range ordered(map[string]func(*harness) int32{"spine": aSpine, "host": aHost}) {
			t.Run(fmt.Sprintf("%v %s of a %s", c.method, smp.AttrName(c.attr), name), func(t *testing.T) {
				suffer(t, sick, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					if p.AttrID() == c.attr && p.Method() == c.method {
						return mad.StatusOK, false
					}
					return obey(), true
				})
			})
		}
	}
}

// TestHalfDeadPort: an agent answers for all ports of its switch but one.
func TestHalfDeadPort(t *testing.T) {
	for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet} {
		t.Run(fmt.Sprint(method), func(t *testing.T) {
			suffer(t, aSpine, func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				if p.AttrID() == smp.AttrPortInfo && p.Method() == method && uint8(p.AttrMod()) == 2 {
					return mad.StatusOK, false
				}
				return obey(), true
			})
		})
	}
}

// lie changes the data of the replies to one attribute.
func lie(attr mad.AttrID, change func(d *[mad.DataSize]byte)) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		status := obey()
		if p.AttrID() == attr {
			change(p.Data())
		}
		return status, true
	}
}

func lieNode(change func(i *smp.NodeInfo)) fabric.Defect {
	return lie(smp.AttrNodeInfo, func(d *[mad.DataSize]byte) { change((*smp.NodeInfo)(d)) })
}

func lieSwitch(change func(i *smp.SwitchInfo)) fabric.Defect {
	return lie(smp.AttrSwitchInfo, func(d *[mad.DataSize]byte) { change((*smp.SwitchInfo)(d)) })
}

func liePort(change func(i *smp.PortInfo)) fabric.Defect {
	return lie(smp.AttrPortInfo, func(d *[mad.DataSize]byte) { change((*smp.PortInfo)(d)) })
}

// lies are what agents say that is not so.
func lies() map[string]fabric.Defect {
	count := mad.GUID(0)
	return map[string]fabric.Defect{
		"no ports":               lieNode(func(i *smp.NodeInfo) { i.SetNumPorts(0) }),
		"255 ports":              lieNode(func(i *smp.NodeInfo) { i.SetNumPorts(255) }),
		"one port":               lieNode(func(i *smp.NodeInfo) { i.SetNumPorts(1) }),
		"local port 0":           lieNode(func(i *smp.NodeInfo) { i.SetLocalPortNum(0) }),
		"local port 200":         lieNode(func(i *smp.NodeInfo) { i.SetLocalPortNum(200) }),
		"node type 0":            lieNode(func(i *smp.NodeInfo) { i.SetNodeType(0) }),
		"node type 9":            lieNode(func(i *smp.NodeInfo) { i.SetNodeType(9) }),
		"a router":               lieNode(func(i *smp.NodeInfo) { i.SetNodeType(mad.Router) }),
		"node GUID 0":            lieNode(func(i *smp.NodeInfo) { i.SetNodeGUID(0) }),
		"port GUID 0":            lieNode(func(i *smp.NodeInfo) { i.SetPortGUID(0) }),
		"no GUIDs":               lieNode(func(i *smp.NodeInfo) { i.SetNodeGUID(0); i.SetPortGUID(0) }),
		"another GUID each time": lieNode(func(i *smp.NodeInfo) { count++; i.SetNodeGUID(0x1000 + count) }),
		"another node in turn": lieNode(func(i *smp.NodeInfo) {
			count++
			i.SetNodeGUID(i.NodeGUID() + count%2)
		}),
		"LinearFDBCap 0":          lieSwitch(func(i *smp.SwitchInfo) { i.SetLinearFDBCap(0) }),
		"LinearFDBCap 2":          lieSwitch(func(i *smp.SwitchInfo) { i.SetLinearFDBCap(2) }),
		"LinearFDBTop 65535":      lieSwitch(func(i *smp.SwitchInfo) { i.SetLinearFDBTop(0xffff) }),
		"MulticastFDBCap 65535":   lieSwitch(func(i *smp.SwitchInfo) { i.SetMulticastFDBCap(0xffff) }),
		"PartitionEnforcementCap": lieSwitch(func(i *smp.SwitchInfo) { i.SetPartitionEnforcementCap(0xffff) }),
		"always PortStateChange":  lieSwitch(func(i *smp.SwitchInfo) { i.SetPortStateChange(true) }),
		"base port 0 in turn":     lieSwitch(func(i *smp.SwitchInfo) { count++; i.SetEnhancedPort0(count%2 == 0) }),
		"PortState 0":             liePort(func(i *smp.PortInfo) { i.SetPortState(0) }),
		"PortState 9":             liePort(func(i *smp.PortInfo) { i.SetPortState(9) }),
		"always DOWN":             liePort(func(i *smp.PortInfo) { i.SetPortState(smp.PortDown) }),
		"always INIT":             liePort(func(i *smp.PortInfo) { i.SetPortState(smp.PortInit) }),
		"always ARMED":            liePort(func(i *smp.PortInfo) { i.SetPortState(smp.PortArmed) }),
		"always ACTIVE":           liePort(func(i *smp.PortInfo) { i.SetPortState(smp.PortActive) }),
		"MTUCap 0":                liePort(func(i *smp.PortInfo) { i.SetMTUCap(0) }),
		"MTUCap 15":               liePort(func(i *smp.PortInfo) { i.SetMTUCap(15) }),
		"VLCap 0":                 liePort(func(i *smp.PortInfo) { i.SetVLCap(0) }),
		"VLCap 15":                liePort(func(i *smp.PortInfo) { i.SetVLCap(15) }),
		"LID 65535":               liePort(func(i *smp.PortInfo) { i.SetLID(0xffff) }),
		"LID 1":                   liePort(func(i *smp.PortInfo) { i.SetLID(1) }),
		"LMC 7":                   liePort(func(i *smp.PortInfo) { i.SetLMC(7) }),
		"another MasterSMLID":     liePort(func(i *smp.PortInfo) { i.SetMasterSMLID(0x777) }),
		"always ClientReregister": liePort(func(i *smp.PortInfo) { i.SetClientReregister(true) }),
		"no capabilities": liePort(func(i *smp.PortInfo) {
			i.SetCapabilityMask(0)
			i.SetCapabilityMask2(0)
		}),
		"all capabilities": liePort(func(i *smp.PortInfo) {
			i.SetCapabilityMask(^smp.CapMask(0))
			i.SetCapabilityMask2(0xffff)
		}),
		"widths and speeds of no use": liePort(func(i *smp.PortInfo) {
			i.SetLinkWidthActive(0x40)
			i.SetLinkSpeedActive(0)
			i.SetLinkSpeedExtActive(0)
		}),
		"local port of another": liePort(func(i *smp.PortInfo) { i.SetLocalPortNum(i.LocalPortNum() + 1) }),
		"M_Key":                 liePort(func(i *smp.PortInfo) { i.SetMKey(0x123); i.SetMKeyProtectBits(3) }),
		"table of ones": lie(smp.AttrLinearForwardingTable, func(d *[mad.DataSize]byte) {
			*d = [mad.DataSize]byte{0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
		}),
		"table of port 250": lie(smp.AttrLinearForwardingTable, func(d *[mad.DataSize]byte) {
			for i := range d {
				d[i] = 250
			}
		}),
		"P_Keys that are none": lie(smp.AttrPKeyTable, func(d *[mad.DataSize]byte) {
			for i := range d {
				d[i] = byte(i)
			}
		}),
		"no P_Keys": lie(smp.AttrPKeyTable, func(d *[mad.DataSize]byte) { clear(d[:]) }),
		"another description": lie(smp.AttrNodeDescription, func(d *[mad.DataSize]byte) {
			count++
			d[0] = byte(count)
		}),
		"status busy": func(_ *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			obey()
			return mad.StatusBusy, true
		},
		"status of no meaning": func(_ *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			obey()
			return 0x7fff, true
		},
	}
}

// TestLies: what one agent says is not so. It may lose its own links, and nobody else's.
func TestLies(t *testing.T) {
	for name, defect := range ordered(lies()) {
		for who, sick := range ordered(map[string]func(*harness) int32{"spine": aSpine, "host": aHost}) {
			t.Run(who+" "+name, func(t *testing.T) { suffer(t, sick, defect) })
		}
	}
}
