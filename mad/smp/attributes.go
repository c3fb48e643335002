package smp

import "ibsm/mad"

// Attribute IDs of the subnet-management classes (IBA 14.2.5).
const (
	AttrNotice                   mad.AttrID = 0x0002
	AttrNodeDescription          mad.AttrID = 0x0010
	AttrNodeInfo                 mad.AttrID = 0x0011
	AttrSwitchInfo               mad.AttrID = 0x0012
	AttrGUIDInfo                 mad.AttrID = 0x0014
	AttrPortInfo                 mad.AttrID = 0x0015
	AttrPKeyTable                mad.AttrID = 0x0016
	AttrSLtoVLMappingTable       mad.AttrID = 0x0017
	AttrVLArbitrationTable       mad.AttrID = 0x0018
	AttrLinearForwardingTable    mad.AttrID = 0x0019
	AttrRandomForwardingTable    mad.AttrID = 0x001a
	AttrMulticastForwardingTable mad.AttrID = 0x001b
	AttrLinkSpeedWidthPairsTable mad.AttrID = 0x001c
	AttrVendorSpecificMadsTable  mad.AttrID = 0x001d
	AttrHierarchyInfo            mad.AttrID = 0x001e
	AttrSMInfo                   mad.AttrID = 0x0020
	AttrVendorDiag               mad.AttrID = 0x0030
	AttrLedInfo                  mad.AttrID = 0x0031
	AttrCableInfo                mad.AttrID = 0x0032
	AttrPortInfoExtended         mad.AttrID = 0x0033

	// NVIDIA's. A device of another vendor must never see one.
	AttrGeneralInfo      mad.AttrID = 0xff17
	AttrARInfo           mad.AttrID = 0xff20
	AttrExtendedPortInfo mad.AttrID = 0xff90
)

// AttrName is the name of an attribute of subnet management for messages; one
// that is not known is its number.
func AttrName(a mad.AttrID) string {
	switch a {
	case AttrNotice:
		return "Notice"
	case AttrNodeDescription:
		return "NodeDescription"
	case AttrNodeInfo:
		return "NodeInfo"
	case AttrSwitchInfo:
		return "SwitchInfo"
	case AttrGUIDInfo:
		return "GUIDInfo"
	case AttrPortInfo:
		return "PortInfo"
	case AttrPKeyTable:
		return "P_KeyTable"
	case AttrSLtoVLMappingTable:
		return "SLtoVLMappingTable"
	case AttrVLArbitrationTable:
		return "VLArbitrationTable"
	case AttrLinearForwardingTable:
		return "LinearForwardingTable"
	case AttrRandomForwardingTable:
		return "RandomForwardingTable"
	case AttrMulticastForwardingTable:
		return "MulticastForwardingTable"
	case AttrLinkSpeedWidthPairsTable:
		return "LinkSpeedWidthPairsTable"
	case AttrVendorSpecificMadsTable:
		return "VendorSpecificMadsTable"
	case AttrHierarchyInfo:
		return "HierarchyInfo"
	case AttrSMInfo:
		return "SMInfo"
	case AttrVendorDiag:
		return "VendorDiag"
	case AttrLedInfo:
		return "LedInfo"
	case AttrCableInfo:
		return "CableInfo"
	case AttrPortInfoExtended:
		return "PortInfoExtended"
	case AttrGeneralInfo:
		return "GeneralInfo"
	case AttrARInfo:
		return "ARInfo"
	case AttrExtendedPortInfo:
		return "ExtendedPortInfo"
	}
	return a.String()
}
