package smp

import "ibsm/mad"

// DetailsSize is the size of a notice's DataDetails in bytes.
const DetailsSize = 54

// The types below are the layouts of DataDetails (IBA 14.2.5.1). Each is a view
// of a Notice: to read one whose trap number is another's gives numbers without
// meaning and does no harm, and what is set through it is set in the Notice.

func (n *Notice) details() *[DetailsSize]byte { return (*[DetailsSize]byte)(n[10:]) }

// AddressDetails is the details of traps 64 to 69: an address came, went, was
// created or deleted.
type AddressDetails [DetailsSize]byte

// Address views the details of traps 64 to 69.
func (n *Notice) Address() *AddressDetails { return (*AddressDetails)(n.details()) }

// GID is the address of the port or group.
func (d *AddressDetails) GID() mad.GID { return mad.GID(d[6:22]) }

// SetGID sets GID.
func (d *AddressDetails) SetGID(g mad.GID) { copy(d[6:22], g[:]) }

// LinkStateDetails is the details of trap 128: a port of a switch changed its
// state.
type LinkStateDetails [DetailsSize]byte

// LinkState views the details of trap 128.
func (n *Notice) LinkState() *LinkStateDetails { return (*LinkStateDetails)(n.details()) }

// LID is the switch.
func (d *LinkStateDetails) LID() mad.LID { return mad.LID(get16(d[0:])) }

// SetLID sets LID.
func (d *LinkStateDetails) SetLID(v mad.LID) { put16(d[0:], uint16(v)) }

// PortErrorDetails is the details of traps 129 to 131: a port had more errors
// than its threshold.
type PortErrorDetails [DetailsSize]byte

// PortError views the details of traps 129 to 131.
func (n *Notice) PortError() *PortErrorDetails { return (*PortErrorDetails)(n.details()) }

// LID is the port's, or its switch's.
func (d *PortErrorDetails) LID() mad.LID { return mad.LID(get16(d[2:])) }

// SetLID sets LID.
func (d *PortErrorDetails) SetLID(v mad.LID) { put16(d[2:], uint16(v)) }

// PortNum is the port.
func (d *PortErrorDetails) PortNum() uint8 { return d[4] }

// SetPortNum sets PortNum.
func (d *PortErrorDetails) SetPortNum(v uint8) { d[4] = v }

// LocalChangeDetails is the details of trap 144: something changed that the
// port announces.
type LocalChangeDetails [DetailsSize]byte

// LocalChange views the details of trap 144.
func (n *Notice) LocalChange() *LocalChangeDetails { return (*LocalChangeDetails)(n.details()) }

// LID is the port.
func (d *LocalChangeDetails) LID() mad.LID { return mad.LID(get16(d[2:])) }

// SetLID sets LID.
func (d *LocalChangeDetails) SetLID(v mad.LID) { put16(d[2:], uint16(v)) }

// OtherLocalChanges says that ChangeFlags counts.
func (d *LocalChangeDetails) OtherLocalChanges() bool { return d[5]&0x01 != 0 }

// SetOtherLocalChanges sets OtherLocalChanges.
func (d *LocalChangeDetails) SetOtherLocalChanges(v bool) { putBool(&d[5], 0x01, v) }

// CapabilityMask is the port's, as it is now.
func (d *LocalChangeDetails) CapabilityMask() CapMask { return CapMask(get32(d[6:])) }

// SetCapabilityMask sets CapabilityMask.
func (d *LocalChangeDetails) SetCapabilityMask(v CapMask) { put32(d[6:], uint32(v)) }

// ChangeFlags is what changed.
func (d *LocalChangeDetails) ChangeFlags() ChangeFlags { return ChangeFlags(get16(d[10:])) }

// SetChangeFlags sets ChangeFlags.
func (d *LocalChangeDetails) SetChangeFlags(v ChangeFlags) { put16(d[10:], uint16(v)) }

// CapabilityMask2 is the port's, as it is now.
func (d *LocalChangeDetails) CapabilityMask2() CapMask2 { return CapMask2(get16(d[12:])) }

// SetCapabilityMask2 sets CapabilityMask2.
func (d *LocalChangeDetails) SetCapabilityMask2(v CapMask2) { put16(d[12:], uint16(v)) }

// ChangeFlags is what changed at a port that sends trap 144.
type ChangeFlags uint16

// Bits of ChangeFlags.
const (
	ChangedNodeDescription ChangeFlags = 0x0001
	ChangedSMPriority      ChangeFlags = 0x0008
)

// SystemImageDetails is the details of trap 145: the node's SystemImageGUID
// changed.
type SystemImageDetails [DetailsSize]byte

// SystemImage views the details of trap 145.
func (n *Notice) SystemImage() *SystemImageDetails { return (*SystemImageDetails)(n.details()) }

// LID is the port.
func (d *SystemImageDetails) LID() mad.LID { return mad.LID(get16(d[2:])) }

// SystemImageGUID is the new one.
func (d *SystemImageDetails) SystemImageGUID() mad.GUID { return mad.GUID(get64(d[6:])) }
