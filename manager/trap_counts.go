package manager

import (
	"fmt"
	"iter"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/view"
)

// maxOffenders is how many senders of packets with wrong keys are counted one by one.
const maxOffenders = 32

// Offender is a port whose packets were dropped because of the key that they carried.
type Offender struct {
	Port  mad.GUID // of the sender; 0 for all those that no room was left for, or that are not known
	Trap  smp.TrapNumber
	Count uint64
}

// trapCounts counts traps. It is a plain value.
type trapCounts struct {
	byNumber  [len(trapNumbers) + 2]uint64 // of each number, other generic ones, vendors'
	offenders offenders
	dropped   []DroppedPackets // the latest first; never written again
}

func (c *trapCounts) add(n *smp.Notice) {
	i := slices.Index(trapNumbers[:], n.TrapNumber())
	switch {
	case !n.IsGeneric() && !isOfVPorts(n):
		i = len(trapNumbers) + 1
	case n.IsGeneric() && n.TrapNumber() >= smp.TrapVPortLocalChange:
		i = len(trapNumbers)
	case i < 0:
		i = len(trapNumbers)
	}
	c.byNumber[i]++
}

// offenders counts the traps 256 to 259 by the sender of the packets that they report. It is a
// plain value.
type offenders struct {
	known  [maxOffenders]Offender
	used   int
	others [4]uint64 // by trap, from 256 on
}

func (o *offenders) add(port mad.GUID, trap smp.TrapNumber) {
	for i := range o.known[:o.used] {
		if k := &o.known[i]; k.Port == port && k.Trap == trap {
			k.Count++
			return
		}
	}
	if port == 0 || o.used == maxOffenders {
		o.others[trap-smp.TrapBadMKey]++
		return
	}
	o.known[o.used] = Offender{port, trap, 1}
	o.used++
}

// Offenders are the ports that sent packets with wrong M_Keys, P_Keys or Q_Keys, as traps 256 to
// 259 reported.
func (s *Stats) Offenders() iter.Seq[Offender] {
	return func(yield func(Offender) bool) {
		for _, o := range s.traps.offenders.known[:s.traps.offenders.used] {
			if !yield(o) {
				return
			}
		}
		for i, n := range s.traps.offenders.others {
			if n > 0 && !yield(Offender{Trap: smp.TrapBadMKey + smp.TrapNumber(i), Count: n}) {
				return
			}
		}
	}
}

// badKey counts a trap about a wrong key, and names the packet's sender and
// receiver; "" for another trap.
func (c *trapCounts) badKey(n *smp.Notice, v *view.View) string {
	if !n.IsGeneric() && !isOfVPorts(n) {
		return ""
	}
	var from, to mad.LID
	var sender mad.GID
	switch n.TrapNumber() {
	case smp.TrapBadMKey:
		p, guid := badMKeySender(v, n), mad.GUID(0)
		if p != topo.None {
			guid = v.Topo.Ports[p].GUID
		}
		c.offenders.add(guid, n.TrapNumber())
		return fmt.Sprintf("from %s to %s", nameOf(v, p, guid), nameOf(v, portOf(v, n.IssuerLID()), 0))
	case smp.TrapBadPKey, smp.TrapBadQKey:
		d := n.BadKey()
		from, to, sender = d.LID1(), d.LID2(), d.GID1()
	case smp.TrapSwitchBadPKey:
		d := n.SwitchBadPKey()
		from, to, sender = d.LID1(), d.LID2(), d.GID1()
	case smp.TrapVPortBadPKey, smp.TrapVPortBadQKey:
		if n.IsGeneric() {
			return ""
		}
		d := n.VPortBadKey()
		from, to, sender = d.LID1(), d.LID2(), d.GID1()
	default:
		return ""
	}
	p := portBehind(v, from)
	if p == topo.None && v != nil {
		p = v.Topo.FindPort(sender.GUID())
	}
	guid, known := sender.GUID(), mad.GUID(0) // a port of the subnet has a row, and no GUID that a trap invents
	if p != topo.None {
		guid, known = v.Topo.Ports[p].GUID, v.Topo.Ports[p].GUID
	}
	c.offenders.add(known, badKeyTrap(n.TrapNumber()))
	return fmt.Sprintf("from %s to %s", nameOf(v, p, guid), nameOf(v, portBehind(v, to), 0))
}

// badKeyTrap is the trap of ports that says what a trap of vPorts says.
func badKeyTrap(number smp.TrapNumber) smp.TrapNumber {
	switch number {
	case smp.TrapVPortBadPKey:
		return smp.TrapBadPKey
	case smp.TrapVPortBadQKey:
		return smp.TrapBadQKey
	}
	return number
}

// nameOf names a port for a log line; guid where it is not known.
func nameOf(v *view.View, p topo.PortIdx, guid mad.GUID) string {
	if p == topo.None {
		return fmt.Sprintf("an unknown port (GUID %v)", guid)
	}
	port := &v.Topo.Ports[p]
	return fmt.Sprintf("port %v of %q", port.GUID, v.Topo.Nodes[port.Node].Desc.String())
}

// trapNumbers are those that are counted one by one.
var trapNumbers = [...]smp.TrapNumber{
	smp.TrapLinkState, smp.TrapLinkIntegrity, smp.TrapBufferOverrun, smp.TrapFlowControl, smp.TrapLocalChange,
	smp.TrapSystemImageGUID, smp.TrapBadMKey, smp.TrapBadPKey, smp.TrapBadQKey, smp.TrapSwitchBadPKey,
	smp.TrapVPortLocalChange, smp.TrapVPortStateChange, smp.TrapVPortBadPKey, smp.TrapVPortBadQKey,
}

// Traps that are not counted by number.
const (
	OtherTraps  smp.TrapNumber = 0
	VendorTraps smp.TrapNumber = 0xffff
)

// Traps are the numbers of traps received as master, by trap number.
func (s *Stats) Traps() iter.Seq2[smp.TrapNumber, uint64] {
	return func(yield func(smp.TrapNumber, uint64) bool) {
		for i, n := range trapNumbers {
			if !yield(n, s.traps.byNumber[i]) {
				return
			}
		}
		_ = yield(OtherTraps, s.traps.byNumber[len(trapNumbers)]) &&
			yield(VendorTraps, s.traps.byNumber[len(trapNumbers)+1])
	}
}
