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

func (c Class) String() string {
	switch c {
	case ClassLIDRouted:
		return "SubnLIDRouted"
	case ClassDirected:
		return "SubnDirected"
	case ClassSA:
		return "SubnAdm"
	case ClassPerf:
		return "Perf"
	case ClassVendor:
		return "Vendor"
	case ClassCongestion:
		return "CongestionControl"
	case ClassMirror:
		return "Mirror"
	}
	return fmt.Sprintf("0x%02x", uint8(c))
}

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

func (m Method) String() string {
	switch m {
	case MethodGet:
		return "Get"
	case MethodSet:
		return "Set"
	case MethodSend:
		return "Send"
	case MethodTrap:
		return "Trap"
	case MethodReport:
		return "Report"
	case MethodTrapRepress:
		return "TrapRepress"
	case MethodGetTable:
		return "GetTable"
	case MethodGetTraceTable:
		return "GetTraceTable"
	case MethodGetMulti:
		return "GetMulti"
	case MethodDelete:
		return "Delete"
	case MethodGetResp:
		return "GetResp"
	case MethodReportResp:
		return "ReportResp"
	case MethodGetTableResp:
		return "GetTableResp"
	case MethodGetMultiResp:
		return "GetMultiResp"
	case MethodDeleteResp:
		return "DeleteResp"
	}
	return fmt.Sprintf("0x%02x", uint8(m))
}

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

func (s Status) String() string {
	switch s {
	case StatusOK:
		return "ok"
	case StatusBusy:
		return "busy"
	case StatusRedirect:
		return "redirect"
	case StatusBadVersion:
		return "bad version"
	case StatusBadMethod:
		return "method not supported"
	case StatusBadMethodAttr:
		return "method and attribute not supported together"
	case StatusBadField:
		return "invalid field"
	case StatusNoResources:
		return "no resources"
	case StatusReqInvalid:
		return "request invalid"
	case StatusNoRecords:
		return "no records"
	case StatusTooManyRecords:
		return "too many records"
	case StatusReqInvalidGID:
		return "invalid GID"
	case StatusReqInsufficient:
		return "insufficient components"
	case StatusReqDenied:
		return "request denied"
	}
	return fmt.Sprintf("0x%04x", uint16(s))
}

// AttrID names an attribute within its class. The constants are in the package
// of the class.
type AttrID uint16

// String prints 0x and four digits; mad/smp and mad/sarec know the names.
func (a AttrID) String() string { return fmt.Sprintf("0x%04x", uint16(a)) }
