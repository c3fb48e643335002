package fabric

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// maxInbox is the number of datagrams that wait at a station; further ones are
// lost, as on a host that does not read.
const maxInbox = 1 << 15

// Station is a program at a port: what arrives at queue pairs 0 and 1 there and is
// not the agent's to answer is put into its inbox.
type Station struct {
	f          *Fabric
	port       int32
	vport      *vport             // the function that it sits at, nil for the port itself
	onReceive  func(mad.Datagram) // nil: what arrives goes into the inbox
	inbox      []mad.Datagram     // inbox[head:] waits
	head       int
	loss       float64 // SetLoss
	isSM       bool
	reregister bool
}

// Attach places a station at a port of an end node or at port 0 of a switch. A
// port has room for one.
func (f *Fabric) Attach(at net.End) (*Station, error) {
	i, ok := f.index(at)
	if !ok || i != f.mgmt(i) {
		return nil, fmt.Errorf("attach to node %d port %d: no such end port", at.Node, at.Port)
	}
	p := &f.ports[i]
	if p.station != nil {
		return nil, fmt.Errorf("attach to node %d port %d: port is taken", at.Node, at.Port)
	}
	p.station = &Station{f: f, port: i}
	return p.station, nil
}

// AttachVPort places a station at a vPort. A function has room for one. It has no queue pair 0, and without a LID of
// its own sends only packets with a GRH.
func (f *Fabric) AttachVPort(at VPort) (*Station, error) {
	if at.Index == 0 {
		return f.Attach(at.At)
	}
	v, p := f.function(at)
	if p.station != nil {
		return nil, fmt.Errorf("attach to %v: it is taken", at)
	}
	p.station = &Station{f: f, port: v.at, vport: p}
	return p.station, nil
}

// holder is the port or function that the station sits at.
func (s *Station) holder() *port {
	if s.vport != nil {
		return &s.vport.port
	}
	return &s.f.ports[s.port]
}

// Detach takes the station away, as when its program dies: unread datagrams are
// gone and IsSM falls.
func (s *Station) Detach() {
	s.SetIsSM(false)
	if p := s.holder(); p.station == s {
		p.station = nil
	}
	s.inbox, s.head = nil, 0
}

// At is the port the station sits at.
func (s *Station) At() net.End { return s.f.end(s.port) }

// Send puts datagrams on the wire at the fabric's current time. Addr is where they
// go; the bytes are copied. Nothing is reported back for what is lost.
func (s *Station) Send(batch []mad.Datagram) {
	for i := range batch {
		if s.holder().station != s {
			return
		}
		d := batch[i]
		s.f.onWireAfter(0, evArrive, s.port, s.vport.indexOf(), &d)
	}
}

// Recv moves waiting datagrams into buf and returns how many. Addr is where they
// come from.
func (s *Station) Recv(buf []mad.Datagram) int {
	n := copy(buf, s.inbox[s.head:])
	s.head += n
	if s.head == len(s.inbox) {
		s.inbox, s.head = s.inbox[:0], 0
	}
	return n
}

// OnReceive has each datagram that arrives given to fn at that moment in place of the
// inbox.
func (s *Station) OnReceive(fn func(d mad.Datagram)) { s.onReceive = fn }

// Pending is the number of datagrams that wait.
func (s *Station) Pending() int { return len(s.inbox) - s.head }

func (s *Station) put(d *mad.Datagram) {
	if s.onReceive != nil {
		s.onReceive(*d)
		return
	}
	if s.Pending() >= maxInbox {
		dropped := pma.QP1Dropped
		if d.QP() == 0 {
			dropped = pma.VL15Dropped
		}
		s.f.count(s.port, dropped, 1)
		s.f.drop(DropInboxFull, d)
		return
	}
	if s.head > len(s.inbox)/2 {
		s.inbox = s.inbox[:copy(s.inbox, s.inbox[s.head:])]
		s.head = 0
	}
	s.inbox = append(s.inbox, *d)
}

// SetIsSM raises or lowers the IsSM bit of the port's CapabilityMask, which the
// agent reports to the master by trap 144.
func (s *Station) SetIsSM(on bool) {
	p := &s.f.ports[s.port]
	if s.vport != nil || p.station != s || s.isSM == on {
		return
	}
	s.isSM = on
	mask := p.info.CapabilityMask() &^ smp.IsSM
	if on {
		mask |= smp.IsSM
	}
	p.info.SetCapabilityMask(mask)
	s.f.raiseLocalChange(s.port, 0)
}

// TakeReregister reports whether a manager asked the port's clients to register
// again (PortInfo.ClientReregister) since it was last called.
func (s *Station) TakeReregister() bool {
	was := s.reregister
	s.reregister = false
	return was
}
