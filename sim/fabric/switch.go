package fabric

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// noPort is what a linear forwarding table holds for a LID that leads nowhere.
const noPort = 255

// switchState is what only a switch has. Tables reach as far as they were written.
type switchState struct {
	lft      []uint8 // by LID; beyond it is noPort
	info     smp.SwitchInfo
	mft      []uint16 // by MLID and position; beyond it is empty
	adaptive adaptive
	enhanced bool // port 0
}

func (s *switchState) powerUp(c *Caps) {
	s.lft, s.mft, s.info, s.adaptive = nil, nil, smp.SwitchInfo{}, adaptive{}
	s.info.SetLinearFDBCap(c.LinearFDBCap)
	s.info.SetMulticastFDBCap(c.MulticastFDBCap)
	s.info.SetDefaultPort(c.DefaultPort)
	s.info.SetDefaultMulticastPrimaryPort(noPort)
	s.info.SetDefaultMulticastNotPrimaryPort(noPort)
	s.info.SetPartitionEnforcementCap(c.PartitionEnforcementCap)
	s.info.SetInboundEnforcementCap(c.PartitionEnforcementCap > 0)
	s.info.SetOutboundEnforcementCap(c.PartitionEnforcementCap > 0)
	s.info.SetEnhancedPort0(s.enhanced)
	s.info.SetOptimizedSLtoVLMappingProgramming(c.OptimizedSLtoVL)
	s.info.SetFilterRawInboundCap(c.FilterRaw)
	s.info.SetFilterRawOutboundCap(c.FilterRaw)
	s.adaptive.info.SetEnabled(c.AR == AROn)
	s.adaptive.info.SetNoFallback(c.NoFallback)
	if c.SwitchPowerUp != nil {
		c.SwitchPowerUp(&s.info)
	}
}

// lookup is the port that a unicast LID leads to, noPort for none.
func (s *switchState) lookup(l mad.LID) uint8 {
	if l > s.info.LinearFDBTop() || int(l) >= len(s.lft) {
		return noPort
	}
	return s.lft[l]
}

// setSwitchInfo stores what a Set may change.
func (s *switchState) setSwitchInfo(want *smp.SwitchInfo, mcastTop bool) mad.Status {
	if top := want.LinearFDBTop(); top != 0 && uint16(top) >= s.info.LinearFDBCap() {
		return mad.StatusBadField
	}
	top := want.MulticastFDBTop()
	noEntries, beyond := mad.MinMulticastLID-1, int(mad.MinMulticastLID)+int(s.info.MulticastFDBCap())
	if mcastTop && top != 0 && (top < noEntries || int(top) >= beyond) {
		return mad.StatusBadField
	}
	s.info.SetLinearFDBTop(want.LinearFDBTop())
	s.info.SetDefaultPort(want.DefaultPort())
	s.info.SetDefaultMulticastPrimaryPort(want.DefaultMulticastPrimaryPort())
	s.info.SetDefaultMulticastNotPrimaryPort(want.DefaultMulticastNotPrimaryPort())
	s.info.SetLifeTimeValue(want.LifeTimeValue())
	if want.PortStateChange() {
		s.info.SetPortStateChange(false)
	}
	if mcastTop {
		s.info.SetMulticastFDBTop(top)
	}
	return mad.StatusOK
}

// portStates answers a Get of the states of a switch's ports, where its CapabilityMask2 announces that.
func (f *Fabric) portStates(n *node, set bool, mod uint32, d *smp.SwitchPortStateTable) mad.Status {
	if set || !n.caps.CapabilityMask2.Has(smp.IsSwitchPortStateTableSupported) {
		return mad.StatusBadMethodAttr
	}
	if mod != 0 {
		return mad.StatusBadField
	}
	*d = smp.SwitchPortStateTable{}
	for num := range min(int(n.numPorts)+1, smp.PortsPerStateTable) {
		d.SetState(uint8(num), f.ports[n.first+int32(num)].info.PortState())
	}
	return mad.StatusOK
}

// linearTable answers a Get or Set of one block.
func (s *switchState) linearTable(set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	if int64(mod)*smp.LFTBlockSize >= int64(s.info.LinearFDBCap()) {
		return mad.StatusBadField
	}
	from := int(mod) * smp.LFTBlockSize
	to := from + smp.LFTBlockSize
	if set {
		if !s.adaptive.fallsBack() {
			return mad.StatusBadField
		}
		for len(s.lft) < to {
			s.lft = append(s.lft, noPort)
		}
		copy(s.lft[from:to], d[:])
		return mad.StatusOK
	}
	n := 0
	if from < len(s.lft) {
		n = copy(d[:], s.lft[from:to])
	}
	for ; n < len(d); n++ {
		d[n] = noPort
	}
	return mad.StatusOK
}

// positions is the number of 16-port groups of a multicast table.
func positions(numPorts uint8) int { return int(numPorts)/16 + 1 }

// multicastTable answers a Get or Set of one block of one position.
func (s *switchState) multicastTable(numPorts uint8, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	block, position, width := int(mod&0x1ff), int(mod>>28), positions(numPorts)
	if mod&0x0ffffe00 != 0 || position >= width || block*smp.MFTBlockSize >= int(s.info.MulticastFDBCap()) {
		return mad.StatusBadField
	}
	t := (*smp.MulticastForwardingTable)(d)
	if set {
		if need := (block + 1) * smp.MFTBlockSize * width; len(s.mft) < need {
			s.mft = append(slices.Grow(s.mft, need-len(s.mft)), make([]uint16, need-len(s.mft))...)
		}
	}
	for i := range smp.MFTBlockSize {
		at, l := (block*smp.MFTBlockSize+i)*width+position, mad.LID(i)
		switch {
		case set:
			s.mft[at] = t.PortMask(l)
		case at < len(s.mft):
			t.SetPortMask(l, s.mft[at])
		default:
			t.SetPortMask(l, 0)
		}
	}
	return mad.StatusOK
}

// multicastPorts are the ports that an MLID leads to, by position.
func (s *switchState) multicastPorts(numPorts uint8, l mad.LID) []uint16 {
	top := s.info.MulticastFDBTop()
	if top != 0 && l > top || l < mad.MinMulticastLID {
		return nil
	}
	width := positions(numPorts)
	at := int(l-mad.MinMulticastLID) * width
	if at+width > len(s.mft) {
		return nil
	}
	return s.mft[at : at+width]
}
