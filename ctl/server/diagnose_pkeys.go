package server

import (
	"fmt"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo"
)

// maxKeysTold is how many partitions of a port a reason names.
const maxKeysTold = 6

// apart are the reasons for which partitions keep two end ports from each other.
func (d *doctor) apart(a, b topo.PortIdx) (why []ctl.Reason) {
	t := d.view.Topo
	x, y := t.Ports[a].PKeys, t.Ports[b].PKeys
	if x == nil || y == nil {
		return nil // a table that is not known hides nothing
	}
	key, ok := x.Common(y)
	if ok {
		for _, p := range []topo.PortIdx{a, b} {
			why = append(why, d.stopped(p, key)...)
		}
		return why
	}
	if d.pending(a, b) {
		return []ctl.Reason{because("P_Keys not written", "the partition file puts them into one partition, but a port does not hold its P_Keys yet",
			"ibsmctl plan shows what is to be written, ibsmctl events what failed")}
	}
	for _, k := range x.Keys() {
		if other, in := y.Find(k); k.Valid() && in {
			why = append(why, because("both limited", fmt.Sprintf("limited members do not talk to each other, and both are no more than that in %s: %s%s and %s%s",
				d.partitionName(other), d.called(a), d.line(a, k), d.called(b), d.line(b, k)),
				d.join(a, k)))
		}
	}
	if len(why) == min(len(x.Keys()), len(y.Keys())) && why != nil {
		return why // one of them is in no other
	}
	return append(why, because("no common P_Key", fmt.Sprintf("they share no partition in which one is a full member: %s; %s", d.memberships(a), d.memberships(b)),
		"put both into one partition, at least one as a full member: ibsmctl partitions add, then apply"))
}

// join is what to do about two limited members. A full member of the default partition
// talks to all, which is more than is asked for.
func (d *doctor) join(p topo.PortIdx, k mad.PKey) string {
	if k.Base() == mad.DefaultPKey.Base() {
		return "put both into another partition, at least one as a full member: ibsmctl partitions create or add, then apply; a full member of the default one would talk to all its members"
	}
	return fmt.Sprintf("make one a full member: ibsmctl partitions add %q %v=full, then apply", d.partitionWord(k), d.view.Topo.Ports[p].GUID)
}

// pending reports whether two ports are to share a P_Key that they do not hold yet.
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

// stopped is the reason where the switch port before an end port checks P_Keys and does
// not let one pass.
func (d *doctor) stopped(p topo.PortIdx, key mad.PKey) []ctl.Reason {
	peer := d.view.Topo.Ports[p].Peer
	if d.checked(p) == "off" || d.view.Topo.Ports[peer].PKeys == nil {
		return nil
	}
	if _, ok := d.view.Topo.Ports[peer].PKeys.Find(key); ok {
		return nil
	}
	return []ctl.Reason{because("P_Key stopped", fmt.Sprintf("%s checks P_Keys and does not let %v pass to or from %s", d.called(peer), key, d.called(p)),
		"ibsmctl plan shows whether it is to be written; else see partition_enforce")}
}

// memberships are the partitions of a port, and what puts it into them.
func (d *doctor) memberships(p topo.PortIdx) string {
	var all []string
	more := 0
	for _, k := range d.view.Topo.Ports[p].PKeys.Keys() {
		switch {
		case !k.Valid():
		case len(all) == maxKeysTold:
			more++
		default:
			all = append(all, d.membership(p, k))
		}
	}
	if all == nil {
		return d.called(p) + " holds no P_Key"
	}
	text := strings.Join(all, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// membership is a P_Key that a port holds, and the line that gives it.
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
		return " (no line says so)"
	case m.Position.Line == 0:
		return " (unless a file says otherwise)"
	}
	return fmt.Sprintf(" (%v: %v)", m.Position, m)
}

// partitionName is what a partition is called in texts.
func (d *doctor) partitionName(k mad.PKey) string {
	if part := d.partition(k); part != nil && part.Name != "" {
		return fmt.Sprintf("%q, P_Key %v", part.Name, k.Base())
	}
	return fmt.Sprintf("P_Key %v", k.Base())
}

// partitionWord is what a command takes for a partition.
func (d *doctor) partitionWord(k mad.PKey) string {
	if part := d.partition(k); part != nil && part.Name != "" {
		return part.Name
	}
	return k.Base().String()
}
