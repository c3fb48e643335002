package sarec

import (
	"cmp"
	"ibsm/mad"
)

// Attributes of subnet administration (IBA 15.2.5).
const (
	AttrClassPortInfo                  mad.AttrID = 0x0001
	AttrNotice                         mad.AttrID = 0x0002
	AttrInformInfo                     mad.AttrID = 0x0003
	AttrNodeRecord                     mad.AttrID = 0x0011
	AttrPortInfoRecord                 mad.AttrID = 0x0012
	AttrSLtoVLMappingTableRecord       mad.AttrID = 0x0013
	AttrSwitchInfoRecord               mad.AttrID = 0x0014
	AttrLinearForwardingTableRecord    mad.AttrID = 0x0015
	AttrRandomForwardingTableRecord    mad.AttrID = 0x0016
	AttrMulticastForwardingTableRecord mad.AttrID = 0x0017
	AttrSMInfoRecord                   mad.AttrID = 0x0018
	AttrLinkRecord                     mad.AttrID = 0x0020
	AttrGUIDInfoRecord                 mad.AttrID = 0x0030
	AttrServiceRecord                  mad.AttrID = 0x0031
	AttrPKeyTableRecord                mad.AttrID = 0x0033
	AttrPathRecord                     mad.AttrID = 0x0035
	AttrVLArbitrationTableRecord       mad.AttrID = 0x0036
	AttrMCMemberRecord                 mad.AttrID = 0x0038
	AttrTraceRecord                    mad.AttrID = 0x0039
	AttrMultiPathRecord                mad.AttrID = 0x003a
	AttrServiceAssociationRecord       mad.AttrID = 0x003b
	AttrInformInfoRecord               mad.AttrID = 0x00f3
)

var attrNames = map[mad.AttrID]string{
	AttrClassPortInfo:                  "ClassPortInfo",
	AttrNotice:                         "Notice",
	AttrInformInfo:                     "InformInfo",
	AttrNodeRecord:                     "NodeRecord",
	AttrPortInfoRecord:                 "PortInfoRecord",
	AttrSLtoVLMappingTableRecord:       "SLtoVLMappingTableRecord",
	AttrSwitchInfoRecord:               "SwitchInfoRecord",
	AttrLinearForwardingTableRecord:    "LinearForwardingTableRecord",
	AttrRandomForwardingTableRecord:    "RandomForwardingTableRecord",
	AttrMulticastForwardingTableRecord: "MulticastForwardingTableRecord",
	AttrSMInfoRecord:                   "SMInfoRecord",
	AttrLinkRecord:                     "LinkRecord",
	AttrGUIDInfoRecord:                 "GUIDInfoRecord",
	AttrServiceRecord:                  "ServiceRecord",
	AttrPKeyTableRecord:                "P_KeyTableRecord",
	AttrPathRecord:                     "PathRecord",
	AttrVLArbitrationTableRecord:       "VLArbitrationTableRecord",
	AttrMCMemberRecord:                 "MCMemberRecord",
	AttrTraceRecord:                    "TraceRecord",
	AttrMultiPathRecord:                "MultiPathRecord",
	AttrServiceAssociationRecord:       "ServiceAssociationRecord",
	AttrInformInfoRecord:               "InformInfoRecord",
}

// AttrName is the architecture's name of an attribute, its number for one that
// is not known.
func AttrName(a mad.AttrID) string { return mad.NameOf(attrNames, a, "0x%04x") }

// Selector says how a value of a request bounds the path or group (IBA
// 15.2.5.16). In an answer it is always Exactly.
type Selector uint8

// Selectors.
const (
	GreaterThan Selector = 0
	LessThan    Selector = 1
	Exactly     Selector = 2
	Best        Selector = 3 // largest MTU or rate, smallest lifetime; the value is ignored
)

var selectorNames = map[Selector]string{
	GreaterThan: "greater than",
	LessThan:    "less than",
	Exactly:     "exactly",
}

func (s Selector) String() string { return cmp.Or(selectorNames[s], "best") }
