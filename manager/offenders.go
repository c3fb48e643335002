package manager

import (
	"fmt"
	"iter"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// maxOffenders is how many senders of packets with wrong keys are counted one by one.
const maxOffenders = 32

// Offender is a port whose packets were dropped because of the key that they carried.
type Offender struct {
	Port  mad.GUID // of the sender; 0 for all those that no room was left for, or that are not known
	Trap  smp.TrapNumber
	Count uint64
}

// offenders counts the traps 257 to 259 by who sent the packets that they tell of. It is a
// plain value.
type offenders struct {
	known  [maxOffenders]Offender
	used   int
	others [3]uint64 // by trap, from 257 on
}

func (o *offenders) add(port mad.GUID, trap smp.TrapNumber) {
	for i := range o.known[:o.used] {
		if k := &o.known[i]; k.Port == port && k.Trap == trap {
			k.Count++
			return
		}
	}
	if port == 0 || o.used == maxOffenders {
		o.others[trap-smp.TrapBadPKey]++
		return
	}
	o.known[o.used] = Offender{port, trap, 1}
	o.used++
}

// Offenders are the ports that sent packets with wrong P_Keys or Q_Keys, as traps 257 to
// 259 told.
func (s *Stats) Offenders() iter.Seq[Offender] {
	return func(yield func(Offender) bool) {
		for _, o := range s.offenders.known[:s.offenders.used] {
			if !yield(o) {
				return
			}
		}
		for i, n := range s.offenders.others {
			if n > 0 && !yield(Offender{Trap: smp.TrapBadPKey + smp.TrapNumber(i), Count: n}) {
				return
			}
		}
	}
}

// badKey counts a trap about a wrong key, and says who the packet's sender and receiver
// are; "" for another trap.
func (c *Core) badKey(n *smp.Notice) string {
	if !n.IsGeneric() {
		return ""
	}
	var from, to mad.LID
	var sender mad.GID
	switch n.TrapNumber() {
	case smp.TrapBadPKey, smp.TrapBadQKey:
		d := n.BadKey()
		from, to, sender = d.LID1(), d.LID2(), d.GID1()
	case smp.TrapSwitchBadPKey:
		d := n.SwitchBadPKey()
		from, to, sender = d.LID1(), d.LID2(), d.GID1()
	default:
		return ""
	}
	p := c.owner(from)
	guid := sender.GUID()
	if p != topo.None {
		guid = c.view.Topo.Ports[p].GUID
	}
	c.stats.offenders.add(guid, n.TrapNumber())
	return fmt.Sprintf("from %s to %s", c.whose(p, guid), c.whose(c.owner(to), 0))
}

// owner is the port that has a LID, or None.
func (c *Core) owner(lid mad.LID) topo.PortIdx {
	if c.view == nil {
		return topo.None
	}
	return c.view.LIDs.PortOf(lid)
}

// whose names a port for a log line; guid where it is not known.
func (c *Core) whose(p topo.PortIdx, guid mad.GUID) string {
	if p == topo.None {
		return fmt.Sprintf("an unknown port (GUID %v)", guid)
	}
	port := &c.view.Topo.Ports[p]
	return fmt.Sprintf("port %v of %q", port.GUID, c.view.Topo.Nodes[port.Node].Desc.String())
}
