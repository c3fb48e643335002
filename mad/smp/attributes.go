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
	AttrSwitchPortStateTable     mad.AttrID = 0x0034

	// NVIDIA's. A device of another vendor must never see one.
	AttrPrivateLFTInfo   mad.AttrID = 0xff10
	AttrGeneralInfo      mad.AttrID = 0xff17
	AttrARInfo           mad.AttrID = 0xff20
	AttrExtendedPortInfo mad.AttrID = 0xff90

	// NVIDIA's, of the vPorts of an adapter's port. The modifiers of most are uncertain, see VPortModifiers.
	AttrVirtualizationInfo mad.AttrID = 0xffb0
	AttrVPortInfo          mad.AttrID = 0xffb1
	AttrVNodeInfo          mad.AttrID = 0xffb2
	AttrVPortState         mad.AttrID = 0xffb3
	AttrVNodeDescription   mad.AttrID = 0xffb4 // a NodeDescription, of a vPort
	AttrVPortGUIDInfo      mad.AttrID = 0xffb5 // a GUIDInfo, of a vPort; VPortInfo.GUIDCap is its length
	AttrVPortPKeyTable     mad.AttrID = 0xffb6 // a PKeyTable, of a vPort; VNodeInfo.PartitionCap is its length
)

var attrNames = map[mad.AttrID]string{
	AttrNotice:                   "Notice",
	AttrNodeDescription:          "NodeDescription",
	AttrNodeInfo:                 "NodeInfo",
	AttrSwitchInfo:               "SwitchInfo",
	AttrGUIDInfo:                 "GUIDInfo",
	AttrPortInfo:                 "PortInfo",
	AttrPKeyTable:                "P_KeyTable",
	AttrSLtoVLMappingTable:       "SLtoVLMappingTable",
	AttrVLArbitrationTable:       "VLArbitrationTable",
	AttrLinearForwardingTable:    "LinearForwardingTable",
	AttrRandomForwardingTable:    "RandomForwardingTable",
	AttrMulticastForwardingTable: "MulticastForwardingTable",
	AttrLinkSpeedWidthPairsTable: "LinkSpeedWidthPairsTable",
	AttrVendorSpecificMadsTable:  "VendorSpecificMadsTable",
	AttrHierarchyInfo:            "HierarchyInfo",
	AttrSMInfo:                   "SMInfo",
	AttrVendorDiag:               "VendorDiag",
	AttrLedInfo:                  "LedInfo",
	AttrCableInfo:                "CableInfo",
	AttrPortInfoExtended:         "PortInfoExtended",
	AttrSwitchPortStateTable:     "SwitchPortStateTable",
	AttrPrivateLFTInfo:           "PrivateLFTInfo",
	AttrGeneralInfo:              "GeneralInfo",
	AttrARInfo:                   "ARInfo",
	AttrExtendedPortInfo:         "ExtendedPortInfo",
	AttrVirtualizationInfo:       "VirtualizationInfo",
	AttrVPortInfo:                "VPortInfo",
	AttrVNodeInfo:                "VNodeInfo",
	AttrVPortState:               "VPortState",
	AttrVNodeDescription:         "VNodeDescription",
	AttrVPortGUIDInfo:            "VPortGUIDInfo",
	AttrVPortPKeyTable:           "VPortP_KeyTable",
}

// AttrName is the name of an attribute of subnet management for messages; one
// that is not known is its number.
func AttrName(a mad.AttrID) string { return mad.NameOf(attrNames, a, "0x%04x") }

// AttrNamed is the attribute of a name that AttrName returns; ok is false if none has it.
func AttrNamed(name string) (a mad.AttrID, ok bool) {
	for a, n := range attrNames {
		if n == name {
			return a, true
		}
	}
	return 0, false
}
