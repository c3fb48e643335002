package cc

import (
	"encoding/binary"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// Attribute IDs of congestion control (IBA A10.4.2). AttributeModifier is 0 but for the two
// attributes that have blocks.
const (
	AttrClassPortInfo               mad.AttrID = 0x0001
	AttrNotice                      mad.AttrID = 0x0002
	AttrCongestionInfo              mad.AttrID = 0x0011
	AttrCongestionKeyInfo           mad.AttrID = 0x0012
	AttrCongestionLog               mad.AttrID = 0x0013
	AttrSwitchCongestionSetting     mad.AttrID = 0x0014
	AttrSwitchPortCongestionSetting mad.AttrID = 0x0015 // modifier: block of 32 ports
	AttrCACongestionSetting         mad.AttrID = 0x0016
	AttrCongestionControlTable      mad.AttrID = 0x0017 // modifier: block of 64 entries
	AttrTimeStamp                   mad.AttrID = 0x0018
)

var attrNames = map[mad.AttrID]string{
	AttrClassPortInfo:               "ClassPortInfo",
	AttrNotice:                      "Notice",
	AttrCongestionInfo:              "CongestionInfo",
	AttrCongestionKeyInfo:           "CongestionKeyInfo",
	AttrCongestionLog:               "CongestionLog",
	AttrSwitchCongestionSetting:     "SwitchCongestionSetting",
	AttrSwitchPortCongestionSetting: "SwitchPortCongestionSetting",
	AttrCACongestionSetting:         "CACongestionSetting",
	AttrCongestionControlTable:      "CongestionControlTable",
	AttrTimeStamp:                   "TimeStamp",
}

// AttrName is the name of an attribute of congestion control for messages; one that is not
// known is its number.
func AttrName(a mad.AttrID) string { return mad.NameOf(attrNames, a, "0x%04x") }

// Key is a CC_Key: an agent that has one obeys only requests that show it. 0 is none.
type Key uint64

// keyAt is where the CC_Key stands in a packet.
const keyAt = 24

// KeyOf is the CC_Key of a packet of congestion control.
func KeyOf(p *mad.Packet) Key { return Key(binary.BigEndian.Uint64(p[keyAt:])) }

// SetKey replaces the CC_Key of a packet of congestion control.
func SetKey(p *mad.Packet, k Key) { binary.BigEndian.PutUint64(p[keyAt:], uint64(k)) }

// SetRequest makes a packet the request to read or write an attribute, which is all zero.
func SetRequest(p *mad.Packet, m mad.Method, attr mad.AttrID, mod uint32, key Key) {
	p.SetHeader(mad.ClassCongestion, m, attr, mod)
	SetKey(p, key)
}

// ClassPortInfo is attribute 0x0001. All classes have it in the same form.
type ClassPortInfo = sarec.ClassPortInfo

// EnhancedPort0CC is the bit of ClassPortInfo.CapabilityMask of a switch whose enhanced port 0
// takes CACongestionSetting and CongestionControlTable, as an adapter does.
const EnhancedPort0CC uint16 = 1 << 8

// CongestionInfo is attribute 0x0011: what the agent of a node can do.
type CongestionInfo [4]byte

// SupportsCreditStarvation is the bit of CongestionInfo of a switch that detects credit
// starvation.
const SupportsCreditStarvation uint16 = 1 << 0

// SetCongestionInfo replaces CongestionInfo.
func (c *CongestionInfo) SetCongestionInfo(v uint16) { put16(c[0:], v) }

// SetControlTableCap replaces ControlTableCap.
func (c *CongestionInfo) SetControlTableCap(v uint8) { c[2] = v }

// CongestionKeyInfo is attribute 0x0012: the CC_Key of an agent.
type CongestionKeyInfo [14]byte

// CCKey is the CC_Key; 0 for none.
func (c *CongestionKeyInfo) CCKey() Key { return Key(binary.BigEndian.Uint64(c[0:])) }

// SetCCKey replaces CC_Key.
func (c *CongestionKeyInfo) SetCCKey(k Key) { binary.BigEndian.PutUint64(c[0:], uint64(k)) }

// CCKeyProtectBit says that CC_Key reads as 0 in replies to requests that do not show it.
func (c *CongestionKeyInfo) CCKeyProtectBit() bool { return c[8]&0x80 != 0 }

// SetCCKeyProtectBit replaces CC_KeyProtectBit.
func (c *CongestionKeyInfo) SetCCKeyProtectBit(v bool) {
	c[8] &^= 0x80
	if v {
		c[8] |= 0x80
	}
}

// CCKeyLeasePeriod is after how many seconds CC_KeyProtectBit becomes 0 when nobody shows the
// CC_Key after a violation; 0 for never.
func (c *CongestionKeyInfo) CCKeyLeasePeriod() uint16 { return get16(c[10:]) }

// SetCCKeyLeasePeriod replaces CC_KeyLeasePeriod.
func (c *CongestionKeyInfo) SetCCKeyLeasePeriod(v uint16) { put16(c[10:], v) }

// CCKeyViolations counts requests with a wrong CC_Key. It stays at 0xffff.
func (c *CongestionKeyInfo) CCKeyViolations() uint16 { return get16(c[12:]) }

// SetCCKeyViolations replaces CC_KeyViolations.
func (c *CongestionKeyInfo) SetCCKeyViolations(v uint16) { put16(c[12:], v) }

func get16(b []byte) uint16    { return binary.BigEndian.Uint16(b) }
func put16(b []byte, v uint16) { binary.BigEndian.PutUint16(b, v) }

// high4 and putHigh4 are the field in the four upper bits of a byte.
func high4(b byte) uint8        { return b >> 4 }
func putHigh4(b *byte, v uint8) { *b = *b&0x0f | v<<4 }
func get32(b []byte) uint32     { return binary.BigEndian.Uint32(b) }
func put32(b []byte, v uint32)  { binary.BigEndian.PutUint32(b, v) }
