package sim_test

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/elect"
	"ibsm/topo/net"
)

// notice is a notice about a LID, as a trap or as the end of one.
func notice(method mad.Method, number smp.TrapNumber, producer smp.ProducerType, lid mad.LID) mad.Packet {
	d := trapFrom(number, lid, 0, func(n *smp.Notice) { n.SetProducerType(producer) })
	d.Packet.SetMethod(method)
	return d.Packet
}

// seeds are inputs of FuzzQP0, one packet or a few in each.
func (c *company) seeds() (all [][]byte) {
	return slices.Concat(c.trapSeeds(), c.routineSeeds(), c.orderSeeds(), c.replySeeds())
}

// packed is packets for a manager, one after another, from a LID.
func packed(to, wait byte, from mad.LID, ps ...mad.Packet) (b []byte) {
	for i := range ps {
		b = append(append(b, to, wait, byte(from)), ps[i][:]...)
	}
	return b
}

// lid is that of a port.
func (c *company) lid(at net.End) mad.LID {
	pi := c.Fabric.PortInfo(at)
	return pi.LID()
}

// cameTo makes a packet come from another port by the shortest path, as it is when it has arrived at a manager.
func (c *company) cameTo(to int, from net.End, method mad.Method, attr mad.AttrID, mod uint32) (p mad.Packet) {
	back := (&intruder{harness: c.harness, station: c.all[to].Station}).routeTo(from)
	p.SetDirected(&back, method, attr, mod)
	ports := slices.Clone(back.Ports())
	slices.Reverse(ports)
	copy(p.ReturnPath()[1:], ports)
	return p
}

// trapSeeds are traps of each number, forged and true ones: from the LID that they name, to the master.
func (c *company) trapSeeds() (all [][]byte) {
	adapter, sw := c.lid(c.unknown), c.lid(net.End{Node: c.Fabric.Peer(c.unknown).Node})
	for _, number := range []smp.TrapNumber{64, 65, 66, 67, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259, 1144} {
		forged := []mad.Packet{notice(mad.MethodTrap, number, 1, 3), notice(mad.MethodTrap, number, 2, 1),
			notice(mad.MethodTrapRepress, number, 2, 1)}
		all = append(all, slices.Concat(packed(toMaster, 0, 1, forged[0]), packed(toStandby, 0, 2, forged[1]),
			packed(toMaster, 0, 3, forged[2])))
		var seed []byte
		for _, lid := range []mad.LID{adapter, sw} {
			p := notice(mad.MethodTrap, number,
				map[mad.LID]smp.ProducerType{adapter: smp.ProducerCA, sw: smp.ProducerSwitch}[lid], lid)
			n := (*smp.Notice)(p.Data())
			switch number {
			case smp.TrapLinkState:
				n.LinkState().SetLID(lid)
			case smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl:
				n.PortError().SetLID(lid)
				n.PortError().SetPortNum(1)
			case smp.TrapLocalChange:
				n.LocalChange().SetLID(lid)
				n.LocalChange().SetOtherLocalChanges(true)
				n.LocalChange().SetChangeFlags(0xffff)
			case smp.TrapBadMKey:
				n.BadMKey().SetLID(lid)
			case smp.TrapBadPKey, smp.TrapBadQKey:
				n.BadKey().SetLID1(lid)
			case smp.TrapSwitchBadPKey:
				n.SwitchBadPKey().SetSwitchLID(lid)
			}
			seed = append(seed, packed(toMaster, 1, lid, p)...)
		}
		all = append(all, seed)
	}
	return all
}

// routineSeeds are Gets, Sets and replies that no request is open for, in directed and LID routing.
func (c *company) routineSeeds() (all [][]byte) {
	route := mad.MakeRoute(1, 2)
	for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetResp} {
		for _, attr := range []mad.AttrID{smp.AttrSMInfo, smp.AttrNodeInfo, smp.AttrPortInfo, smp.AttrSwitchInfo} {
			var directed, routed mad.Packet
			directed.SetDirected(&route, method, attr, uint32(attr&3))
			routed.SetHeader(mad.ClassLIDRouted, method, attr, uint32(attr&3))
			if attr == smp.AttrSMInfo {
				*directed.Data() = otherSM(0x77, 15, smp.Master)
			}
			answer := directed
			answer.SetReturning()
			all = append(all, slices.Concat(packed(toMaster, 0, 1, directed), packed(toStandby, 0, 2, routed),
				packed(toMaster|givenUp, 0, 3, answer), packed(toMaster, 0, 3, answer)))
		}
	}
	var nowhere []byte
	for i, p := range []mad.Packet{{}, {}, notice(mad.MethodTrap, 128, 2, 1)} {
		if i < 2 {
			p.SetHeader(mad.ClassLIDRouted, mad.MethodGet+mad.Method(i), smp.AttrSMInfo, 1)
		}
		nowhere = append(nowhere, packed(byte(i), 0, 0, p)...)
		nowhere = append(nowhere, packed(byte(i), 0, 0xc0, p)...)
	}
	return append(all, nowhere)
}

// orderSeeds are control packets with the SM_Key, in the name of each manager and by the path that leads back to it,
// and Questions.
func (c *company) orderSeeds() (all [][]byte) {
	names := []net.End{c.all[toMaster].Station.At(), c.all[toStandby].Station.At(), c.all[toInactive].Station.At(),
		c.unknown}
	for to := range fuzzedRoles {
		for _, from := range names {
			if to >= toSevered || from == c.all[to].Station.At() {
				continue
			}
			for mod := smp.ControlHandover; mod <= smp.ControlDiscover; mod++ {
				info := otherSM(c.Fabric.PortGUID(from), 9, smp.Master)
				if mod == smp.ControlAcknowledge {
					info.SetSMState(smp.Standby)
				}
				info.SetSMKey(fuzzedKey)
				right := c.cameTo(to, from, mad.MethodSet, smp.AttrSMInfo, mod)
				*right.Data() = info
				forged := c.cameTo(to, c.unknown, mad.MethodSet, smp.AttrSMInfo, mod) // in the name of from
				*forged.Data() = info
				keyless := right
				(*smp.SMInfo)(keyless.Data()).SetSMKey(0)
				all = append(all, packed(byte(to), 200, 0, forged, keyless), packed(byte(to), 200, 0, right))
			}
			question := c.cameTo(to, from, mad.MethodGet, smp.AttrSMInfo, 0)
			asks := elect.New(elect.Config{GUID: c.Fabric.PortGUID(from), Priority: 15, SMKey: fuzzedKey}).Question()
			asks.SetSMState(smp.Standby)
			*question.Data() = asks
			lie := c.cameTo(to, from, mad.MethodGet, smp.AttrSMInfo, 0) // in the name of nobody
			asks.SetGUID(0x77)
			*lie.Data() = asks
			plain := c.cameTo(to, from, mad.MethodGet, smp.AttrSMInfo, 0)
			plain.SetTID(2)
			all = append(all, packed(byte(to), 200, 0, question), packed(byte(to), 200, 0, lie, plain))
		}
	}
	for to := toSevered; to < fuzzedRoles; to++ { // whose return path leads nowhere
		var orders []mad.Packet
		for mod := smp.ControlHandover; mod <= smp.ControlDiscover; mod++ {
			p := c.cameTo(toStandby, names[0], mad.MethodSet, smp.AttrSMInfo, mod)
			info := otherSM(c.Fabric.PortGUID(names[0]), 9, smp.Master)
			info.SetSMKey(fuzzedKey)
			*p.Data() = info
			orders = append(orders, p)
		}
		all = append(all, packed(byte(to), 50, 0, orders...))
	}
	return all
}

// replySeeds are replies with values that contradict what the master has written, of blocks that exist.
func (c *company) replySeeds() (all [][]byte) {
	m := c.all[toMaster]
	sw := net.End{Node: c.Fabric.Peer(c.unknown).Node}
	for _, k := range []struct {
		attr mad.AttrID
		at   net.End
		mod  uint32
	}{
		{smp.AttrLinearForwardingTable, sw, 0},
		{smp.AttrMulticastForwardingTable, sw, 0},
		{smp.AttrPKeyTable, sw, 1 << 16},
		{smp.AttrPKeyTable, c.unknown, 0},
		{smp.AttrSLtoVLMappingTable, sw, smp.SLtoVLMod(1, 2)},
		{smp.AttrSLtoVLMappingTable, c.unknown, 0},
		{smp.AttrVLArbitrationTable, sw, 1<<16 | 1},
		{smp.AttrVLArbitrationTable, c.unknown, 1 << 16},
	} {
		d := m.directedTo(k.at, mad.MethodGetResp, k.attr, k.mod)
		d.Packet.SetReturning()
		for i := range d.Packet.Data() {
			d.Packet.Data()[i] = byte(1 + i%3)
		}
		all = append(all, packed(toMaster, 10, 0, d.Packet, d.Packet))
	}
	return all
}
