package fabric

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/topo/net"
)

// Congestion is what a node's agent of congestion control can do.
type Congestion struct {
	Absent bool // the node has none
	// CreditStarvation says that a switch takes CSThreshold and CSReturnDelay.
	CreditStarvation bool
	TableBlocks      uint8 // of CongestionControlTable, on nodes that are no switches
	// Defect is nil for a sound agent.
	Defect Defect
}

// idealCongestion is the agent of an ideal device.
func idealCongestion(t mad.NodeType) Congestion {
	if t == mad.Switch {
		return Congestion{CreditStarvation: true}
	}
	return Congestion{TableBlocks: 8}
}

// congestion is what a switch, or a port of another node, holds of congestion control.
type congestion struct {
	key      cc.CongestionKeyInfo
	leaseEnd time.Duration // when CC_KeyProtectBit falls, 0: not running
	sw       cc.SwitchCongestionSetting
	ports    [256 / cc.PortsPerBlock]cc.SwitchPortCongestionSetting
	ca       cc.CACongestionSetting
	table    []cc.CongestionControlTable
}

// congestionOf is what is held at a port that has an agent.
func (f *Fabric) congestionOf(m int32) *congestion {
	c := f.congested[m]
	if c == nil {
		if f.congested == nil {
			f.congested = map[int32]*congestion{}
		}
		c = &congestion{table: make([]cc.CongestionControlTable, f.nodeOf(m).caps.Congestion.TableBlocks)}
		f.congested[m] = c
	}
	return c
}

// SwitchCongestion is what a switch holds of congestion control.
func (f *Fabric) SwitchCongestion(node int32) cc.SwitchCongestionSetting {
	return f.congestionOf(f.nodes[node].first).sw
}

// CACongestion is what a port of an adapter holds of congestion control. The table must not be
// written.
func (f *Fabric) CACongestion(at net.End) (cc.CACongestionSetting, []cc.CongestionControlTable) {
	i, ok := f.index(at)
	if !ok {
		return cc.CACongestionSetting{}, nil
	}
	c := f.congestionOf(i)
	return c.ca, c.table
}

// SetCCKey gives an agent its CC_Key.
func (f *Fabric) SetCCKey(at net.End, key cc.Key) {
	if i, ok := f.index(at); ok {
		f.congestionOf(f.mgmt(i)).key.SetCCKey(key)
	}
}

// takesCongestion reports whether a packet is for the agent of congestion control.
func (f *Fabric) takesCongestion(at int32, p *mad.Packet) bool {
	return p.MgmtClass() == mad.ClassCongestion && !p.IsResponse() && !f.nodeOf(at).caps.Congestion.Absent
}

// congestionAgent does what a request asks for, as far as the agent is sound.
func (f *Fabric) congestionAgent(at int32, p *mad.Packet) (status mad.Status, answers bool) {
	defect := f.nodeOf(at).caps.Congestion.Defect
	if defect == nil {
		return f.obeyCongestion(at, p)
	}
	q := *p // lest every packet be allocated for the defect's sake
	obeyed := true
	status, answers = defect(&q, func() (s mad.Status) {
		s, obeyed = f.obeyCongestion(at, &q)
		return s
	})
	*p = q
	return status, answers && obeyed
}

// obeyCongestion is the agent proper. It does not answer a Set with a wrong CC_Key.
func (f *Fabric) obeyCongestion(at int32, p *mad.Packet) (status mad.Status, answers bool) {
	set := p.Method() == mad.MethodSet
	switch {
	case p.ClassVersion() != mad.ClassCongestion.Version():
		return mad.StatusBadVersion, true
	case !set && p.Method() != mad.MethodGet:
		return mad.StatusBadMethod, true
	}
	c := f.congestionOf(f.mgmt(at))
	shown := c.shows(f.now, cc.KeyOf(p))
	if set && !shown {
		c.violated(f.now)
		return 0, false
	}
	return f.congestionAttribute(f.nodeOf(at), c, set, shown, p), true
}

// shows reports whether a CC_Key is the right one, which ends the lease.
func (c *congestion) shows(now time.Duration, key cc.Key) bool {
	if c.leaseEnd > 0 && now >= c.leaseEnd {
		c.leaseEnd = 0
		c.key.SetCCKeyProtectBit(false)
	}
	if k := c.key.CCKey(); k != 0 && k != key {
		return false
	}
	c.leaseEnd = 0
	return true
}

// violated counts a request with a wrong CC_Key, and starts the lease.
func (c *congestion) violated(now time.Duration) {
	if v := c.key.CCKeyViolations(); v < 0xffff {
		c.key.SetCCKeyViolations(v + 1)
	}
	if lease := c.key.CCKeyLeasePeriod(); lease > 0 && c.leaseEnd == 0 {
		c.leaseEnd = now + time.Duration(lease)*time.Second
	}
}

// congestionAttribute stores what a Set asks for, and fills in the attribute. shown says that the
// request shows the CC_Key.
func (f *Fabric) congestionAttribute(n *node, c *congestion, set, shown bool, p *mad.Packet) mad.Status {
	d, mod := p.PerfData(), p.AttrMod()
	isSwitch := n.sw != nil
	switch attr := p.AttrID(); {
	case attr == cc.AttrSwitchPortCongestionSetting && isSwitch:
		if mod > uint32(n.numPorts)/cc.PortsPerBlock {
			return mad.StatusBadField
		}
		exchange(set, c.ports[mod][:], d)
		return mad.StatusOK
	case attr == cc.AttrCongestionControlTable && !isSwitch:
		return c.controlTable(set, mod, d)
	case mod != 0:
		return mad.StatusBadField
	case attr == cc.AttrSwitchCongestionSetting && isSwitch:
		if set {
			c.setSwitch(&n.caps.Congestion, (*cc.SwitchCongestionSetting)(d[:]))
		}
		exchange(false, c.sw[:], d)
	case attr == cc.AttrCACongestionSetting && !isSwitch:
		if set {
			c.setAdapter((*cc.CACongestionSetting)(d[:]))
		}
		exchange(false, c.ca[:], d)
	case attr == cc.AttrCongestionKeyInfo:
		exchange(set, c.key[:], d)
		if !shown && c.key.CCKeyProtectBit() {
			(*cc.CongestionKeyInfo)(d[:]).SetCCKey(0)
		}
	case set:
		return mad.StatusBadMethodAttr
	case attr == cc.AttrClassPortInfo:
		clear(d[:])
		i := (*cc.ClassPortInfo)(d[:])
		i.SetBaseVersion(1)
		i.SetClassVersion(mad.ClassCongestion.Version())
		i.SetRespTimeValue(n.caps.RespTimeValue)
	case attr == cc.AttrCongestionInfo:
		clear(d[:])
		i := (*cc.CongestionInfo)(d[:])
		if n.caps.Congestion.CreditStarvation {
			i.SetCongestionInfo(cc.SupportsCreditStarvation)
		}
		i.SetControlTableCap(n.caps.Congestion.TableBlocks)
	default:
		return mad.StatusBadMethodAttr
	}
	return mad.StatusOK
}

// exchange stores the beginning of an attribute in what is held, if set, and gives
// back what is held then.
func exchange(set bool, held []byte, d *[mad.PerfDataSize]byte) {
	if set {
		copy(held, d[:])
	}
	clear(d[copy(d[:], held):])
}

// setSwitch changes the fields that ControlMap names.
func (c *congestion) setSwitch(caps *Congestion, want *cc.SwitchCongestionSetting) {
	m := want.ControlMap()
	c.sw.SetControlMap(m)
	if m&cc.MapVictimMask != 0 {
		c.sw.SetVictimMask(want.VictimMask())
	}
	if m&cc.MapCreditMask != 0 {
		c.sw.SetCreditMask(want.CreditMask())
	}
	if m&cc.MapThreshold != 0 {
		c.sw.SetThreshold(want.Threshold())
		c.sw.SetPacketSize(want.PacketSize())
	}
	if m&cc.MapCreditStarvation != 0 && caps.CreditStarvation {
		c.sw.SetCSThreshold(want.CSThreshold())
		c.sw.SetCSReturnDelay(want.CSReturnDelay())
	}
	if m&cc.MapMarkingRate != 0 {
		c.sw.SetMarkingRate(want.MarkingRate())
	}
}

// setAdapter changes the values of the SLs that ControlMap names.
func (c *congestion) setAdapter(want *cc.CACongestionSetting) {
	c.ca.SetPortControl(want.PortControl())
	c.ca.SetControlMap(want.ControlMap())
	for sl := range uint8(cc.SLs) {
		if want.ControlMap()>>sl&1 != 0 {
			*c.ca.SL(sl) = *want.SL(sl)
		}
	}
}

// controlTable is a block of the table. CCTI_Limit is one for all blocks.
func (c *congestion) controlTable(set bool, block uint32, d *[mad.PerfDataSize]byte) mad.Status {
	if block >= uint32(len(c.table)) {
		return mad.StatusBadField
	}
	if set {
		limit := (*cc.CongestionControlTable)(d[:]).CCTILimit()
		if int(limit) >= len(c.table)*cc.EntriesPerBlock {
			return mad.StatusBadField
		}
		for i := range c.table {
			c.table[i].SetCCTILimit(limit)
		}
	}
	exchange(set, c.table[block][:], d)
	return mad.StatusOK
}
