package main_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// field is a settable field of an attribute. Its value is text, in hexadecimal.
type field struct {
	name  string
	at, n int  // in bits
	keeps bool // 0, when sent, means no change
	acts  bool // 1, when sent, does something whatever is held
	// A value of all ones stands for the mask of what is supported, which is there.
	allAt, allN int
}

func (f *field) of(d *[mad.DataSize]byte) string {
	v := new(big.Int).SetBytes(d[f.at/8 : (f.at+f.n+7)/8])
	v.Rsh(v, uint((8-(f.at+f.n)%8)%8))
	return fmt.Sprintf("%x", v.And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(f.n)), big.NewInt(1))))
}

// The settable fields of the attributes that have fields (IBA 14.2.5); the others are tables,
// and their blocks are compared as a whole.
var (
	portInfoFields = []field{
		{name: "M_Key", at: 0, n: 64}, {name: "GidPrefix", at: 64, n: 64}, {name: "LID", at: 128, n: 16},
		{name: "MasterSMLID", at: 144, n: 16},
		{name: "M_KeyLeasePeriod", at: 208, n: 16}, {name: "LinkWidthEnabled", at: 232, n: 8, keeps: true, allAt: 240,
			allN: 8}, {name: "PortState", at: 260, n: 4, keeps: true},
		{name: "PortPhysicalState", at: 264, n: 4, keeps: true},
		{name: "LinkDownDefaultState", at: 268, n: 4, keeps: true}, {name: "M_KeyProtectBits", at: 272, n: 2},
		{name: "LMC", at: 277, n: 3}, {name: "LinkSpeedEnabled", at: 284, n: 4, keeps: true, allAt: 256, allN: 4},
		{name: "NeighborMTU", at: 288, n: 4}, {name: "MasterSMSL", at: 292, n: 4},
		{name: "VLHighLimit", at: 304, n: 8}, {name: "InitTypeReply", at: 328, n: 4},
		{name: "VLStallCount", at: 336, n: 3}, {name: "HOQLife", at: 339, n: 5},
		{name: "OperationalVLs", at: 344, n: 4, keeps: true}, {name: "PartitionEnforcementInbound", at: 348, n: 1},
		{name: "PartitionEnforcementOutbound", at: 349, n: 1},
		{name: "FilterRawInbound", at: 350, n: 1}, {name: "FilterRawOutbound", at: 351, n: 1},
		{name: "M_KeyViolations", at: 352, n: 16}, {name: "P_KeyViolations", at: 368, n: 16},
		{name: "Q_KeyViolations", at: 384, n: 16}, {name: "ClientReregister", at: 408, n: 1, keeps: true},
		{name: "McastPKeyTrapSuppressionEnabled", at: 409, n: 2},
		{name: "SubnetTimeOut", at: 411, n: 5}, {name: "LocalPhyErrors", at: 424, n: 4},
		{name: "OverrunErrors", at: 428, n: 4}, {name: "MaxCreditHint", at: 432, n: 16},
		{name: "LinkSpeedExtEnabled2", at: 453, n: 3, keeps: true, allAt: 451, allN: 2},
		{name: "LinkRoundTripLatency", at: 456, n: 24},
		{name: "LinkSpeedExtEnabled", at: 507, n: 5, keeps: true, allAt: 500, allN: 4},
	}
	switchInfoFields = []field{
		{name: "LinearFDBTop", at: 48, n: 16}, {name: "DefaultPort", at: 64, n: 8},
		{name: "DefaultMulticastPrimaryPort", at: 72, n: 8},
		{name: "DefaultMulticastNotPrimaryPort", at: 80, n: 8}, {name: "LifeTimeValue", at: 88, n: 5},
		{name: "PortStateChange", at: 93, n: 1, keeps: true, acts: true},
		{name: "MulticastFDBTop", at: 144, n: 16},
	}
	extendedFields = []field{{name: "StateChangeEnable", at: 24, n: 8, acts: true},
		{name: "LinkSpeedEnabled", at: 88, n: 8}}
)

// fieldsOf are the fields of an attribute, nil for a table.
func fieldsOf(attr mad.AttrID) []field {
	switch attr {
	case smp.AttrPortInfo:
		return portInfoFields
	case smp.AttrSwitchInfo:
		return switchInfoFields
	case smp.AttrExtendedPortInfo:
		return extendedFields
	}
	return nil
}

// item is a field or a block of an attribute of a port.
type item struct {
	at   net.End
	attr mad.AttrID
	part string
}

// fieldRecord is what became of the ports of a fabric under a manager: the values that it sent
// for each item other than the one that was held, and the values now held.
type fieldRecord struct {
	fabric  *fabric.Fabric
	members map[member]joinedAs
	first   map[item]string // held when watching began
	before  map[item]string // held when the last Set came
	blocks  map[item]string // written since power-up
	sent    map[item][]string
	sets    int
	all     []item            // that were set since watching began
	refused map[item][]string // values of the Sets that were refused in the last stage in which some were
	anew    map[item]bool     // that were refused in this stage
}

func newFieldRecord() *fieldRecord {
	return &fieldRecord{blocks: map[item]string{}, before: map[item]string{}, sent: map[item][]string{},
		refused: map[item][]string{}, anew: map[item]bool{}, members: map[member]joinedAs{}}
}

// watch begins to record what is sent to a fabric. What it holds now was not sent.
func (r *fieldRecord) watch(f *fabric.Fabric) {
	r.fabric = f
	if len(r.blocks) == 0 {
		r.hasTables(func(net.End) bool { return true })
	}
	r.before = r.held()
	r.first = maps.Clone(r.before)
	clear(r.sent)
	clear(r.anew)
	r.all = nil
}

// set takes a Set.
func (r *fieldRecord) set(s fabric.Set) {
	if r.fabric == nil {
		return
	}
	r.sets++
	at := r.target(s)
	r.all = append(r.all, item{at, s.Attr, blockName(s)})
	fields := fieldsOf(s.Attr)
	for i := range fields {
		f := &fields[i]
		v := f.of(&s.Data)
		if f.allN > 0 && v == fmt.Sprintf("%x", 1<<f.n-1) {
			info := r.fabric.PortInfo(at)
			v = (&field{at: f.allAt, n: f.allN}).of((*[mad.DataSize]byte)(&info))
		}
		i := item{at, s.Attr, f.name}
		if f.keeps && v == "0" {
			continue
		}
		if s.Status != mad.StatusOK {
			if !r.anew[i] {
				r.anew[i], r.refused[i] = true, nil
			}
			note(r.refused, i, v)
		}
		if r.before[i] != v || f.acts {
			note(r.sent, i, v)
		}
	}
	if fields == nil {
		i, data := item{at, s.Attr, blockName(s)}, hex.EncodeToString(s.Data[:])
		if is, known := r.blocks[i]; !known && data != emptyBlock(s.Attr) || known && data != is {
			note(r.sent, i, data)
		}
		if s.Status == mad.StatusOK {
			r.blocks[i] = data
		}
		return
	}
	r.hold(at, s.Attr, r.before)
}

// emptyBlock is a block of a table as devices have it after power-up.
func emptyBlock(attr mad.AttrID) string {
	switch attr {
	case smp.AttrLinearForwardingTable:
		return strings.Repeat("ff", mad.DataSize)
	case smp.AttrMulticastForwardingTable, smp.AttrPKeyTable, smp.AttrGUIDInfo:
		return strings.Repeat("00", mad.DataSize)
	}
	return ""
}

// rebooted forgets what was written to a node.
func (r *fieldRecord) rebooted(node int32) {
	maps.DeleteFunc(r.blocks, func(i item, _ string) bool { return i.at.Node == node })
	r.hasTables(func(at net.End) bool { return at.Node == node })
}

// hasTables notes the P_Keys and GUIDs that ports have after power-up.
func (r *fieldRecord) hasTables(which func(net.End) bool) {
	for at := range r.fabric.Ports() {
		if !which(at) {
			continue
		}
		var keys smp.PKeyTable
		for i, k := range r.fabric.PKeys(at) {
			keys.SetPKey(i, k)
		}
		r.blocks[item{at, smp.AttrPKeyTable, "block 0"}] = hex.EncodeToString(keys[:])
		if r.fabric.NodeType(at.Node) != mad.Switch {
			var guids smp.GUIDInfo
			for i, g := range r.fabric.GUIDs(at)[:min(smp.GUIDsPerBlock, len(r.fabric.GUIDs(at)))] {
				guids.SetGUID(i, g)
			}
			r.blocks[item{at, smp.AttrGUIDInfo, "block 0x0"}] = hex.EncodeToString(guids[:])
		}
	}
}

func note(values map[item][]string, i item, v string) {
	if !slices.Contains(values[i], v) {
		values[i] = append(values[i], v)
	}
}

// target is the port that a Set is for.
func (r *fieldRecord) target(s fabric.Set) net.End {
	at := net.End{Node: s.Node, Port: s.In}
	if r.fabric.NodeType(s.Node) != mad.Switch {
		return at
	}
	at.Port = 0
	switch s.Attr {
	case smp.AttrPortInfo, smp.AttrExtendedPortInfo, smp.AttrVLArbitrationTable, smp.AttrSLtoVLMappingTable:
		at.Port = uint8(s.Mod)
	case smp.AttrPKeyTable:
		at.Port = uint8(s.Mod >> 16)
	}
	return at
}

// blockName names the block of a table that a Set is for.
func blockName(s fabric.Set) string {
	switch s.Attr {
	case smp.AttrPKeyTable:
		return fmt.Sprintf("block %d", s.Mod&0xffff)
	case smp.AttrSLtoVLMappingTable:
		if wild := s.Mod >> 16; wild != 0 {
			return fmt.Sprintf("wildcard %d", wild)
		}
		return fmt.Sprintf("from port %d", s.Mod>>8&0xff)
	case smp.AttrVLArbitrationTable:
		return fmt.Sprintf("block %d", s.Mod>>16)
	}
	return fmt.Sprintf("block %#x", s.Mod)
}

// held is what all ports hold.
func (r *fieldRecord) held() map[item]string {
	m := map[item]string{}
	for at := range r.fabric.Ports() {
		r.hold(at, smp.AttrPortInfo, m)
		r.hold(at, smp.AttrExtendedPortInfo, m)
		for block := range 4 {
			table := r.fabric.VLArbitration(at, block)
			m[item{at, smp.AttrVLArbitrationTable, fmt.Sprintf("held in block %d", block)}] = hex.EncodeToString(
				table[:])
		}
		m[item{at, smp.AttrPKeyTable, "held"}] = fmt.Sprint(r.fabric.PKeys(at))
		if r.fabric.NodeType(at.Node) != mad.Switch {
			m[item{at, smp.AttrGUIDInfo, "held"}] = fmt.Sprint(r.fabric.GUIDs(at))
			m[item{at, smp.AttrSLtoVLMappingTable, "held"}] = r.lanes(at, 0)
			continue
		}
		for in := range r.fabric.NumPorts(at.Node) + 1 {
			m[item{at, smp.AttrSLtoVLMappingTable, fmt.Sprintf("held for port %d", in)}] = r.lanes(at, in)
		}
		if at.Port == 0 {
			r.hold(at, smp.AttrSwitchInfo, m)
			r.holdTables(at, m)
		}
	}
	return m
}

func (r *fieldRecord) lanes(at net.End, in uint8) string {
	var b strings.Builder
	for sl := range uint8(16) {
		fmt.Fprintf(&b, "%x", r.fabric.VL(at, in, sl))
	}
	return b.String()
}

// holdTables puts in the forwarding tables of a switch, as far as they lead anywhere.
func (r *fieldRecord) holdTables(at net.End, m map[item]string) {
	info := r.fabric.SwitchInfo(at.Node)
	for lid, port := range r.fabric.LFT(at.Node) {
		if mad.LID(lid) <= info.LinearFDBTop() && port != 255 {
			m[item{at, smp.AttrLinearForwardingTable, lidPart(mad.LID(lid))}] = fmt.Sprint(port)
		}
	}
	for mlid := mad.MinMulticastLID; mlid < mad.MinMulticastLID+128; mlid++ {
		var ports []uint8
		for port := range r.fabric.NumPorts(at.Node) + 1 {
			if r.fabric.MulticastPort(at.Node, mlid, port) {
				ports = append(ports, port)
			}
		}
		if ports != nil {
			m[item{at, smp.AttrMulticastForwardingTable, mlidPart(mlid)}] = fmt.Sprint(ports)
		}
	}
}

// hold puts in what a port holds of an attribute that has fields.
func (r *fieldRecord) hold(at net.End, attr mad.AttrID, m map[item]string) {
	var d [mad.DataSize]byte
	switch attr {
	case smp.AttrPortInfo:
		d = r.fabric.PortInfo(at)
	case smp.AttrSwitchInfo:
		d = r.fabric.SwitchInfo(at.Node)
	case smp.AttrExtendedPortInfo:
		var e smp.ExtendedPortInfo
		if r.fabric.FDR10Enabled(at) {
			e.SetLinkSpeedEnabled(smp.SpeedFDR10)
		}
		d = e
	}
	for _, f := range fieldsOf(attr) {
		m[item{at, attr, f.name}] = f.of(&d)
	}
}

// state is what was sent since watching began, and what is held now.
func (r *fieldRecord) state() *fieldState {
	s := &fieldState{held: r.held(), first: r.first, ports: map[net.End]fieldPort{},
		switches: map[int32]smp.SwitchInfo{}, members: maps.Clone(r.members)}
	s.sent, s.refused = sorted(r.sent), sorted(r.refused)
	for at := range r.fabric.Ports() {
		node := r.fabric.NodeInfo(at)
		p := fieldPort{place: placeOf(r.fabric, at), info: r.fabric.PortInfo(at), cable: r.fabric.Peer(at),
			peer: net.NoEnd, room: node.PartitionCap(), sendsData: r.fabric.SendsData(at)}
		if r.fabric.CableGood(at) && p.info.PortState() > smp.PortDown {
			p.peer = r.fabric.Peer(at)
		}
		s.ports[at] = p
		if r.fabric.NodeType(at.Node) == mad.Switch {
			s.switches[at.Node] = r.fabric.SwitchInfo(at.Node)
		}
	}
	return s
}

func sorted(values map[item][]string) map[item][]string {
	m := map[item][]string{}
	for i, v := range values {
		m[i] = slices.Sorted(slices.Values(v))
	}
	return m
}
