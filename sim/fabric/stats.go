package fabric

import (
	"fmt"

	"ibsm/mad"
)

// Drop is why a packet went no further.
type Drop uint8

// Reasons for a packet to be lost.
const (
	Delivered        Drop = 0  // it was not lost
	DropMalformed    Drop = 1  // header or directed route against the rules
	DropNotSwitch    Drop = 2  // a directed route through an end node
	DropNoPort       Drop = 3  // an output port that the switch does not have
	DropLinkDown     Drop = 4  // the link on the way is not up
	DropNotActive    Drop = 5  // data at a port that may not pass it in its state
	DropNoRoute      Drop = 6  // no entry in a forwarding table
	DropWrongLID     Drop = 7  // led to a port that does not own the LID
	DropLoop         Drop = 8  // more than MaxSwitchHops switches
	DropPKey         Drop = 9  // refused by a partition table
	DropVL           Drop = 10 // SLtoVL says 15, or a lane that is not operational
	DropMKey         Drop = 11 // refused by M_Key
	DropUnresponsive Drop = 12 // the node's agent does not answer
	DropNoStation    Drop = 13 // nobody sits at the port it was for
	DropInboxFull    Drop = 14 // the station did not read
	DropLoss         Drop = 15 // lost at random
	DropNodeGone     Drop = 16 // the node is without power
	DropUnsupported  Drop = 17 // a class or method nobody answers
	DropGRH          Drop = 18 // no GRH at a port that demands one, or one for another port
	DropVL15         Drop = 19 // an agent had no buffer for another SMP
	DropErrors       Drop = 20 // bad bits on a cable
	numDrops              = 21
)

var dropNames = [numDrops]string{"delivered", "malformed", "not a switch", "no such port", "link down",
	"port not active",
	"no route", "wrong LID", "loop", "P_Key", "VL", "M_Key", "unresponsive", "no station", "inbox full", "loss",
	"node gone",
	"unsupported", "GRH", "VL15 dropped", "bad bits"}

func (d Drop) String() string {
	if int(d) < len(dropNames) {
		return dropNames[d]
	}
	return fmt.Sprintf("drop %d", uint8(d))
}

// Kind is what an SMP asked, as agents counted it.
type Kind struct {
	Method mad.Method
	Attr   mad.AttrID
}

// maxKinds bounds the counters against arbitrary attributes; those that come too
// late are counted under the zero Kind.
const maxKinds = 1024

// Stats counts what went over the fabric since New.
type Stats struct {
	SMPs  map[Kind]uint64 // that arrived at an agent or station, by what they ask
	Drops [numDrops]uint64
}

func (s *Stats) count(p *mad.Packet) {
	k := Kind{p.Method(), p.AttrID()}
	if _, known := s.SMPs[k]; !known && len(s.SMPs) >= maxKinds {
		k = Kind{}
	}
	s.SMPs[k]++
}

// Stats returns a copy of the counters.
func (f *Fabric) Stats() Stats {
	s := f.stats
	s.SMPs = make(map[Kind]uint64, len(f.stats.SMPs))
	for k, n := range f.stats.SMPs {
		s.SMPs[k] = n
	}
	return s
}

// ResetStats sets all counters to zero.
func (f *Fabric) ResetStats() { f.stats = Stats{SMPs: make(map[Kind]uint64)} }

// SetOnDrop calls fn for each packet of a station or an agent that is lost, and
// why: d is valid during the call. Probes are not reported.
func (f *Fabric) SetOnDrop(fn func(d *mad.Datagram, why Drop)) { f.onDrop = fn }

func (f *Fabric) drop(why Drop, d *mad.Datagram) {
	f.stats.Drops[why]++
	if f.onDrop != nil {
		lost := *d // a copy, lest every packet be allocated for fn's sake
		f.onDrop(&lost, why)
	}
}
