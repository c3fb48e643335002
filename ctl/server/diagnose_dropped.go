package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/topo"
)

const (
	// droppedFor is how long a trap about a dropped packet is shown.
	droppedFor = time.Hour
	// dropsFor is how long packets are taken to be dropped still, where the P_Key tables say that they pass.
	dropsFor = time.Minute
)

// recentDrops are the traps of the last hour.
func recentDrops(all []manager.DroppedPackets, now time.Time) []manager.DroppedPackets {
	since := now.Add(-droppedFor).Unix()
	for i := range all { // the latest come first
		if all[i].Last < since {
			return all[:i]
		}
	}
	return all
}

// portBy is a port by its node and number, None for none.
func (d *doctor) portBy(node mad.GUID, num uint8) topo.PortIdx {
	n := d.view.Topo.FindNode(node)
	if n == topo.None || num > d.view.Topo.Nodes[n].NumPorts {
		return topo.None
	}
	return d.view.Topo.Port(n, num)
}

// droppedIf are the reasons for packets that traps report as dropped.
func (d *doctor) droppedIf(is func(*manager.DroppedPackets) bool) (why []ctl.Reason) {
	for i := range d.dropped {
		if o := &d.dropped[i]; is(o) {
			why = append(why, d.droppedReason(o))
		}
	}
	return why
}

// droppedAt are those that a port dropped, and for an end port those that it sent or that were sent to it.
func (d *doctor) droppedAt(p topo.PortIdx) []ctl.Reason {
	t := d.view.Topo
	node, guid := t.Nodes[t.Ports[p].Node].GUID, t.Ports[p].GUID
	return d.droppedIf(func(o *manager.DroppedPackets) bool {
		return o.Node == node && o.Port == t.Ports[p].Num || t.EndPort(p) == p && (o.From == guid || o.To == guid)
	})
}

// droppedBetween are those that one of two end ports sent to the other.
func (d *doctor) droppedBetween(a, b topo.EndIdx) []ctl.Reason {
	x, y := d.view.Topo.EndGUID(a), d.view.Topo.EndGUID(b)
	return d.droppedIf(func(o *manager.DroppedPackets) bool {
		return o.From == x && o.To == y || o.From == y && o.To == x
	})
}

// drops reports whether a port has dropped packets, other than what limited members send to a multicast group: that
// never reaches the other limited members.
func (d *doctor) drops(p topo.PortIdx) bool {
	t := d.view.Topo
	node, num := t.Nodes[t.Ports[p].Node].GUID, t.Ports[p].Num
	return slices.ContainsFunc(d.dropped, func(o manager.DroppedPackets) bool {
		ofGroup := o.Trap != smp.TrapBadQKey && o.PKey()&mad.FullMember == 0 && o.ToLID.IsMulticast()
		return o.Node == node && o.Port == num && !ofGroup
	})
}

// stillDropped reports whether one of two ports sent packets to the other that were dropped in the last minute
// although no known P_Key table drops them.
func (d *doctor) stillDropped(a, b topo.EndIdx) bool {
	x, y := d.view.Topo.EndGUID(a), d.view.Topo.EndGUID(b)
	return slices.ContainsFunc(d.dropped, func(o manager.DroppedPackets) bool {
		if o.From == x && o.To == y || o.From == y && o.To == x {
			cause := d.cause(&o)
			return d.now.Sub(time.Unix(o.Last, 0)) < dropsFor && (cause == passes || cause == notRead)
		}
		return false
	})
}

// droppedReason is a trap in words.
func (d *doctor) droppedReason(o *manager.DroppedPackets) ctl.Reason {
	kind, key := "P_Key dropped", "P_Key "+o.PKey().String()
	if o.Trap == smp.TrapBadQKey {
		kind, key = "Q_Key dropped", fmt.Sprintf("Q_Key 0x%08x", o.Key)
	}
	where := "a port that has left the subnet"
	if p := d.portBy(o.Node, o.Port); p != topo.None {
		where = d.called(p)
	}
	cause, last := d.cause(o), time.Unix(o.Last, 0).Format(time.DateTime)
	text := fmt.Sprintf("%s dropped packets with %s from %s to %s: reported %s, last at %s (trap %d); %s",
		where, key, d.calledBy(o.From), d.receiver(o), times(o.Count), last, o.Trap, cause)
	return because(kind, text, d.droppedAdvice(o, cause))
}

// droppedBySA are the reasons for requests of an end port that the subnet administrator dropped in the last hour. Their
// sender hears as little of them as of packets that the fabric drops.
func (d *doctor) droppedBySA(p topo.EndIdx) (why []ctl.Reason) {
	if d.offending == nil {
		return nil
	}
	for _, o := range d.offending() {
		if o.Port != d.view.Topo.EndGUID(p) || d.now.Sub(o.Last) > droppedFor {
			continue
		}
		why = append(why,
			because("SA request dropped",
				fmt.Sprintf("the SA dropped requests of the port: %s, last at %s, %v of %s: %v",
					times(o.Count), o.Last.Format(time.DateTime), o.Method, sarec.AttrName(o.Attr), o.Why),
				"ibsmctl security offenders; a program that requests records of other ports needs the sa_key: saquery --smkey KEY"))
	}
	return why
}

// calledBy names a port by its GUID.
func (d *doctor) calledBy(guid mad.GUID) string {
	if p := d.view.Topo.FindEnd(guid); guid != 0 && p != topo.None {
		return d.called(p)
	}
	return "an unknown port"
}

// receiver names the port or multicast group that packets were for.
func (d *doctor) receiver(o *manager.DroppedPackets) string {
	if o.ToLID.IsMulticast() {
		return fmt.Sprintf("the multicast groups of MLID %v", o.ToLID)
	}
	return d.calledBy(o.To)
}

// dropCause is why packets were dropped, by the tables as they are now. It is a part of the reason's text.
type dropCause string

const (
	otherQKey     dropCause = "the queue pair has a different Q_Key"
	nobody        dropCause = "one of the two ports is not in the subnet"
	bothLimited   dropCause = "limited members cannot communicate with each other"
	noSender      dropCause = "the P_Key table of the sender does not have this P_Key"
	noReceiver    dropCause = "the P_Key table of the receiver does not have this partition"
	stoppedOnPath dropCause = "the P_Key table of a switch port on the path does not have this P_Key"
	notRead       dropCause = "a switch port on the path checks P_Keys, but its table could not be read"
	passes        dropCause = "according to the P_Key tables the manager knows, these packets are permitted"
)

// cause is why packets were dropped.
func (d *doctor) cause(o *manager.DroppedPackets) dropCause {
	t := d.view.Topo
	from, to, k := t.FindEnd(o.From), t.FindEnd(o.To), o.PKey()
	switch {
	case o.Trap == smp.TrapBadQKey:
		return otherQKey
	case k&mad.FullMember == 0 && o.ToLID.IsMulticast():
		return bothLimited
	case o.From == 0 || from == topo.None || !o.ToLID.IsMulticast() && (o.To == 0 || to == topo.None):
		return nobody
	case t.EndPKeys(from) != nil && !t.EndPKeys(from).Has(k):
		return noSender
	case o.ToLID.IsMulticast():
		return passes
	case !t.EndPKeys(to).LetsOut(k): // an end port has the rule of an outbound check
		if _, in := t.EndPKeys(to).Find(k); in {
			return bothLimited
		}
		return noReceiver
	}
	w := d.walk(from, to, d.lidOf(to))
	if _, ok := d.stopper(w, k); ok {
		return stoppedOnPath
	}
	if d.checksUnread(w) {
		return notRead
	}
	return passes
}

// checksUnread reports whether a switch port on a way checks P_Keys by a table that is not known. Where no
// partition file is in force the manager neither reads nor writes those tables.
func (d *doctor) checksUnread(w *walk) (is bool) {
	d.checking(w, func(at stop) bool {
		is = is || d.view.Topo.Ports[at.port].PKeys == nil
		return !is
	})
	return is
}

// droppedAdvice is what to do about packets that were dropped.
func (d *doctor) droppedAdvice(o *manager.DroppedPackets, cause dropCause) string {
	k := o.PKey()
	switch cause {
	case otherQKey:
		return "use the same Q_Key in both programs; if the Q_Key of a partition or group has changed, make the hosts join " +
			"it again: restart their IPoIB interfaces"
	case nobody:
		return "ibsmctl security offenders lists ports that send with wrong keys"
	case bothLimited:
		self := d.view.Topo.Ports[d.view.Topo.EndPort(d.view.Topo.Self)].GUID
		if k.Base() == mad.DefaultPKey.Base() && (o.To == self || o.From == self) {
			return "make the manager's port a full member: Default=0x7fff : ALL=limited, SELF=full ;"
		}
		if from := d.view.Topo.FindEnd(o.From); o.From != 0 && from != topo.None {
			return d.join(from, k)
		}
		return "make both members of another partition, at least one of them a full member"
	case noSender:
		return "restart the program that still uses it, or make the port a member of the partition: " +
			d.addCommand(k, fmt.Sprint(o.From))
	case noReceiver:
		return "make the receiver a member of the partition: " + d.addCommand(k, fmt.Sprint(o.To)) +
			"; or stop the sending program"
	case notRead:
		if parts := d.view.Partitions; parts != nil && parts.Policy != nil {
			return "ibsmctl events shows why it could not be read; run ibsmctl sweep to retry"
		}
		return "no partition file is in force, so this table is as another manager left it: give the " +
			"manager its partition file (partition_config_file)"
	case stoppedOnPath:
		return fmt.Sprintf("ibsmctl why %v %v names the switch port and the remedy", o.From, o.To)
	}
	if o.Trap == smp.TrapSwitchBadPKey {
		return "if the count grows, run ibsmctl sweep to read the tables again; if it still grows, the switch " +
			"checks P_Keys differently from what OpenSM expects: set part_enforce out or off, and ask its vendor"
	}
	return "if the count grows, run ibsmctl sweep to read the tables again; if it still grows, restart the sending program"
}

// stop is a switch port that drops packets with a P_Key.
type stop struct {
	port    topo.PortIdx
	inbound bool
}

// checking calls yield for the switch ports on a way that check the P_Keys of its packets, until that returns false.
func (d *doctor) checking(w *walk, yield func(stop) bool) {
	t := d.view.Topo
	for i := range w.path.Hops {
		h, n := &w.path.Hops[i], w.nodes[i]
		if t.Nodes[n].Type != mad.Switch {
			continue
		}
		if in := t.Port(n, h.In); h.In != 0 && t.Ports[in].Info.PartitionEnforcementInbound() &&
			!yield(stop{in, true}) {
			return
		}
		if out := t.Port(n, h.Out); h.Out != 0 && t.Ports[out].Info.PartitionEnforcementOutbound() &&
			!yield(stop{out, false}) {
			return
		}
	}
}

// stopper is the first switch port on a way that drops packets with a P_Key.
func (d *doctor) stopper(w *walk, k mad.PKey) (first stop, ok bool) {
	d.checking(w, func(at stop) bool {
		if keys := d.view.Topo.Ports[at.port].PKeys; at.inbound && !keys.LetsIn(k) || !at.inbound && !keys.LetsOut(k) {
			first, ok = at, true
		}
		return !ok
	})
	return first, ok
}

// stoppedReason says which packets a switch port drops.
func (d *doctor) stoppedReason(at stop, k mad.PKey, packets string) ctl.Reason {
	way := "out"
	if at.inbound {
		way = "in"
	}
	return because("P_Key stopped", fmt.Sprintf("%s drops packets with P_Key %v %s: it checks P_Keys "+
		"on the way %s, and its table has %s",
		d.called(at.port), k, packets, way, keysText(d.view.Topo.Ports[at.port].PKeys)), d.stopAdvice(at, k))
}

// stopAdvice is what to do about a switch port that drops packets.
func (d *doctor) stopAdvice(at stop, k mad.PKey) string {
	parts := d.view.Partitions
	switch {
	case parts == nil || parts.Policy == nil:
		return "no partition file is in force, so the tables are as another manager left them: give the " +
			"manager its partition file (partition_config_file)"
	case parts.Want[at.port] == nil:
		return "the manager does not write the table of this switch port: see ibsmctl events and the " +
			"setting part_enforce"
	case at.inbound && parts.Want[at.port].LetsIn(k) || !at.inbound && parts.Want[at.port].LetsOut(k):
		return "the switch port should have this P_Key: ibsmctl plan shows the missing Set, ibsmctl sweep sends it, and " +
			"ibsmctl events shows whether the port rejects it"
	}
	return fmt.Sprintf(
		"according to the partition file the port may not use this P_Key: restart the program that does, "+
			"or change the file: ibsmctl partitions why PORT %v", k.Base())
}

// keysText are the P_Keys of a table, the first ones.
func keysText(t *topo.PKeyTable) string {
	var all []string
	for _, k := range t.Keys() {
		if k.Valid() {
			all = append(all, k.String())
		}
	}
	if len(all) == 0 {
		return "none"
	}
	if more := len(all) - maxListedKeys; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxListedKeys], ", "), more)
	}
	return strings.Join(all, ", ")
}
