package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// ClassPortInfo is attribute 0x0001: what the server of a class can do and where
// it is (IBA 13.4.8.1).
//
//	 0 BaseVersion  ClassVersion  CapabilityMask
//	 4 CapabilityMask2:27 RespTimeValue:5
//	 8 RedirectGID
//	24 RedirectTC  RedirectSL:4 RedirectFL:20
//	28 RedirectLID  RedirectP_Key
//	32 reserved  RedirectQP
//	36 RedirectQ_Key
//	40 TrapGID
//	56 TrapTC  TrapSL:4 TrapFL:20
//	60 TrapLID  TrapP_Key
//	64 TrapHL  TrapQP
//	68 TrapQ_Key
type ClassPortInfo [72]byte

// Bits of the CapabilityMask of subnet administration.
const (
	IsUDMulticastSupported          uint16 = 1 << 9
	IsMultiPathSupported            uint16 = 1 << 10
	IsPortInfoCapMaskMatchSupported uint16 = 1 << 13
)

// Bits of the CapabilityMask2 of subnet administration.
const (
	IsMulticastTopSupported           uint32 = 1 << 3
	IsAdditionalGUIDSupported         uint32 = 1 << 5
	IsFullPortInfoRecordSupported     uint32 = 1 << 6
	IsExtendedSpeedsSupported         uint32 = 1 << 7
	IsMulticastServiceRecordSupported uint32 = 1 << 8
	IsPortInfoCapMask2MatchSupported  uint32 = 1 << 10
	IsSendOnlyFullMemberSupported     uint32 = 1 << 12
	IsLinkWidth2xSupported            uint32 = 1 << 13
	IsLinkSpeedHDRSupported           uint32 = 1 << 15
	IsLinkSpeedNDRSupported           uint32 = 1 << 17
)

// SetBaseVersion replaces BaseVersion.
func (c *ClassPortInfo) SetBaseVersion(v uint8) { c[0] = v }

// SetClassVersion replaces ClassVersion.
func (c *ClassPortInfo) SetClassVersion(v uint8) { c[1] = v }

// CapabilityMask is the sum of the Is...Supported bits of 16 bits.
func (c *ClassPortInfo) CapabilityMask() uint16 { return binary.BigEndian.Uint16(c[2:]) }

// SetCapabilityMask replaces CapabilityMask.
func (c *ClassPortInfo) SetCapabilityMask(m uint16) { binary.BigEndian.PutUint16(c[2:], m) }

// CapabilityMask2 is the sum of the Is...Supported bits of 32 bits, of which 27
// exist.
func (c *ClassPortInfo) CapabilityMask2() uint32 { return binary.BigEndian.Uint32(c[4:]) >> 5 }

// SetCapabilityMask2 replaces CapabilityMask2; bits above the lower 27 are dropped.
func (c *ClassPortInfo) SetCapabilityMask2(m uint32) {
	binary.BigEndian.PutUint32(c[4:], m<<5|uint32(c[7]&0x1f))
}

// RespTimeValue is the longest time to an answer, 4.096 us x 2^n.
func (c *ClassPortInfo) RespTimeValue() uint8 { return c[7] & 0x1f }

// SetRespTimeValue replaces RespTimeValue; bits above the lower five are dropped.
func (c *ClassPortInfo) SetRespTimeValue(v uint8) { c[7] = c[7]&0xe0 | v&0x1f }

// RedirectSL goes with RedirectLID.
func (c *ClassPortInfo) RedirectSL() uint8 { return c[25] >> 4 }

// SetRedirectSL replaces RedirectSL; bits above the lower four are dropped.
func (c *ClassPortInfo) SetRedirectSL(sl uint8) { c[25] = c[25]&0xf | sl<<4 }

// RedirectLID is where requests should go instead; 0 for no redirection.
func (c *ClassPortInfo) RedirectLID() mad.LID { return mad.LID(binary.BigEndian.Uint16(c[28:])) }

// SetRedirectLID replaces RedirectLID.
func (c *ClassPortInfo) SetRedirectLID(l mad.LID) { binary.BigEndian.PutUint16(c[28:], uint16(l)) }

// RedirectQP is the queue pair that requests go to.
func (c *ClassPortInfo) RedirectQP() uint32 { return binary.BigEndian.Uint32(c[32:]) & 0xffffff }

// SetRedirectQP replaces RedirectQP; bits above the lower 24 are dropped.
func (c *ClassPortInfo) SetRedirectQP(qp uint32) { putQP(c[32:], qp) }

// SetRedirectQKey replaces RedirectQKey.
func (c *ClassPortInfo) SetRedirectQKey(k uint32) { binary.BigEndian.PutUint32(c[36:], k) }

// SetTrapQKey replaces TrapQKey.
func (c *ClassPortInfo) SetTrapQKey(k uint32) { binary.BigEndian.PutUint32(c[68:], k) }

// putQP writes the lower 24 bits and keeps the byte before them.
func putQP(b []byte, qp uint32) {
	binary.BigEndian.PutUint32(b, uint32(b[0])<<24|qp&0xffffff)
}
