package plan

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
)

// TestWanted compares each kind of port with the wanted values of the manager. What is
// not in a row stays as it was read.
func TestWanted(t *testing.T) {
	end := func(lid mad.LID) func(*smp.PortInfo) {
		return func(w *smp.PortInfo) {
			w.SetLID(lid)
			w.SetLMC(0)
			w.SetMasterSMLID(1)
			w.SetMasterSMSL(2)
			w.SetGidPrefix(mad.DefaultPrefix)
			w.SetSubnetTimeOut(17)
			w.SetMKey(0x5ec2e7)
			w.SetMKeyLeasePeriod(60)
			w.SetMKeyProtectBits(1)
		}
	}
	link := func(w *smp.PortInfo) {
		w.SetLinkDownDefaultState(smp.PhysPolling)
		w.SetNeighborMTU(mad.MTU2048) // the peer's
		w.SetOperationalVLs(3)
		w.SetLocalPhyErrors(9)
		w.SetOverrunErrors(10)
	}
	life := func(hoq, stall uint8) func(*smp.PortInfo) {
		return func(w *smp.PortInfo) {
			w.SetHOQLife(hoq)
			w.SetVLStallCount(stall)
		}
	}
	for _, c := range []struct {
		name string
		node mad.GUID
		num  uint8
		want []func(*smp.PortInfo)
	}{
		{"adapter", hostGUID, 1, []func(*smp.PortInfo){end(4), link}},
		{"router", routerGUID, 1, []func(*smp.PortInfo){end(5), link, func(w *smp.PortInfo) { w.SetHOQLife(12) }}},
		{"base port 0", sw1GUID, 0, []func(*smp.PortInfo){end(2)}},
		{"enhanced port 0", sw2GUID, 0, []func(*smp.PortInfo){end(3), func(w *smp.PortInfo) {
			w.SetNeighborMTU(mad.MTU4096)
			w.SetOperationalVLs(3)
		}}},
		{"between switches", sw1GUID, 2, []func(*smp.PortInfo){link, life(14, 5)}},
		{"towards an adapter", sw2GUID, 2, []func(*smp.PortInfo){link, life(12, 6)}},
		{"towards a router", sw2GUID, 3, []func(*smp.PortInfo){link, life(12, 6)}},
	} {
		s := newSubnet(t)
		is := s.info(c.node, c.num)
		for i := range is { // whatever is not ours must survive
			is[i] |= 0xa5 &^ device.PortInfo.Bits[i]
		}
		is.SetPortState(smp.PortInit)
		is.SetMTUCap(mad.MTU4096)
		is.SetVLCap(4)
		if peer := s.Ports[s.at(c.node, c.num)].Peer; peer >= 0 {
			s.Ports[peer].Info.SetMTUCap(mad.MTU2048)
		}
		want := *is
		want.SetPortState(smp.PortNoChange)
		want.SetPortPhysicalState(smp.PhysNoChange)
		want.SetLinkSpeedExtEnabled2(0)
		want.SetClientReregister(false)
		for _, set := range c.want {
			set(&want)
		}
		p := New(s.in)
		if got := p.Wanted(s.at(c.node, c.num)); got != want {
			t.Errorf("%s: differs in %q", c.name, changes(&want, &got))
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%s: byte %d is %#02x, want %#02x", c.name, i, got[i], want[i])
				}
			}
		}
	}
}

func TestWantedOperationalVLs(t *testing.T) {
	for _, c := range []struct {
		name               string
		state              smp.PortState
		own, peer, max, is uint8
		want               uint8
	}{
		{"the peer has fewer", smp.PortInit, 4, 2, 5, 4, 2},
		{"we have fewer", smp.PortInit, 1, 4, 5, 1, 1},
		{"the operator caps them", smp.PortInit, 4, 4, 3, 4, 3},
		{"neither end says how many", smp.PortInit, 0, 0, 5, 0, 1},
		{"an ARMED link keeps them", smp.PortArmed, 4, 4, 3, 4, 4},
		{"an ACTIVE link keeps them", smp.PortActive, 4, 2, 5, 4, 4},
	} {
		s := newSubnet(t)
		s.in.Values.MaxOpVLs = c.max
		is := s.info(sw1GUID, 2)
		is.SetPortState(c.state)
		is.SetVLCap(c.own)
		is.SetOperationalVLs(c.is)
		s.info(sw2GUID, 1).SetVLCap(c.peer)
		w := New(s.in).Wanted(s.at(sw1GUID, 2))
		if got := w.OperationalVLs(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestVLsByKindOfLink: max_op_vls_ca, _sw and _rtr take precedence over max_op_vls, at both ends of a link.
func TestVLsByKindOfLink(t *testing.T) {
	for _, c := range []struct {
		kinds                               KindVLs
		host, between, router, port0, inUse uint8
	}{
		{KindVLs{}, 3, 3, 3, 3, 3},
		{KindVLs{CA: 2, Switch: 4, Router: 1}, 2, 4, 1, 4, 2},
		{KindVLs{Switch: 1}, 3, 1, 3, 1, 3},
	} {
		s := newSubnet(t)
		s.in.Values.KindVLs = c.kinds
		for i := range s.Ports {
			s.Ports[i].Info.SetVLCap(4)
			s.Ports[i].Info.SetPortState(smp.PortInit)
		}
		p := New(s.in)
		for _, at := range []struct {
			node mad.GUID
			port uint8
			want uint8
		}{{selfGUID, 1, c.host}, {sw1GUID, 1, c.host}, {sw1GUID, 2, c.between}, {sw2GUID, 1, c.between},
			{sw2GUID, 3, c.router}, {routerGUID, 1, c.router}, {sw2GUID, 0, c.port0}} {
			w := p.Wanted(s.at(at.node, at.port))
			if got := w.OperationalVLs(); got != at.want {
				t.Errorf("%+v: port %v/%d has %d, want %d", c.kinds, at.node, at.port, got, at.want)
			}
		}
	}
}

// TestLanesOfSwitchLinks: qos_sw2sw_ applies at ports that lead to a switch, and no port has rows of its own where it
// says the same as qos_swe_.
func TestLanesOfSwitchLinks(t *testing.T) {
	s := newSubnet(t)
	for i := range s.Ports {
		info := &s.Ports[i].Info
		info.SetVLCap(4)
		info.SetPortState(smp.PortInit)
		info.SetVLArbitrationLowCap(8)
	}
	var of [lanes.Kinds]lanes.Settings
	rows := func() (between, host []byte) {
		uses := lanes.NewUses(lanes.Settings{}, of)
		s.in.Lanes = &uses
		p := New(s.in)
		p.lanes.rows = map[laneRow][]byte{}
		return p.mapping(s.at(sw1GUID, 2)), p.mapping(s.at(sw1GUID, 1))
	}
	if between, host := rows(); &between[0] != &host[0] {
		t.Error("without qos_sw2sw_ the ports have rows of their own")
	}
	of[lanes.External].SLtoVL, of[lanes.SwitchLink].SLtoVL = []uint8{1, 1, 1, 1}, []uint8{2, 2, 2, 2}
	between, host := rows()
	for in := range 4 { // packets of port 0 of the switch included
		if b, h := between[in*device.BlockSize], host[in*device.BlockSize]; b != 0x22 || h != 0x11 {
			t.Errorf("from port %d: VLs %#x to the switch and %#x to the host", in, b, h)
		}
	}
}

func TestWantedNeighborMTU(t *testing.T) {
	s := newSubnet(t)
	s.info(sw1GUID, 2).SetMTUCap(0)
	if w := New(s.in).Wanted(s.at(sw1GUID, 2)); w.NeighborMTU() != mad.MTU256 {
		t.Errorf("a port without an MTU code gets %d", w.NeighborMTU().Bytes())
	}
}

func TestWantedKeepsMKey(t *testing.T) {
	s := newSubnet(t)
	v := &s.in.Values
	v.KeepMKey, v.KeepMKeyLease, v.KeepMKeyProtect = true, true, true
	is := s.info(hostGUID, 1)
	is.SetMKey(0xf0)
	is.SetMKeyLeasePeriod(7)
	is.SetMKeyProtectBits(2)
	p := New(s.in)
	w := p.Wanted(s.at(hostGUID, 1))
	if w.MKey() != 0xf0 || w.MKeyLeasePeriod() != 7 || w.MKeyProtectBits() != 2 {
		t.Errorf("a foreign M_Key becomes %#x, lease %d, protection %d", uint64(w.MKey()), w.MKeyLeasePeriod(),
			w.MKeyProtectBits())
	}
	v.KeepMKeyLease, v.KeepMKeyProtect = false, false // the operator chose them
	if w := New(s.in).Wanted(s.at(hostGUID, 1)); w.MKey() != 0xf0 || w.MKeyLeasePeriod() != v.MKeyLease ||
		w.MKeyProtectBits() != v.MKeyProtect {
		t.Errorf("with lease and protection chosen: M_Key %#x, lease %d, protection %d", uint64(w.MKey()),
			w.MKeyLeasePeriod(), w.MKeyProtectBits())
	}
	for _, c := range []struct {
		node mad.GUID
		num  uint8
		port mad.MKey // that port 0 or the port itself was read with
		want mad.MKey
	}{
		{hostGUID, 1, 0xf0, 0xf0}, {hostGUID, 1, 0, 0x5ec2e7}, // 0 may be a hidden one
		{sw1GUID, 2, 0xf1, 0xf1}, {sw1GUID, 0, 0xf1, 0xf1},
	} {
		keeper := c.num
		if c.node == sw1GUID {
			keeper = 0
		}
		s.info(c.node, keeper).SetMKey(c.port)
		if req, _ := p.Set(Step{Op: SetPort, Port: s.at(c.node, c.num)}); req.MKey != c.want {
			t.Errorf("node %v port %d is shown M_Key %#x, want %#x", c.node, c.num, uint64(req.MKey), uint64(c.want))
		}
	}
}

// TestManaged holds the mask against the setters: exactly what Wanted may write.
func TestManaged(t *testing.T) {
	for _, c := range []struct {
		name string
		want bool
		set  func(*smp.PortInfo)
	}{
		{"LID", true, func(p *smp.PortInfo) { p.SetLID(1) }},
		{"LMC", true, func(p *smp.PortInfo) { p.SetLMC(4) }},
		{"M_KeyProtectBits", true, func(p *smp.PortInfo) { p.SetMKeyProtectBits(2) }},
		{"HOQLife", true, func(p *smp.PortInfo) { p.SetHOQLife(16) }},
		{"VLStallCount", true, func(p *smp.PortInfo) { p.SetVLStallCount(1) }},
		{"OperationalVLs", true, func(p *smp.PortInfo) { p.SetOperationalVLs(8) }},
		{"LocalPhyErrors", true, func(p *smp.PortInfo) { p.SetLocalPhyErrors(1) }},
		{"LinkDownDefaultState", true, func(p *smp.PortInfo) { p.SetLinkDownDefaultState(smp.PhysSleep) }},
		{"PortState", false, func(p *smp.PortInfo) { p.SetPortState(4) }},
		{"PortPhysicalState", false, func(p *smp.PortInfo) { p.SetPortPhysicalState(5) }},
		{"CapabilityMask", false, func(p *smp.PortInfo) { p.SetCapabilityMask(2) }},
		{"LinkSpeedActive", false, func(p *smp.PortInfo) { p.SetLinkSpeedActive(4) }},
		{"LinkWidthEnabled", true, func(p *smp.PortInfo) { p.SetLinkWidthEnabled(3) }},
		{"MTUCap", false, func(p *smp.PortInfo) { p.SetMTUCap(5) }},
		{"VLCap", false, func(p *smp.PortInfo) { p.SetVLCap(4) }},
		{"enforcement", true, func(p *smp.PortInfo) { p.SetPartitionEnforcementInbound(true) }},
		{"VLHighLimit", true, func(p *smp.PortInfo) { p.SetVLHighLimit(1) }},
		{"ClientReregister", false, func(p *smp.PortInfo) { p.SetClientReregister(true) }},
		{"M_KeyViolations", false, func(p *smp.PortInfo) { p.SetMKeyViolations(1) }},
		{"RespTimeValue", false, func(p *smp.PortInfo) { p.SetRespTimeValue(1) }},
		{"InitTypeReply", false, func(p *smp.PortInfo) { p.SetInitTypeReply(1) }},
	} {
		var a, b smp.PortInfo
		c.set(&b)
		if _, any := device.PortInfo.Differs((*device.Data)(&a), (*device.Data)(&b)); any != c.want {
			t.Errorf("%s counts: %v", c.name, any)
		}
	}
}
