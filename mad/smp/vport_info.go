package smp

import "ibsm/mad"

// VPortInfo is NVIDIA's attribute 0xFFB1, a vPort. The attribute modifier names its index, as VPortLayout says.
//
//	 0 VPortState 4, ClientReregister 1, LIDRequired 1, 2   GUIDCap
//	 2 CapabilityMask
//	 4 P_KeyViolations                                      Q_KeyViolations
//	 8 VPortLID                                             LIDByVPortIndex
//	12 PortGUID
//	20 PortProfile
//
// A Set writes the whole attribute: start from what the last Get answered, and change what is meant.
type VPortInfo [mad.DataSize]byte

// VPortState is the state of the vPort: PortDown, PortInit, PortArmed or PortActive; PortNoChange in a Set, as in
// PortInfo.
func (v *VPortInfo) VPortState() PortState { return PortState(get(v[0], 0xf0)) }

// SetVPortState sets VPortState.
func (v *VPortInfo) SetVPortState(s PortState) { put(&v[0], 0xf0, uint8(s)) }

// ClientReregister in a Set has the clients of the vPort register again.
func (v *VPortInfo) ClientReregister() bool { return v[0]&0x08 != 0 }

// SetClientReregister sets ClientReregister.
func (v *VPortInfo) SetClientReregister(on bool) { putBool(&v[0], 0x08, on) }

// LIDRequired says that the vPort wants a LID of its own. Without it the vPort is reached by the LID of another one,
// LIDByVPortIndex, and a GRH with one of its GUIDs.
func (v *VPortInfo) LIDRequired() bool { return v[0]&0x04 != 0 }

// SetLIDRequired sets LIDRequired.
func (v *VPortInfo) SetLIDRequired(on bool) { putBool(&v[0], 0x04, on) }

// GUIDCap is the number of entries of VPortGUIDInfo.
func (v *VPortInfo) GUIDCap() uint8 { return v[1] }

// SetGUIDCap sets GUIDCap.
func (v *VPortInfo) SetGUIDCap(n uint8) { v[1] = n }

// CapabilityMask is what runs on the vPort.
func (v *VPortInfo) CapabilityMask() VPortCapMask { return VPortCapMask(get16(v[2:])) }

// SetCapabilityMask sets CapabilityMask.
func (v *VPortInfo) SetCapabilityMask(m VPortCapMask) { put16(v[2:], uint16(m)) }

// PKeyViolations counts packets that the vPort received with a bad P_Key.
func (v *VPortInfo) PKeyViolations() uint16 { return get16(v[4:]) }

// SetPKeyViolations sets PKeyViolations.
func (v *VPortInfo) SetPKeyViolations(n uint16) { put16(v[4:], n) }

// QKeyViolations counts packets that the vPort received with a bad Q_Key.
func (v *VPortInfo) QKeyViolations() uint16 { return get16(v[6:]) }

// SetQKeyViolations sets QKeyViolations.
func (v *VPortInfo) SetQKeyViolations(n uint16) { put16(v[6:], n) }

// VPortLID is the vPort's own LID, set by the manager where LIDRequired is set.
func (v *VPortInfo) VPortLID() mad.LID { return mad.LID(get16(v[8:])) }

// SetVPortLID sets VPortLID.
func (v *VPortInfo) SetVPortLID(l mad.LID) { put16(v[8:], uint16(l)) }

// LIDByVPortIndex is the index of the vPort whose LID this one has where LIDRequired is not set.
func (v *VPortInfo) LIDByVPortIndex() uint16 { return get16(v[10:]) }

// SetLIDByVPortIndex sets LIDByVPortIndex.
func (v *VPortInfo) SetLIDByVPortIndex(i uint16) { put16(v[10:], i) }

// PortGUID is the GUID of the vPort, 0 as long as it has none.
func (v *VPortInfo) PortGUID() mad.GUID { return mad.GUID(get64(v[12:])) }

// SetPortGUID sets PortGUID.
func (v *VPortInfo) SetPortGUID(g mad.GUID) { put64(v[12:], uint64(g)) }

// PortProfile has a meaning that is not known.
func (v *VPortInfo) PortProfile() uint64 { return get64(v[20:]) }

// SetPortProfile sets PortProfile.
func (v *VPortInfo) SetPortProfile(p uint64) { put64(v[20:], p) }

// VPortCapMask is VPortInfo.CapabilityMask.
type VPortCapMask uint16

// Bits of VPortCapMask.
const (
	VPortHasCM          VPortCapMask = 1 << 0
	VPortHasSNMP        VPortCapMask = 1 << 1 // SNMP tunneling
	VPortHasDevMgmt     VPortCapMask = 1 << 2 // device management
	VPortHasVendorClass VPortCapMask = 1 << 3
	VPortHasBootMgmt    VPortCapMask = 1 << 4
	VPortIsSM           VPortCapMask = 1 << 5
	VPortIsSMDisabled   VPortCapMask = 1 << 6
)

// Has reports whether all of the given bits are set.
func (m VPortCapMask) Has(bits VPortCapMask) bool { return m&bits == bits }
