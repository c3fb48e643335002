package txn

import (
	"cmp"
	"time"

	"ibsm/mad"
)

// Request is one question to the fabric. There are three ways to fill it:
//
//   - a directed-route SMP: Route, Method, Attr, Mod, MKey, Data;
//   - an SMP by LID or another MAD with its attribute at byte 64: Class and Addr
//     instead of Route;
//   - any MAD: Packet and Addr. Class to Data are then taken from Packet.
type Request struct {
	Class mad.Class // 0 means mad.ClassDirected
	Route mad.Route // where to; of a directed route only
	Addr  mad.Addr  // where to; of all but a directed route

	Method mad.Method
	Attr   mad.AttrID
	Mod    uint32
	MKey   mad.MKey // of subnet management only
	Data   [mad.DataSize]byte

	// Packet is the whole MAD but for its transaction ID. It is copied.
	Packet *mad.Packet

	// Unknown says that the device at the end of the route is not known: it may be one to
	// which other requests are on their way by another route. All such requests together
	// have the limit of one device.
	Unknown bool
	// Exempt has the request leave at once, whatever the limits.
	Exempt bool
	// Owner gets the Outcome, and Tag is the owner's own. Both come back in the
	// Outcome.
	Owner Owner
	Tag   uint64
}

// Owner is one of those that share a Table. The caller gives the numbers out.
type Owner uint8

// datagram writes the request as it goes on the wire, without transaction ID.
func (r *Request) datagram(d *mad.Datagram) {
	d.Addr, d.TimedOut = r.Addr, false
	switch {
	case r.Packet != nil:
		d.Packet = *r.Packet
	case r.Class == 0 || r.Class == mad.ClassDirected:
		d.Packet.SetDirected(&r.Route, r.Method, r.Attr, r.Mod)
	default:
		d.Packet.SetHeader(r.Class, r.Method, r.Attr, r.Mod)
	}
	class := d.Packet.MgmtClass()
	if class == mad.ClassDirected {
		d.Addr = mad.Addr{LID: mad.PermissiveLID}
	}
	if r.Packet != nil {
		return
	}
	if class.IsSubnet() {
		d.Packet.SetMKey(r.MKey)
	}
	*d.Packet.Data() = r.Data
}

// limited reports whether the limit of requests to one device applies.
func (r *Request) limited() bool {
	return !r.Exempt && r.Packet == nil && (r.Class == 0 || r.Class == mad.ClassDirected)
}

// Result is how a request ended.
type Result uint8

// Results.
const (
	Replied   Result = 1 // Status and Data are valid
	TimedOut  Result = 2 // every attempt stayed unanswered
	Cancelled Result = 3 // by Table.Cancel
	OutOfTime Result = 4 // by Table.EndLate
)

var resultNames = map[Result]string{
	Replied:   "replied",
	TimedOut:  "timed out",
	Cancelled: "cancelled",
	OutOfTime: "out of time",
}

func (r Result) String() string { return cmp.Or(resultNames[r], "no result") }

// Outcome is the end of one request. Every request that was submitted has one.
type Outcome struct {
	Owner  Owner // of the request, as is Tag
	Tag    uint64
	Method mad.Method // of the request
	Attr   mad.AttrID
	Mod    uint32
	Result Result
	// Status is the reply's. Anything but mad.StatusOK is a refusal.
	Status mad.Status
	// Data is bytes 64..127 of the reply: the attribute in subnet management.
	// Who needs more takes it from the datagram that was matched.
	Data [mad.DataSize]byte
	// RTT is the round trip of the attempt that was answered. It is 0 when that
	// was not the last one, whose time alone is remembered.
	RTT      time.Duration
	Attempts int // how many packets were sent
}
