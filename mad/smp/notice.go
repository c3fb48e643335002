package smp

import (
	"ibsm/mad"
)

// Notice is attribute 0x0002, the content of a trap (IBA 13.4.8.2). In subnet
// administration the issuer's GID follows these 64 bytes.
//
//	 0 IsGeneric 1, Type 7      ProducerType or VendorID 24
//	 4 TrapNumber or DeviceID   IssuerLID
//	 8 NoticeToggle 1, NoticeCount 15
//	10 DataDetails              by the trap, see notice_details.go
type Notice [mad.DataSize]byte

// IsGeneric says that the trap is the architecture's. NVIDIA's are not, and have
// VendorID for ProducerType.
func (n *Notice) IsGeneric() bool { return n[0]&0x80 != 0 }

// SetIsGeneric sets IsGeneric.
func (n *Notice) SetIsGeneric(v bool) { putBool(&n[0], 0x80, v) }

// Type is how grave the trap is.
func (n *Notice) Type() NoticeType { return NoticeType(get(n[0], 0x7f)) }

// SetType sets Type.
func (n *Notice) SetType(v NoticeType) { put(&n[0], 0x7f, uint8(v)) }

// ProducerType is what sent a generic trap; of others the same 24 bits are the
// vendor.
func (n *Notice) ProducerType() ProducerType { return ProducerType(get24((*[3]byte)(n[1:]))) }

// SetProducerType sets ProducerType.
func (n *Notice) SetProducerType(v ProducerType) { put24((*[3]byte)(n[1:]), uint32(v)) }

// VendorID is the vendor of a trap that is not generic, 24 bits.
func (n *Notice) VendorID() uint32 { return get24((*[3]byte)(n[1:])) }

// SetVendorID sets VendorID.
func (n *Notice) SetVendorID(v uint32) { put24((*[3]byte)(n[1:]), v) }

// TrapNumber is the trap's number. The architecture has a DeviceID here in traps
// that are not generic, but NVIDIA's have a number too.
func (n *Notice) TrapNumber() TrapNumber { return TrapNumber(get16(n[4:])) }

// SetTrapNumber sets TrapNumber.
func (n *Notice) SetTrapNumber(v TrapNumber) { put16(n[4:], uint16(v)) }

// IssuerLID is the LID of the port that the trap is about.
func (n *Notice) IssuerLID() mad.LID { return mad.LID(get16(n[6:])) }

// SetIssuerLID sets IssuerLID.
func (n *Notice) SetIssuerLID(l mad.LID) { put16(n[6:], uint16(l)) }

// NoticeType is how grave a notice is.
type NoticeType uint8

// Notice types.
const (
	NoticeFatal            NoticeType = 0
	NoticeUrgent           NoticeType = 1
	NoticeSecurity         NoticeType = 2
	NoticeSubnetManagement NoticeType = 3
	NoticeInformational    NoticeType = 4
	NoticeEmpty            NoticeType = 0x7f
)

var noticeTypeNames = map[NoticeType]string{
	NoticeFatal:            "fatal",
	NoticeUrgent:           "urgent",
	NoticeSecurity:         "security",
	NoticeSubnetManagement: "subnet management",
	NoticeInformational:    "informational",
	NoticeEmpty:            "empty",
}

// String prints the type in words.
func (t NoticeType) String() string { return mad.NameOf(noticeTypeNames, t, "notice type %d") }

// ProducerType is what sent a generic notice.
type ProducerType uint32

// Producers.
const (
	ProducerCA           ProducerType = 1
	ProducerSwitch       ProducerType = 2
	ProducerRouter       ProducerType = 3
	ProducerClassManager ProducerType = 4
)

var producerTypeNames = map[ProducerType]string{
	ProducerCA:           "CA",
	ProducerSwitch:       "switch",
	ProducerRouter:       "router",
	ProducerClassManager: "class manager",
}

// String prints the producer in words.
func (p ProducerType) String() string { return mad.NameOf(producerTypeNames, p, "producer %d") }

// TrapNumber says what a notice is about and how its details are laid out.
type TrapNumber uint16

// Traps of subnet management. Those from 1144 on are NVIDIA's and not generic.
const (
	TrapGIDInService     TrapNumber = 64   // AddressDetails
	TrapGIDOutOfService  TrapNumber = 65   // AddressDetails
	TrapGroupCreated     TrapNumber = 66   // AddressDetails
	TrapGroupDeleted     TrapNumber = 67   // AddressDetails
	TrapUnpath           TrapNumber = 68   // AddressDetails
	TrapRepath           TrapNumber = 69   // AddressDetails
	TrapLinkState        TrapNumber = 128  // LinkStateDetails
	TrapLinkIntegrity    TrapNumber = 129  // PortErrorDetails
	TrapBufferOverrun    TrapNumber = 130  // PortErrorDetails
	TrapFlowControl      TrapNumber = 131  // PortErrorDetails
	TrapLocalChange      TrapNumber = 144  // LocalChangeDetails
	TrapSystemImageGUID  TrapNumber = 145  // SystemImageDetails
	TrapBadMKey          TrapNumber = 256  // BadMKeyDetails
	TrapBadPKey          TrapNumber = 257  // BadKeyDetails
	TrapBadQKey          TrapNumber = 258  // BadKeyDetails
	TrapSwitchBadPKey    TrapNumber = 259  // SwitchBadPKeyDetails
	TrapVPortLocalChange TrapNumber = 1144 // VPortLocalChangeDetails
	TrapVPortStateChange TrapNumber = 1146 // VPortStateChangeDetails
	TrapVPortBadPKey     TrapNumber = 1257 // VPortBadKeyDetails
	TrapVPortBadQKey     TrapNumber = 1258 // VPortBadKeyDetails
)
