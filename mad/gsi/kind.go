package gsi

import "ibsm/mad"

// Kind is what a packet is, by management class and direction. The order is that of
// priority when packets are sent.
type Kind uint8

// Kinds. An RMPP packet is of the kind of the request or response that it is a part of.
const (
	Subnet     Kind = iota // subnet management: of QP0, where one port carries both queue pairs
	SARequest              // to this SA, of its clients
	SAReport               // response to a Report of this SA, or a Report that the port gave up
	SAClient               // response of another SA, a request to it that the port gave up, or a Report of it
	Mirror                 // of another subnet manager of our kind, in either direction
	Perf                   // of performance management: a response, or a request of ours that the port gave up
	Congestion             // of congestion control, likewise
	Unserved               // request of a class that has no server here; it is refused
	Unwanted               // any other: nobody is waiting for it
	NumKinds
)

var kindNames = [NumKinds]string{"subnet management", "SA request", "SA report", "SA client", "mirror",
	"performance management", "congestion control", "unserved class", "unwanted"}

// String is the kind in a few words.
func (k Kind) String() string { return kindNames[k] }

// Classify says what a packet is that has been received, or that the port gave up.
func Classify(d *mad.Datagram) Kind {
	p := &d.Packet
	ended := d.TimedOut || p.IsResponse() // a request of ours
	switch class, m := p.MgmtClass(), p.Method(); {
	case class.IsSubnet():
		return Subnet
	case class == mad.ClassMirror:
		return Mirror
	case class == mad.ClassPerf && ended:
		return Perf
	case class == mad.ClassCongestion && ended:
		return Congestion
	case class == mad.ClassSA && ended && (m == mad.MethodReportResp || m == mad.MethodReport):
		return SAReport
	case class == mad.ClassSA && (ended || m == mad.MethodReport):
		return SAClient
	case class == mad.ClassSA:
		return SARequest
	case !ended && (m == mad.MethodGet || m == mad.MethodSet):
		return Unserved
	}
	return Unwanted
}

// Refuse writes the response to a packet that is Unserved: status "unsupported class or
// version" (IBA 13.4.7). Get and Set are the methods that call for a response in every
// class (IBA 13.4.5).
func Refuse(in, out *mad.Datagram) {
	*out = *in
	out.Packet.SetMethod(mad.MethodGetResp)
	out.Packet.SetStatus(mad.StatusBadVersion)
}

// share is how many packets like p are sent before others that wait to be sent have their
// turn.
func share(p *mad.Packet) int {
	switch class := p.MgmtClass(); {
	case class == mad.ClassSA && p.IsResponse() && !p.IsRMPP():
		return 64
	case class == mad.ClassSA && (p.IsResponse() || p.Method() == mad.MethodReport): // tables, Reports
		return 8
	case class == mad.ClassSA: // as a client
		return 4
	case (class == mad.ClassPerf || class == mad.ClassCongestion) && !p.IsResponse():
		return 1
	}
	return 2
}
