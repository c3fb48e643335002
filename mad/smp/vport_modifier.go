package smp

import (
	"fmt"

	"ibsm/mad"
)

// VPortLayout is where the attribute modifiers of vPorts' attributes have the index of the vPort and the block. No
// open document says it, so there are several; a setting selects one, and a device shows which one it uses.
type VPortLayout uint8

// Layouts.
const (
	VPortIndexHigh  VPortLayout = 0 // the index in bits 31..16, the block in bits 15..0
	VPortIndexLow   VPortLayout = 1 // the index in bits 15..0, the block in bits 31..16
	VPortIndexMixed VPortLayout = 2 // as VPortIndexHigh where there is a block, as VPortIndexLow where there is none
)

// VPortLayouts are all layouts.
var VPortLayouts = []VPortLayout{VPortIndexHigh, VPortIndexLow, VPortIndexMixed}

var vPortLayoutNames = map[VPortLayout]string{VPortIndexHigh: "high", VPortIndexLow: "low", VPortIndexMixed: "mixed"}

// String is the name of the layout: high, low or mixed.
func (l VPortLayout) String() string { return mad.NameOf(vPortLayoutNames, l, "layout %d") }

// ParseVPortLayout reads the name of a layout.
func ParseVPortLayout(name string) (VPortLayout, error) {
	for _, l := range VPortLayouts {
		if l.String() == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("%q: expected high, low or mixed", name)
}

// Half is one half of an attribute modifier.
type Half uint8

// Halves.
const (
	NoHalf   Half = 0 // the attribute has none such
	LowHalf  Half = 1 // bits 15..0
	HighHalf Half = 2 // bits 31..16
)

// String names the bits.
func (h Half) String() string { return [...]string{"-", "bits 15..0", "bits 31..16"}[h%3] }

// Confidence is how well something about a device is known.
type Confidence uint8

// Confidences.
const (
	Documented Confidence = 0 // in an open document or source
	ByAnalogy  Confidence = 1 // guessed from similar attributes
	Seen       Confidence = 2 // on a device
)

// String is the confidence in words.
func (c Confidence) String() string { return [...]string{"documented", "by analogy", "seen"}[c%3] }

// VPortModifier says which bits of an attribute's modifier hold what in a layout. Other bits are 0. There is no number
// of a physical port in it: the port is the one that receives the SMP, as it is for the attributes of an adapter's
// port.
type VPortModifier struct {
	Attr       mad.AttrID
	Layout     VPortLayout
	Index      Half // of the vPort
	Block      Half
	Confidence Confidence
}

// VPortModifiers is all that is known of these modifiers, a line for each attribute and layout. What a request is
// addressed by (the index, the block, or both, 16 bits each) is known from the arguments of functions in ibis.h of
// ibutils2, which has a BSD licence; which bits they are is not. The analogy of VPortIndexHigh is P_KeyTable of a
// switch, with the port in bits 31..16 and the block in bits 15..0, that of VPortIndexLow PortInfo, with the port in
// the low bits. VPortState, which has no index, is taken to be like LinearForwardingTable in all layouts.
var VPortModifiers = []VPortModifier{
	{AttrVirtualizationInfo, VPortIndexHigh, NoHalf, NoHalf, Documented},
	{AttrVPortInfo, VPortIndexHigh, HighHalf, NoHalf, ByAnalogy},
	{AttrVNodeInfo, VPortIndexHigh, HighHalf, NoHalf, ByAnalogy},
	{AttrVPortState, VPortIndexHigh, NoHalf, LowHalf, ByAnalogy},
	{AttrVNodeDescription, VPortIndexHigh, HighHalf, NoHalf, ByAnalogy},
	{AttrVPortGUIDInfo, VPortIndexHigh, HighHalf, LowHalf, ByAnalogy},
	{AttrVPortPKeyTable, VPortIndexHigh, HighHalf, LowHalf, ByAnalogy},

	{AttrVirtualizationInfo, VPortIndexLow, NoHalf, NoHalf, Documented},
	{AttrVPortInfo, VPortIndexLow, LowHalf, NoHalf, ByAnalogy},
	{AttrVNodeInfo, VPortIndexLow, LowHalf, NoHalf, ByAnalogy},
	{AttrVPortState, VPortIndexLow, NoHalf, LowHalf, ByAnalogy},
	{AttrVNodeDescription, VPortIndexLow, LowHalf, NoHalf, ByAnalogy},
	{AttrVPortGUIDInfo, VPortIndexLow, LowHalf, HighHalf, ByAnalogy},
	{AttrVPortPKeyTable, VPortIndexLow, LowHalf, HighHalf, ByAnalogy},

	{AttrVirtualizationInfo, VPortIndexMixed, NoHalf, NoHalf, Documented},
	{AttrVPortInfo, VPortIndexMixed, LowHalf, NoHalf, ByAnalogy},
	{AttrVNodeInfo, VPortIndexMixed, LowHalf, NoHalf, ByAnalogy},
	{AttrVPortState, VPortIndexMixed, NoHalf, LowHalf, ByAnalogy},
	{AttrVNodeDescription, VPortIndexMixed, LowHalf, NoHalf, ByAnalogy},
	{AttrVPortGUIDInfo, VPortIndexMixed, HighHalf, LowHalf, ByAnalogy},
	{AttrVPortPKeyTable, VPortIndexMixed, HighHalf, LowHalf, ByAnalogy},
}

// modifier is the line of an attribute in a layout.
func (l VPortLayout) modifier(attr mad.AttrID) (VPortModifier, bool) {
	for _, m := range VPortModifiers {
		if m.Layout == l && m.Attr == attr {
			return m, true
		}
	}
	return VPortModifier{}, false
}

// Mod is the attribute modifier by which a layout requests a block of an attribute of the vPort with an index. An
// attribute that has no index, or no block, takes no notice of it. It is 0 for an attribute that is none of vPorts.
func (l VPortLayout) Mod(attr mad.AttrID, index, block uint16) uint32 {
	m, _ := l.modifier(attr)
	return m.Index.put(index) | m.Block.put(block)
}

// Addressed is what an attribute modifier requests by a layout, the reverse of Mod. ok is false if the attribute is
// none of vPorts, or if a bit is set that has no meaning in the modifier.
func (l VPortLayout) Addressed(attr mad.AttrID, mod uint32) (index, block uint16, ok bool) {
	m, ok := l.modifier(attr)
	index, block = m.Index.get(mod), m.Block.get(mod)
	return index, block, ok && m.Index.put(index)|m.Block.put(block) == mod
}

func (h Half) put(v uint16) uint32 {
	switch h {
	case LowHalf:
		return uint32(v)
	case HighHalf:
		return uint32(v) << 16
	}
	return 0
}

func (h Half) get(mod uint32) uint16 {
	switch h {
	case LowHalf:
		return uint16(mod)
	case HighHalf:
		return uint16(mod >> 16)
	}
	return 0
}
