package smp

import "ibsm/mad"

// The details of NVIDIA's traps about virtual ports. They are not generic: Notice.VendorID has the
// vendor, and TrapNumber the number.

// VPortLocalChangeDetails is the details of trap 1144: something changed that a
// vPort announces.
type VPortLocalChangeDetails [DetailsSize]byte

// VPortLocalChange views the details of trap 1144.
func (n *Notice) VPortLocalChange() *VPortLocalChangeDetails {
	return (*VPortLocalChangeDetails)(n.details())
}

// LID is the port.
func (d *VPortLocalChangeDetails) LID() mad.LID { return mad.LID(get16(d[2:])) }

// SetLID sets LID.
func (d *VPortLocalChangeDetails) SetLID(v mad.LID) { put16(d[2:], uint16(v)) }

// LocalChanges says that ChangeFlags counts.
func (d *VPortLocalChangeDetails) LocalChanges() bool { return d[5]&0x01 != 0 }

// SetLocalChanges sets LocalChanges.
func (d *VPortLocalChangeDetails) SetLocalChanges(v bool) { putBool(&d[5], 0x01, v) }

// CapabilityMask is the vPort's.
func (d *VPortLocalChangeDetails) CapabilityMask() VPortCapMask { return VPortCapMask(get16(d[6:])) }

// SetCapabilityMask sets CapabilityMask.
func (d *VPortLocalChangeDetails) SetCapabilityMask(v VPortCapMask) { put16(d[6:], uint16(v)) }

// ChangeFlags is what changed; its description is the VNodeDescription.
func (d *VPortLocalChangeDetails) ChangeFlags() ChangeFlags { return ChangeFlags(get16(d[8:])) }

// SetChangeFlags sets ChangeFlags.
func (d *VPortLocalChangeDetails) SetChangeFlags(v ChangeFlags) { put16(d[8:], uint16(v)) }

// VPortIndex is the vPort.
func (d *VPortLocalChangeDetails) VPortIndex() uint16 { return get16(d[12:]) }

// SetVPortIndex sets VPortIndex.
func (d *VPortLocalChangeDetails) SetVPortIndex(v uint16) { put16(d[12:], v) }

// VPortStateChangeDetails is the details of trap 1146: some vPort of a port
// changed its state.
type VPortStateChangeDetails [DetailsSize]byte

// VPortStateChange views the details of trap 1146.
func (n *Notice) VPortStateChange() *VPortStateChangeDetails {
	return (*VPortStateChangeDetails)(n.details())
}

// LID is the port.
func (d *VPortStateChangeDetails) LID() mad.LID { return mad.LID(get16(d[2:])) }

// SetLID sets LID.
func (d *VPortStateChangeDetails) SetLID(v mad.LID) { put16(d[2:], uint16(v)) }

// VPortBadKeyDetails is the details of traps 1257 and 1258: a vPort received a
// packet with a wrong P_Key or Q_Key.
type VPortBadKeyDetails [DetailsSize]byte

// VPortBadKey views the details of traps 1257 and 1258.
func (n *Notice) VPortBadKey() *VPortBadKeyDetails { return (*VPortBadKeyDetails)(n.details()) }

// LID1 is where the packet came from.
func (d *VPortBadKeyDetails) LID1() mad.LID { return mad.LID(get16(d[2:])) }

// SetLID1 sets LID1.
func (d *VPortBadKeyDetails) SetLID1(v mad.LID) { put16(d[2:], uint16(v)) }

// LID2 is where it was for.
func (d *VPortBadKeyDetails) LID2() mad.LID { return mad.LID(get16(d[4:])) }

// SetLID2 sets LID2.
func (d *VPortBadKeyDetails) SetLID2(v mad.LID) { put16(d[4:], uint16(v)) }

// Key is the Q_Key of trap 1258; the P_Key of trap 1257 in its lower 16 bits.
func (d *VPortBadKeyDetails) Key() uint32 { return get32(d[6:]) }

// SetKey sets Key.
func (d *VPortBadKeyDetails) SetKey(v uint32) { put32(d[6:], v) }

// SL is the packet's service level.
func (d *VPortBadKeyDetails) SL() uint8 { return get(d[10], 0xf0) }

// SetSL sets SL.
func (d *VPortBadKeyDetails) SetSL(v uint8) { put(&d[10], 0xf0, v) }

// QP1 is the queue pair it came from.
func (d *VPortBadKeyDetails) QP1() uint32 { return get24((*[3]byte)(d[11:])) }

// SetQP1 sets QP1.
func (d *VPortBadKeyDetails) SetQP1(v uint32) { put24((*[3]byte)(d[11:]), v) }

// QP2 is the queue pair it was for.
func (d *VPortBadKeyDetails) QP2() uint32 { return get24((*[3]byte)(d[15:])) }

// SetQP2 sets QP2.
func (d *VPortBadKeyDetails) SetQP2(v uint32) { put24((*[3]byte)(d[15:]), v) }

// GID1 is the address it came from, 0 without a GRH.
func (d *VPortBadKeyDetails) GID1() mad.GID { return mad.GID(d[18:34]) }

// SetGID1 sets GID1.
func (d *VPortBadKeyDetails) SetGID1(g mad.GID) { copy(d[18:34], g[:]) }

// GID2 is the address it was for, 0 without a GRH.
func (d *VPortBadKeyDetails) GID2() mad.GID { return mad.GID(d[34:50]) }

// SetGID2 sets GID2.
func (d *VPortBadKeyDetails) SetGID2(g mad.GID) { copy(d[34:50], g[:]) }

// VPortIndex is the vPort.
func (d *VPortBadKeyDetails) VPortIndex() uint16 { return get16(d[50:]) }

// SetVPortIndex sets VPortIndex.
func (d *VPortBadKeyDetails) SetVPortIndex(v uint16) { put16(d[50:], v) }
