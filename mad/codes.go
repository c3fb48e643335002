package mad

import "fmt"

// Class is a management class (IBA 13.4.4).
type Class uint8

// Management classes.
const (
	ClassLIDRouted  Class = 0x01 // subnet management by LID
	ClassSA         Class = 0x03 // subnet administration
	ClassPerf       Class = 0x04 // performance management
	ClassDirected   Class = 0x81 // subnet management by directed route
	ClassVendor     Class = 0x0a // NVIDIA vendor specific
	ClassCongestion Class = 0x21 // congestion control
	ClassMirror     Class = 0x4d // messages between ibsm managers; vendor specific, with an OUI
)

// MirrorOUI stands in packets of ClassMirror; it is a locally administered one.
const MirrorOUI = 0x62736d

// Version is the class version that goes with the class.
func (c Class) Version() uint8 {
	if c == ClassSA || c == ClassCongestion {
		return 2
	}
	return 1
}

// IsSubnet reports whether the class travels on QP0.
func (c Class) IsSubnet() bool { return c == ClassLIDRouted || c == ClassDirected }

var classNames = map[Class]string{
	ClassLIDRouted:  "SubnLIDRouted",
	ClassDirected:   "SubnDirected",
	ClassSA:         "SubnAdm",
	ClassPerf:       "Perf",
	ClassVendor:     "Vendor",
	ClassCongestion: "CongestionControl",
	ClassMirror:     "Mirror",
}

func (c Class) String() string { return NameOf(classNames, c, "0x%02x") }

// Method is a verb (IBA 13.4.5).
type Method uint8

// Methods. A Set is answered by GetResp; there is no SetResp.
const (
	MethodGet           Method = 0x01
	MethodSet           Method = 0x02
	MethodSend          Method = 0x03
	MethodTrap          Method = 0x05
	MethodReport        Method = 0x06
	MethodTrapRepress   Method = 0x07
	MethodGetTable      Method = 0x12
	MethodGetTraceTable Method = 0x13
	MethodGetMulti      Method = 0x14
	MethodDelete        Method = 0x15
	MethodGetResp       Method = 0x81
	MethodReportResp    Method = 0x86
	MethodGetTableResp  Method = 0x92
	MethodGetMultiResp  Method = 0x94
	MethodDeleteResp    Method = 0x95
)

// IsResponse reports whether the method answers another.
func (m Method) IsResponse() bool { return m&0x80 != 0 || m == MethodTrapRepress }

var methodNames = map[Method]string{
	MethodGet:           "Get",
	MethodSet:           "Set",
	MethodSend:          "Send",
	MethodTrap:          "Trap",
	MethodReport:        "Report",
	MethodTrapRepress:   "TrapRepress",
	MethodGetTable:      "GetTable",
	MethodGetTraceTable: "GetTraceTable",
	MethodGetMulti:      "GetMulti",
	MethodDelete:        "Delete",
	MethodGetResp:       "GetResp",
	MethodReportResp:    "ReportResp",
	MethodGetTableResp:  "GetTableResp",
	MethodGetMultiResp:  "GetMultiResp",
	MethodDeleteResp:    "DeleteResp",
}

func (m Method) String() string { return NameOf(methodNames, m, "0x%02x") }

// Status is the 16-bit MAD status (IBA 13.4.7). The upper byte is the class's.
type Status uint16

const statusD Status = 0x8000 // the direction bit of a directed-route SMP

// Common statuses, then those of subnet administration (IBA 15.2.7).
const (
	StatusOK              Status = 0x0000
	StatusBusy            Status = 0x0001
	StatusRedirect        Status = 0x0002
	StatusBadVersion      Status = 0x0004
	StatusBadMethod       Status = 0x0008
	StatusBadMethodAttr   Status = 0x000c
	StatusBadField        Status = 0x001c
	StatusNoResources     Status = 0x0100
	StatusReqInvalid      Status = 0x0200
	StatusNoRecords       Status = 0x0300
	StatusTooManyRecords  Status = 0x0400
	StatusReqInvalidGID   Status = 0x0500
	StatusReqInsufficient Status = 0x0600
	StatusReqDenied       Status = 0x0700
)

var statusNames = map[Status]string{
	StatusOK:              "ok",
	StatusBusy:            "busy",
	StatusRedirect:        "redirect",
	StatusBadVersion:      "bad version",
	StatusBadMethod:       "method not supported",
	StatusBadMethodAttr:   "method and attribute not supported together",
	StatusBadField:        "invalid field",
	StatusNoResources:     "no resources",
	StatusReqInvalid:      "request invalid",
	StatusNoRecords:       "no records",
	StatusTooManyRecords:  "too many records",
	StatusReqInvalidGID:   "invalid GID",
	StatusReqInsufficient: "insufficient components",
	StatusReqDenied:       "request denied",
}

func (s Status) String() string { return NameOf(statusNames, s, "0x%04x") }

// AttrID names an attribute within its class. The constants are in the package
// of the class.
type AttrID uint16

// String prints 0x and four digits; mad/smp and mad/sarec know the names.
func (a AttrID) String() string { return fmt.Sprintf("0x%04x", uint16(a)) }

// NameOf is the name of a code, or its number in a format for integers where it has none.
func NameOf[T ~uint8 | ~uint16 | ~uint32](names map[T]string, code T, unnamed string) string {
	if name, ok := names[code]; ok {
		return name
	}
	return fmt.Sprintf(unnamed, uint32(code))
}
