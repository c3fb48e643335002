package manager

import (
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/view"
)

// maxDropped is how many rows of DroppedPackets are kept: the latest.
const maxDropped = 64

// DroppedPackets are packets of one sender to one receiver that a port dropped because of their P_Key or Q_Key, as
// traps 257 to 259 report them. What a trap says is not proved: see ibsmctl security offenders.
type DroppedPackets struct {
	Trap     smp.TrapNumber
	Key      uint32   // a Q_Key with trap 258, else a P_Key
	From, To mad.GUID // ports; 0 for one that is not known, and To with a multicast group
	ToLID    mad.LID
	// Node and Port are where they were dropped: with trap 259 an external port of a switch.
	Node        mad.GUID
	Port        uint8
	Count       uint64 // of traps: a device sends one for many packets
	First, Last int64  // traps, in seconds since 1970
}

// PKey is the P_Key of the packets.
func (d *DroppedPackets) PKey() mad.PKey { return mad.PKey(d.Key) }

// DroppedPackets are the latest, the last one first. They are never written again.
func (s *Stats) DroppedPackets() []DroppedPackets { return s.traps.dropped }

// drop notes a trap 257 to 259. Others change nothing.
func (c *trapCounts) drop(at int64, n *smp.Notice, v *view.View) {
	row, ok := droppedPackets(n, v)
	if !ok {
		return
	}
	row.Count, row.First, row.Last = 1, at, at
	rows := slices.Clone(c.dropped)
	if i := slices.IndexFunc(rows, row.same); i >= 0 {
		row.Count, row.First = rows[i].Count+1, rows[i].First
		rows = slices.Delete(rows, i, i+1)
	}
	rows = slices.Insert(rows, 0, row)
	c.dropped = rows[:min(len(rows), maxDropped)]
}

// same reports whether two rows are about the same packets.
func (d *DroppedPackets) same(o DroppedPackets) bool {
	o.Count, o.First, o.Last = d.Count, d.First, d.Last
	return *d == o
}

// droppedPackets reads a trap; ok is false for one that is about something else, or that names no port of the
// subnet as the one that dropped them.
func droppedPackets(n *smp.Notice, v *view.View) (row DroppedPackets, ok bool) {
	if v == nil || !n.IsGeneric() && !isOfVPorts(n) {
		return row, false
	}
	row.Trap = n.TrapNumber()
	var sender, receiver mad.GID
	var from mad.LID
	at := topo.PortIdx(topo.None)
	switch row.Trap {
	case smp.TrapBadPKey, smp.TrapBadQKey:
		d := n.BadKey()
		row.Key, from, row.ToLID, sender, receiver = d.Key(), d.LID1(), d.LID2(), d.GID1(), d.GID2()
		at = portOf(v, n.IssuerLID())
	case smp.TrapSwitchBadPKey:
		d := n.SwitchBadPKey()
		row.Key, from, row.ToLID, sender, receiver = uint32(d.PKey()), d.LID1(), d.LID2(), d.GID1(), d.GID2()
		if p := portOf(v, d.SwitchLID()); p != topo.None && d.PortNum() <= v.Topo.Nodes[v.Topo.Ports[p].Node].NumPorts {
			at = v.Topo.Port(v.Topo.Ports[p].Node, d.PortNum())
		}
	}
	if isOfVPorts(n) && (row.Trap == smp.TrapVPortBadPKey || row.Trap == smp.TrapVPortBadQKey) {
		d := n.VPortBadKey()
		row.Key, from, row.ToLID, sender, receiver = d.Key(), d.LID1(), d.LID2(), d.GID1(), d.GID2()
		row.Trap, at = badKeyTrap(row.Trap), portOf(v, n.IssuerLID())
	}
	if at == topo.None {
		return row, false
	}
	row.Node, row.Port = v.Topo.Nodes[v.Topo.Ports[at].Node].GUID, v.Topo.Ports[at].Num
	p := portBehind(v, from)
	if p == topo.None {
		p = v.Topo.FindPort(sender.GUID())
	}
	if p != topo.None {
		row.From = guidAt(v, p, sender.GUID())
	}
	if p = portBehind(v, row.ToLID); p != topo.None {
		row.To = guidAt(v, p, receiver.GUID())
	}
	return row, true
}

// guidAt is the GUID of a port, or the one that is given if it is of a vPort behind it.
func guidAt(v *view.View, p topo.PortIdx, guid mad.GUID) mad.GUID {
	if e := v.Topo.FindEnd(guid); e != topo.None && e != p && v.Topo.Physical(e) == p {
		return v.Topo.EndGUID(e)
	}
	return v.Topo.Ports[p].GUID
}

// seconds is the time of day of a moment of this manager's clock, in seconds since 1970.
func seconds(epoch int64, now time.Duration) int64 { return epoch + int64(now/time.Second) }
