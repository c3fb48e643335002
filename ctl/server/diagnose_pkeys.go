package server

import (
	"fmt"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo"
)

// maxListedKeys bounds the partitions of a port that a reason lists.
const maxListedKeys = 6

// apart are the reasons why partitions prevent two end ports from communicating.
func (d *doctor) apart(a, b topo.EndIdx) (why []ctl.Reason) {
	t := d.view.Topo
	x, y := t.EndPKeys(a), t.EndPKeys(b)
	if x == nil || y == nil {
		return nil // an unknown table prevents nothing
	}
	if _, ok := x.Common(y); ok {
		return nil
	}
	if d.pending(a, b) {
		return []ctl.Reason{
			because("P_Keys not written",
				"the partition file makes both members of one partition, but a port does not have its P_Keys yet",
				"ibsmctl plan shows the missing Sets, ibsmctl events shows failed ones")}
	}
	for _, k := range x.Keys() {
		if other, in := y.Find(k); k.Valid() && in {
			why = append(why,
				because("both limited",
					fmt.Sprintf(
						"both are limited members of %s, and limited members cannot communicate with each other: %s%s and %s%s",
						d.partitionName(other), d.called(a), d.line(a, k), d.called(b), d.line(b, k)),
					d.join(a, k)))
		}
	}
	if len(why) == min(len(x.Keys()), len(y.Keys())) && why != nil {
		return why // one of them has no other
	}
	return append(why,
		because("no common P_Key",
			fmt.Sprintf("they share no partition in which at least one of them is a full member: %s; %s",
				d.memberships(a), d.memberships(b)),
			"make both members of one partition, at least one of them a full member: ibsmctl partitions add, then apply"))
}

// join is the advice for two limited members. A full member of the default partition can
// communicate with every port, which is more than needed.
func (d *doctor) join(p topo.EndIdx, k mad.PKey) string {
	if k.Base() == mad.DefaultPKey.Base() {
		return "make both members of another partition, at least one of them a full member: ibsmctl partitions create or add, then apply. As a full member of the default partition a port could communicate with all its members"
	}
	return "make one a full member: " + d.addCommand(k, d.view.Topo.EndGUID(p).String()+"=full")
}

// pending reports whether two ports will share a P_Key that is not yet in their tables.
func (d *doctor) pending(a, b topo.EndIdx) bool {
	parts := d.view.Partitions
	if parts == nil || int(max(d.view.Topo.Physical(a), d.view.Topo.Physical(b))) >= len(parts.Want) {
		return false
	}
	_, ok := d.tableOf(a).Common(d.tableOf(b))
	return ok
}

// stopped are the reasons if switch ports on the way drop P_Keys by which two ports may communicate. works is set
// if another P_Key is left that passes both ways.
func (d *doctor) stopped(a, b topo.EndIdx) (why []ctl.Reason, works bool) {
	x, y := d.view.Topo.EndPKeys(a), d.view.Topo.EndPKeys(b)
	if a == b || x == nil || y == nil {
		return nil, true
	}
	there, back := d.walk(a, b, d.lidOf(b)), d.walk(b, a, d.lidOf(a))
	common := 0
	for _, k := range x.Keys() {
		for _, l := range y.Keys() {
			if !k.Matches(l) {
				continue
			}
			common++
			before := len(why)
			if at, ok := d.stopper(there, k); ok {
				why = append(why, d.stoppedReason(at, k, fmt.Sprintf("from %s to %s", d.called(a), d.called(b))))
			}
			if at, ok := d.stopper(back, l); ok {
				why = append(why, d.stoppedReason(at, l, fmt.Sprintf("from %s to %s", d.called(b), d.called(a))))
			}
			works = works || len(why) == before
			if len(why) > maxListedKeys {
				return unique(why), works
			}
		}
	}
	return unique(why), works || common == 0
}

// keyRemarks are what is wrong with P_Keys at a port: keys of an end port that the switch port in front of it drops,
// or keys that a switch port drops of the port behind it, a port without the default partition, and packets that
// were dropped.
func (d *doctor) keyRemarks(p topo.PortIdx) (why []ctl.Reason) {
	t := d.view.Topo
	end := p
	if t.IsSwitchPort(p) {
		end = t.Ports[p].Peer
	}
	if end != topo.None && t.EndPort(end) == end {
		why = d.stoppedAt(end)
	}
	if t.EndPort(p) == p {
		why = append(append(why, d.notToSA(p)...), d.droppedBySA(p)...)
	}
	return append(why, d.droppedAt(p)...)
}

// stoppedAt are the reasons for P_Keys of an end port that the switch port in front of it drops.
func (d *doctor) stoppedAt(p topo.PortIdx) (why []ctl.Reason) {
	peer := d.view.Topo.Ports[p].Peer
	for _, k := range d.view.Topo.Ports[p].PKeys.Keys() {
		if !k.Valid() || len(why) > maxListedKeys {
			continue
		}
		in, out := d.stops(p, k)
		if in {
			why = append(why, d.stoppedReason(stop{peer, true}, k, "from "+d.called(p)))
		}
		if out {
			why = append(why, d.stoppedReason(stop{peer, false}, k|mad.FullMember, "to "+d.called(p)))
		}
	}
	return why
}

// stops reports whether the switch port in front of an end port drops what it sends with a P_Key, and what full
// members of the partition send to it.
func (s *subnet) stops(p topo.PortIdx, k mad.PKey) (in, out bool) {
	t := s.view.Topo
	peer := t.Ports[p].Peer
	if t.Ports[p].Num == 0 || peer == topo.None || !t.IsSwitchPort(peer) {
		return false, false
	}
	far := &t.Ports[peer]
	in = far.Info.PartitionEnforcementInbound() && !far.PKeys.LetsIn(k)
	return in, far.Info.PartitionEnforcementOutbound() && !far.PKeys.LetsOut(k|mad.FullMember)
}

// notToSA is the reason if a port cannot ask the subnet administrator for anything: clients use the P_Key of the
// default partition.
func (d *doctor) notToSA(p topo.PortIdx) []ctl.Reason {
	t := d.view.Topo
	self := t.EndPort(t.Self)
	x, y := t.Ports[p].PKeys, t.Ports[self].PKeys
	if p == self || x == nil || y == nil || t.IsBasePort0(p) {
		return nil
	}
	k, has := x.Find(mad.DefaultPKey)
	l, answers := y.Find(mad.DefaultPKey)
	if has && answers && k.Matches(l) {
		return nil
	}
	text := "the port has no P_Key of the default partition"
	switch {
	case !answers:
		text = "the manager's port has no P_Key of the default partition"
	case has:
		text = "the port is a limited member of the default partition, and so is the manager's"
	}
	return []ctl.Reason{because("no way to the SA", text+": requests to the subnet administrator are dropped",
		"every port must be a member of the default partition, and the manager's port a full member: "+
			"Default=0x7fff : ALL=limited, SELF=full ;")}
}

// memberships are the partitions of a port, with the lines that put it into them.
func (d *doctor) memberships(p topo.EndIdx) string {
	var all []string
	more := 0
	for _, k := range d.view.Topo.EndPKeys(p).Keys() {
		switch {
		case !k.Valid():
		case len(all) == maxListedKeys:
			more++
		default:
			all = append(all, d.membership(p, k))
		}
	}
	if all == nil {
		return d.called(p) + " has no P_Key"
	}
	text := strings.Join(all, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// membership is a P_Key of a port, with the line that assigns it.
func (d *doctor) membership(p topo.EndIdx, k mad.PKey) string {
	how := "limited"
	if k&mad.FullMember != 0 {
		how = "full"
	}
	return fmt.Sprintf("%s is a %s member of %s%s", d.called(p), how, d.partitionName(k), d.line(p, k))
}

// line is the line of the partition file that decides about a port and a key.
func (d *doctor) line(p topo.EndIdx, k mad.PKey) string {
	if d.view.Partitions == nil || d.view.Partitions.Policy == nil {
		return ""
	}
	m := d.view.Partitions.Policy.Why(d.view.Topo, p, k)
	switch {
	case m == nil:
		return " (without a line in the file)"
	case m.Number > 0:
		return fmt.Sprintf(" (a caller's partition, change %d: %v)", m.Number, m)
	case m.Position.Line == 0 && m.Position.File != "":
		return fmt.Sprintf(" (%s cannot be used, so every port reaches only the manager)", m.Position.File)
	case m.Position.Line == 0:
		return " (the implicit default)"
	}
	return fmt.Sprintf(" (%v: %v)", m.Position, m)
}

// partitionName is the name of a partition in messages.
func (d *doctor) partitionName(k mad.PKey) string {
	if part := d.partition(k); part != nil && part.Name != "" {
		return fmt.Sprintf("%q, P_Key %v", part.Name, k.Base())
	}
	return fmt.Sprintf("P_Key %v", k.Base())
}

// addCommand is what makes a port, or changes, a member of a partition.
func (d *doctor) addCommand(k mad.PKey, member string) string {
	if part := d.partition(k); part != nil && part.Number > 0 {
		return fmt.Sprintf("ibsmctl partitions set %s --add %s", part.Name, member)
	}
	return fmt.Sprintf("ibsmctl partitions add %q %s, then apply", d.partitionWord(k), member)
}

// partitionWord is the argument of ibsmctl for a partition.
func (d *doctor) partitionWord(k mad.PKey) string {
	if part := d.partition(k); part != nil && part.Name != "" {
		return part.Name
	}
	return k.Base().String()
}
