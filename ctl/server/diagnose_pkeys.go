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
func (d *doctor) apart(a, b topo.PortIdx) (why []ctl.Reason) {
	t := d.view.Topo
	x, y := t.Ports[a].PKeys, t.Ports[b].PKeys
	if x == nil || y == nil {
		return nil // an unknown table prevents nothing
	}
	key, ok := x.Common(y)
	if ok {
		for _, p := range []topo.PortIdx{a, b} {
			why = append(why, d.stopped(p, key)...)
		}
		return why
	}
	if d.pending(a, b) {
		return []ctl.Reason{because("P_Keys not written", "the partition file puts both into one partition, but a port does not have its P_Keys yet",
			"ibsmctl plan shows the missing Sets, ibsmctl events failures")}
	}
	for _, k := range x.Keys() {
		if other, in := y.Find(k); k.Valid() && in {
			why = append(why, because("both limited", fmt.Sprintf("limited members cannot communicate with each other, and both are limited members of %s: %s%s and %s%s",
				d.partitionName(other), d.called(a), d.line(a, k), d.called(b), d.line(b, k)),
				d.join(a, k)))
		}
	}
	if len(why) == min(len(x.Keys()), len(y.Keys())) && why != nil {
		return why // one of them has no other
	}
	return append(why, because("no common P_Key", fmt.Sprintf("they share no partition in which at least one is a full member: %s; %s", d.memberships(a), d.memberships(b)),
		"put both into one partition, at least one as a full member: ibsmctl partitions add, then apply"))
}

// join is the advice for two limited members. A full member of the default partition can
// communicate with every port, which is more than needed.
func (d *doctor) join(p topo.PortIdx, k mad.PKey) string {
	if k.Base() == mad.DefaultPKey.Base() {
		return "put both into another partition, at least one as a full member: ibsmctl partitions create or add, then apply; a full member of the default partition could communicate with all its members"
	}
	return fmt.Sprintf("make one a full member: ibsmctl partitions add %q %v=full, then apply", d.partitionWord(k), d.view.Topo.Ports[p].GUID)
}

// pending reports whether two ports will share a P_Key that is not yet in their tables.
func (d *doctor) pending(a, b topo.PortIdx) bool {
	parts := d.view.Partitions
	if parts == nil || int(max(a, b)) >= len(parts.Want) {
		return false
	}
	x, y := parts.Want[a], parts.Want[b]
	if x == nil {
		x = d.view.Topo.Ports[a].PKeys
	}
	if y == nil {
		y = d.view.Topo.Ports[b].PKeys
	}
	_, ok := x.Common(y)
	return ok
}

// stopped is the reason if the switch port at an end port enforces partitions and drops a
// P_Key.
func (d *doctor) stopped(p topo.PortIdx, key mad.PKey) []ctl.Reason {
	peer := d.view.Topo.Ports[p].Peer
	if d.checked(p) == "off" || d.view.Topo.Ports[peer].PKeys == nil {
		return nil
	}
	if _, ok := d.view.Topo.Ports[peer].PKeys.Find(key); ok {
		return nil
	}
	return []ctl.Reason{because("P_Key stopped", fmt.Sprintf("%s enforces partitions and drops packets with %v to or from %s", d.called(peer), key, d.called(p)),
		"ibsmctl plan shows whether a Set is missing; otherwise check the setting part_enforce")}
}

// memberships are the partitions of a port, with the lines that put it into them.
func (d *doctor) memberships(p topo.PortIdx) string {
	var all []string
	more := 0
	for _, k := range d.view.Topo.Ports[p].PKeys.Keys() {
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
func (d *doctor) membership(p topo.PortIdx, k mad.PKey) string {
	how := "limited"
	if k&mad.FullMember != 0 {
		how = "full"
	}
	return fmt.Sprintf("%s is a %s member of %s%s", d.called(p), how, d.partitionName(k), d.line(p, k))
}

// line is the line of the partition file that decides about a port and a key.
func (d *doctor) line(p topo.PortIdx, k mad.PKey) string {
	if d.view.Partitions == nil || d.view.Partitions.Policy == nil {
		return ""
	}
	m := d.view.Partitions.Policy.Why(d.view.Topo, p, k)
	switch {
	case m == nil:
		return " (without a line in the file)"
	case m.Position.Line == 0 && m.Position.File != "":
		return fmt.Sprintf(" (%s cannot be used, so that every port reaches only the manager)", m.Position.File)
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

// partitionWord is the argument of ibsmctl for a partition.
func (d *doctor) partitionWord(k mad.PKey) string {
	if part := d.partition(k); part != nil && part.Name != "" {
		return part.Name
	}
	return k.Base().String()
}
