package sim_test

import (
	"encoding/binary"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim"
	"ibsm/sim/fabric"
)

// spoiler spoils replies that managers receive, one after another, as bytes say: see spoiling.
type spoiler struct {
	script   []byte
	next     spoiling
	ended    bool // there is no next
	applied  int
	renamed  bool                    // the description of a node was one of them
	ports    uint8                   // that the largest node has
	far      int                     // requests that isFar, for which a false reply is the reason
	denied   []denial                // Sets that agents refused
	asked    map[question]mad.Method // requests under way
	keptBack []late
	seen     map[fabric.Kind]int // replies, by the request
}

// spoiling is the next reply to spoil, and how. In bytes it is the index of its kind in replyKinds, any further one for
// a reply of any kind; how many of the kind pass before; how it is spoiled; the place and the number of the bytes that
// it is overlaid with, and these.
type spoiling struct {
	kind, pass uint8
	how        how
	at, length uint8
	bytes      []byte
}

// maxSpoiled bounds the replies that are spoiled.
const maxSpoiled = 16

// how is how a reply is spoiled.
type how uint8

const (
	overlaid how = iota
	timedOut     // the port gives the request up; the packet is the request, and the bytes overlay it
	lost
	twice
	delayed // by 10 ms for each unit of at
	emptied // all but the common header and the directed route is zero
	refused // the agent does not do what is asked, and the bytes overlay its answer with a status
	busy    // likewise, with a status that asks for another attempt
	ignored // the agent does nothing, and does not answer
	hows
)

// denial is a Set that an agent refused.
type denial struct {
	node   int32
	attr   mad.AttrID
	port   uint8 // of PortInfo; 0 of what has no port
	judged bool
	data   [mad.DataSize]byte
	again  again
}

// again says whether an agent obeys later what it refused.
type again uint8

const (
	awaited  again = iota
	repeated       // the agent obeys the same Set before a sweep ends
	leftOut        // a sweep ends without it
)

// believed reports whether a node, or any where it is negative, has refused Sets of an attribute as often as a manager
// needs to believe that it does not support what they hold: it sends them again when another value is wanted.
func (s *spoiler) believed(node int32, attrs ...mad.AttrID) bool {
	const often = 2
	refused := map[denial]int{}
	for _, d := range s.denied {
		if (node < 0 || d.node == node) && slices.Contains(attrs, d.attr) {
			of := denial{node: d.node, attr: d.attr}
			if refused[of]++; refused[of] >= often {
				return true
			}
		}
	}
	return false
}

// question is a request under way.
type question struct {
	from *sim.Manager
	tid  mad.TID
}

// late is a reply that comes later.
type late struct {
	mad.Datagram
	to  *sim.Manager
	due time.Duration
}

func (s *spoiler) begin(script []byte) {
	*s = spoiler{script: script, asked: map[question]mad.Method{}, seen: map[fabric.Kind]int{}}
	s.read()
}

// read takes the next spoiling from the script.
func (s *spoiler) read() {
	const header = 5
	if s.ended = len(s.script) < header || s.applied == maxSpoiled; s.ended {
		return
	}
	b := s.script
	s.next = spoiling{kind: b[0], pass: b[1], how: how(b[2]) % hows, at: b[3], length: b[4]}
	b = b[header:]
	s.next.bytes = b[:min(int(s.next.length), len(b))]
	s.script = b[len(s.next.bytes):]
}

// encode appends a spoiling to a script.
func (x *spoiling) encode(script []byte) []byte {
	return append(append(script, x.kind, x.pass, uint8(x.how), x.at, uint8(len(x.bytes))), x.bytes...)
}

// isNext reports whether the next spoiling is of this reply. atAgent is set where the agent answers, not where the
// manager receives.
func (s *spoiler) isNext(kind fabric.Kind, atAgent bool) bool {
	if s.ended || (s.next.how == refused || s.next.how == busy || s.next.how == ignored) != atAgent {
		return false
	}
	if i := int(s.next.kind); i < len(replyKinds) && replyKinds[i] != kind {
		return false
	}
	if s.next.pass > 0 {
		s.next.pass--
		return false
	}
	s.applied++
	return true
}

// end ends the spoiling: what was kept back does not come.
func (s *spoiler) end() { s.ended, s.keptBack = true, nil }

// sending notes what managers ask.
func (s *spoiler) sending(m *sim.Manager, batch []mad.Datagram) {
	for i := range batch {
		if p := &batch[i].Packet; p.MgmtClass().IsSubnet() && !p.IsResponse() {
			s.asked[question{m, p.TID()}] = p.Method()
			if s.isFar(p) {
				s.far++
			}
		}
	}
}

// isFar reports whether a request is for a block of LIDs that no port has, of a P_Key table beyond the largest that
// there is, which has 128 P_Keys, or for a port that no node has.
func (s *spoiler) isFar(p *mad.Packet) bool {
	switch p.AttrID() {
	case smp.AttrPortInfo, smp.AttrExtendedPortInfo:
		return uint8(p.AttrMod()) > s.ports
	case smp.AttrSLtoVLMappingTable: // it has a block for each pair of ports
		return max(uint8(p.AttrMod()), uint8(p.AttrMod()>>8)) > s.ports
	case smp.AttrLinearForwardingTable:
		return p.AttrMod() > 0
	case smp.AttrPKeyTable:
		return p.AttrMod()&0xffff >= 128/smp.PKeysPerBlock
	}
	return false
}

// spoil spoils what a manager receives.
func (s *spoiler) spoil(now time.Duration, to *sim.Manager, received []mad.Datagram) {
	for i := range received {
		p := &received[i].Packet
		if !p.MgmtClass().IsSubnet() || !p.IsResponse() {
			continue
		}
		asked := question{to, p.TID()}
		kind := fabric.Kind{Method: s.asked[asked], Attr: p.AttrID()}
		delete(s.asked, asked)
		if s.seen[kind]++; s.isNext(kind, false) {
			s.renamed = s.renamed || kind.Attr == smp.AttrNodeDescription
			s.change(now, to, kind.Method, &received[i])
			s.read()
		}
	}
}

// change spoils one reply. It does not make a refused Set one that was obeyed: only a manager that reads everything
// again in each sweep could find that.
func (s *spoiler) change(now time.Duration, to *sim.Manager, method mad.Method, d *mad.Datagram) {
	p, x := &d.Packet, &s.next
	status := p.Status()
	switch x.how {
	case timedOut:
		d.TimedOut = true
		p.SetMethod(method)
	case lost:
		p.SetTID(0)
		return
	case twice:
		s.keptBack = append(s.keptBack, late{*d, to, now})
	case delayed:
		s.keptBack = append(s.keptBack, late{*d, to, now + time.Duration(x.at)*10*time.Millisecond})
		p.SetTID(0)
		return
	case emptied:
		clear(p.Data()[:])
	}
	copy(p[x.at:], x.bytes)
	if method == mad.MethodSet && p.Status() == mad.StatusOK {
		p.SetStatus(status)
	}
}

// returning is the bit of a directed-route SMP's status that says that it returns.
const returning mad.Status = 0x8000

// refuse is the agents' Defect.
func (s *spoiler) refuse(node int32, p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
	x := &s.next
	if !s.isNext(fabric.Kind{Method: p.Method(), Attr: p.AttrID()}, true) {
		for i := range s.denied {
			if d := &s.denied[i]; d.again == awaited && d.node == node && d.attr == p.AttrID() && d.data == *p.Data() {
				d.again = repeated
			}
		}
		return obey(), true
	}
	status, answers := mad.StatusBadField, x.how != ignored
	if x.how == busy {
		status = mad.StatusBusy
	} else if len(x.bytes) >= 2 {
		status = mad.Status(binary.BigEndian.Uint16(x.bytes)) &^ (mad.StatusBusy | returning)
	}
	// it does not say that it did what it did not: see change
	if p.Method() == mad.MethodSet && status == mad.StatusOK {
		status = mad.StatusBadField
	}
	if x.how == refused && p.Method() == mad.MethodSet {
		s.denied = append(s.denied, denial{node: node, attr: p.AttrID(), port: uint8(p.AttrMod()), data: *p.Data()})
	}
	s.read()
	return status, answers
}

// replyKinds are the requests whose replies are spoiled, as long as a manager sends them.
var replyKinds = []fabric.Kind{
	{Method: mad.MethodGet, Attr: smp.AttrNodeInfo},
	{Method: mad.MethodGet, Attr: smp.AttrNodeDescription},
	{Method: mad.MethodGet, Attr: smp.AttrSwitchInfo},
	{Method: mad.MethodSet, Attr: smp.AttrSwitchInfo},
	{Method: mad.MethodGet, Attr: smp.AttrPortInfo},
	{Method: mad.MethodSet, Attr: smp.AttrPortInfo},
	{Method: mad.MethodGet, Attr: smp.AttrPKeyTable},
	{Method: mad.MethodSet, Attr: smp.AttrPKeyTable},
	{Method: mad.MethodGet, Attr: smp.AttrSLtoVLMappingTable},
	{Method: mad.MethodSet, Attr: smp.AttrSLtoVLMappingTable},
	{Method: mad.MethodGet, Attr: smp.AttrVLArbitrationTable},
	{Method: mad.MethodSet, Attr: smp.AttrVLArbitrationTable},
	{Method: mad.MethodGet, Attr: smp.AttrLinearForwardingTable},
	{Method: mad.MethodSet, Attr: smp.AttrLinearForwardingTable},
	{Method: mad.MethodGet, Attr: smp.AttrMulticastForwardingTable},
	{Method: mad.MethodSet, Attr: smp.AttrMulticastForwardingTable},
	{Method: mad.MethodGet, Attr: smp.AttrSMInfo},
	{Method: mad.MethodSet, Attr: smp.AttrSMInfo},
	{Method: mad.MethodSet, Attr: smp.AttrGUIDInfo},
	{Method: mad.MethodGet, Attr: smp.AttrGeneralInfo},
	{Method: mad.MethodGet, Attr: smp.AttrARInfo},
	{Method: mad.MethodSet, Attr: smp.AttrARInfo},
	{Method: mad.MethodGet, Attr: smp.AttrPrivateLFTInfo},
	{Method: mad.MethodGet, Attr: smp.AttrExtendedPortInfo},
	{Method: mad.MethodSet, Attr: smp.AttrExtendedPortInfo},
}
