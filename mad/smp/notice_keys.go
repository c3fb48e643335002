package smp

import "ibsm/mad"

// BadMKeyDetails is the details of trap 256: a SMP showed a wrong M_Key.
type BadMKeyDetails [DetailsSize]byte

// BadMKey views the details of trap 256.
func (n *Notice) BadMKey() *BadMKeyDetails { return (*BadMKeyDetails)(n.details()) }

// LID is that of the sender of the SMP (IBA 14.2.5.1); with drivers of Linux (qib_mad.c, hfi1/mad.c) that of the agent
// that reports it.
func (d *BadMKeyDetails) LID() mad.LID { return mad.LID(get16(d[2:])) }

// SetLID sets LID.
func (d *BadMKeyDetails) SetLID(v mad.LID) { put16(d[2:], uint16(v)) }

// DRSLID is the DrSLID of a directed-route SMP.
func (d *BadMKeyDetails) DRSLID() mad.LID { return mad.LID(get16(d[4:])) }

// SetDRSLID sets DRSLID.
func (d *BadMKeyDetails) SetDRSLID(v mad.LID) { put16(d[4:], uint16(v)) }

// Method is the SMP's.
func (d *BadMKeyDetails) Method() mad.Method { return mad.Method(d[6]) }

// SetMethod sets Method.
func (d *BadMKeyDetails) SetMethod(v mad.Method) { d[6] = uint8(v) }

// AttributeID is the SMP's.
func (d *BadMKeyDetails) AttributeID() mad.AttrID { return mad.AttrID(get16(d[8:])) }

// SetAttributeID sets AttributeID.
func (d *BadMKeyDetails) SetAttributeID(v mad.AttrID) { put16(d[8:], uint16(v)) }

// AttributeModifier is the SMP's.
func (d *BadMKeyDetails) AttributeModifier() uint32 { return get32(d[10:]) }

// SetAttributeModifier sets AttributeModifier.
func (d *BadMKeyDetails) SetAttributeModifier(v uint32) { put32(d[10:], v) }

// MKey is the key it showed.
func (d *BadMKeyDetails) MKey() mad.MKey { return mad.MKey(get64(d[14:])) }

// SetMKey sets MKey.
func (d *BadMKeyDetails) SetMKey(v mad.MKey) { put64(d[14:], uint64(v)) }

// DRNotice says that it was a directed-route SMP and that the fields of its
// path count.
func (d *BadMKeyDetails) DRNotice() bool { return d[23]&0x80 != 0 }

// SetDRNotice sets DRNotice.
func (d *BadMKeyDetails) SetDRNotice(v bool) { putBool(&d[23], 0x80, v) }

// DRPathTruncated says that the path is longer than the field.
func (d *BadMKeyDetails) DRPathTruncated() bool { return d[23]&0x40 != 0 }

// SetDRPathTruncated sets DRPathTruncated.
func (d *BadMKeyDetails) SetDRPathTruncated(v bool) { putBool(&d[23], 0x40, v) }

// DRHopCount is the length of the path, 0..63. DRReturnPath bounds it.
func (d *BadMKeyDetails) DRHopCount() uint8 { return get(d[23], 0x3f) }

// SetDRHopCount sets DRHopCount.
func (d *BadMKeyDetails) SetDRHopCount(v uint8) { put(&d[23], 0x3f, v) }

// DRReturnPath is the ports on which the hops received the SMP, as far as they
// fit: at most 30. It is a view.
func (d *BadMKeyDetails) DRReturnPath() []uint8 { return d[24:][:min(d.DRHopCount(), 30)] }

// BadKeyDetails is the details of traps 257 and 258: a port received a packet
// with a wrong P_Key or Q_Key.
type BadKeyDetails [DetailsSize]byte

// BadKey views the details of traps 257 and 258.
func (n *Notice) BadKey() *BadKeyDetails { return (*BadKeyDetails)(n.details()) }

// LID1 is where the packet came from.
func (d *BadKeyDetails) LID1() mad.LID { return mad.LID(get16(d[2:])) }

// SetLID1 sets LID1.
func (d *BadKeyDetails) SetLID1(v mad.LID) { put16(d[2:], uint16(v)) }

// LID2 is where it was for.
func (d *BadKeyDetails) LID2() mad.LID { return mad.LID(get16(d[4:])) }

// SetLID2 sets LID2.
func (d *BadKeyDetails) SetLID2(v mad.LID) { put16(d[4:], uint16(v)) }

// Key is the Q_Key of trap 258; the P_Key of trap 257 in its lower 16 bits.
func (d *BadKeyDetails) Key() uint32 { return get32(d[6:]) }

// SetKey sets Key.
func (d *BadKeyDetails) SetKey(v uint32) { put32(d[6:], v) }

// SL is the packet's service level.
func (d *BadKeyDetails) SL() uint8 { return get(d[10], 0xf0) }

// SetSL sets SL.
func (d *BadKeyDetails) SetSL(v uint8) { put(&d[10], 0xf0, v) }

// QP1 is the queue pair it came from.
func (d *BadKeyDetails) QP1() uint32 { return get24((*[3]byte)(d[11:])) }

// SetQP1 sets QP1.
func (d *BadKeyDetails) SetQP1(v uint32) { put24((*[3]byte)(d[11:]), v) }

// QP2 is the queue pair it was for.
func (d *BadKeyDetails) QP2() uint32 { return get24((*[3]byte)(d[15:])) }

// SetQP2 sets QP2.
func (d *BadKeyDetails) SetQP2(v uint32) { put24((*[3]byte)(d[15:]), v) }

// GID1 is the address it came from, 0 without a GRH.
func (d *BadKeyDetails) GID1() mad.GID { return mad.GID(d[18:34]) }

// SwitchBadPKeyDetails is the details of trap 259: an external port of a switch
// dropped a packet with a wrong P_Key.
type SwitchBadPKeyDetails [DetailsSize]byte

// SwitchBadPKey views the details of trap 259.
func (n *Notice) SwitchBadPKey() *SwitchBadPKeyDetails { return (*SwitchBadPKeyDetails)(n.details()) }

// LID1 is where the packet came from.
func (d *SwitchBadPKeyDetails) LID1() mad.LID { return mad.LID(get16(d[2:])) }

// SetLID1 sets LID1.
func (d *SwitchBadPKeyDetails) SetLID1(v mad.LID) { put16(d[2:], uint16(v)) }

// LID2 is where it was for.
func (d *SwitchBadPKeyDetails) LID2() mad.LID { return mad.LID(get16(d[4:])) }

// SetLID2 sets LID2.
func (d *SwitchBadPKeyDetails) SetLID2(v mad.LID) { put16(d[4:], uint16(v)) }

// PKey is the packet's.
func (d *SwitchBadPKeyDetails) PKey() mad.PKey { return mad.PKey(get16(d[6:])) }

// SetPKey sets PKey.
func (d *SwitchBadPKeyDetails) SetPKey(v mad.PKey) { put16(d[6:], uint16(v)) }

// SetSL sets SL.
func (d *SwitchBadPKeyDetails) SetSL(v uint8) { put(&d[8], 0xf0, v) }

// SetQP1 sets QP1.
func (d *SwitchBadPKeyDetails) SetQP1(v uint32) { put24((*[3]byte)(d[9:]), v) }

// SetQP2 sets QP2.
func (d *SwitchBadPKeyDetails) SetQP2(v uint32) { put24((*[3]byte)(d[13:]), v) }

// GID1 is the address it came from, 0 without a GRH.
func (d *SwitchBadPKeyDetails) GID1() mad.GID { return mad.GID(d[16:32]) }

// SwitchLID is the switch.
func (d *SwitchBadPKeyDetails) SwitchLID() mad.LID { return mad.LID(get16(d[48:])) }

// SetSwitchLID sets SwitchLID.
func (d *SwitchBadPKeyDetails) SetSwitchLID(v mad.LID) { put16(d[48:], uint16(v)) }

// PortNum is the port of the switch.
func (d *SwitchBadPKeyDetails) PortNum() uint8 { return d[50] }

// SetPortNum sets PortNum.
func (d *SwitchBadPKeyDetails) SetPortNum(v uint8) { d[50] = v }

// GID2 is the GID of the receiver.
func (d *BadKeyDetails) GID2() mad.GID { return mad.GID(d[34:50]) }

// DataValid has a bit for each of the fields that are valid (IBA 14.2.5.1).
func (d *SwitchBadPKeyDetails) DataValid() uint16 { return get16(d[0:]) }

// SL is the service level of the packet, 0..15.
func (d *SwitchBadPKeyDetails) SL() uint8 { return get(d[8], 0xf0) }

// QP1 is the queue pair of the sender.
func (d *SwitchBadPKeyDetails) QP1() uint32 { return get24((*[3]byte)(d[9:])) }

// QP2 is the queue pair of the receiver.
func (d *SwitchBadPKeyDetails) QP2() uint32 { return get24((*[3]byte)(d[13:])) }

// GID2 is the GID of the receiver.
func (d *SwitchBadPKeyDetails) GID2() mad.GID { return mad.GID(d[32:48]) }
