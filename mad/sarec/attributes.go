package sarec

import "ibsm/mad"

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

// AttrName is the architecture's name of an attribute, its number for one that
// is not known.
func AttrName(a mad.AttrID) string {
	switch a {
	case AttrClassPortInfo:
		return "ClassPortInfo"
	case AttrNotice:
		return "Notice"
	case AttrInformInfo:
		return "InformInfo"
	case AttrNodeRecord:
		return "NodeRecord"
	case AttrPortInfoRecord:
		return "PortInfoRecord"
	case AttrSLtoVLMappingTableRecord:
		return "SLtoVLMappingTableRecord"
	case AttrSwitchInfoRecord:
		return "SwitchInfoRecord"
	case AttrLinearForwardingTableRecord:
		return "LinearForwardingTableRecord"
	case AttrRandomForwardingTableRecord:
		return "RandomForwardingTableRecord"
	case AttrMulticastForwardingTableRecord:
		return "MulticastForwardingTableRecord"
	case AttrSMInfoRecord:
		return "SMInfoRecord"
	case AttrLinkRecord:
		return "LinkRecord"
	case AttrGUIDInfoRecord:
		return "GUIDInfoRecord"
	case AttrServiceRecord:
		return "ServiceRecord"
	case AttrPKeyTableRecord:
		return "P_KeyTableRecord"
	case AttrPathRecord:
		return "PathRecord"
	case AttrVLArbitrationTableRecord:
		return "VLArbitrationTableRecord"
	case AttrMCMemberRecord:
		return "MCMemberRecord"
	case AttrTraceRecord:
		return "TraceRecord"
	case AttrMultiPathRecord:
		return "MultiPathRecord"
	case AttrServiceAssociationRecord:
		return "ServiceAssociationRecord"
	case AttrInformInfoRecord:
		return "InformInfoRecord"
	}
	return a.String()
}

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

func (s Selector) String() string {
	switch s {
	case GreaterThan:
		return "greater than"
	case LessThan:
		return "less than"
	case Exactly:
		return "exactly"
	}
	return "best"
}
