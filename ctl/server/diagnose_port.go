package server

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/history"
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/perf"
	"ibsm/plural"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/topo/cabling"
	"ibsm/view"
)

// reasons are the reasons why a port is not Active; for an Active port, remarks.
func (d *doctor) reasons(p topo.PortIdx) []ctl.Reason {
	t := d.view.Topo
	port := &t.Ports[p]
	if why, unresponsive := d.unresponsive(p); unresponsive {
		return []ctl.Reason{why}
	}
	switch state := port.Info.PortState(); {
	case !port.Seen:
		return []ctl.Reason{
			because("unknown", "the PortInfo of the port could not be read",
				"see ibsmctl events for the failed requests"),
		}
	case d.active(p):
		return d.remarks(p)
	case state == smp.PortDown:
		return d.down(p)
	case port.Peer == topo.None:
		return d.alone(p)
	default:
		return d.held(p)
	}
}

// unresponsive is the reason if the port's node does not answer.
func (d *doctor) unresponsive(p topo.PortIdx) (why ctl.Reason, is bool) {
	node := &d.view.Topo.Nodes[d.view.Topo.Ports[p].Node]
	if node.Missed == 0 {
		return why, false
	}
	return ctl.Reason{
		Kind: "no answer",
		Text: fmt.Sprintf("%q has not answered for %s; its routes are kept for %s more",
			d.nodeName(d.view.Topo.Ports[p].Node), plural.Of(int(node.Missed), "sweep"),
			plural.Of(topo.MaxMissed, "sweep")),
		Do: "check whether its firmware has hung, and reset it. An M_Key that differs from the manager's (m_key) has the same effect",
	}, true
}

// down are the reasons of a port without a link.
func (d *doctor) down(p topo.PortIdx) []ctl.Reason {
	var why ctl.Reason
	switch phys := d.view.Topo.Ports[p].Info.PortPhysicalState(); {
	case d.forAggregation(p):
		why = because("no aggregation node",
			"the port has no connector: it belongs to the aggregation node (SHARP) in the switch, which is off",
			"none; to use SHARP, enable it on the switch")
	case phys == smp.PhysPolling:
		why = because("no signal", "no cable, or the device at the other end is off (Polling)",
			"connect the cable at both ends, or power on the device at the other end")
	case phys == smp.PhysSleep:
		why = because("asleep", "the port is in Sleep and does not try to establish a link",
			"enable it with ibportstate LID PORT enable")
	case phys == smp.PhysDisabled:
		why = because("disabled",
			"the port was disabled by the operator, by babbling_port_policy, or because the link is sick (ibsmctl links sick)",
			"fix the problem, then run ibportstate LID PORT enable")
	case phys == smp.PhysTraining:
		why = because("training", "the port detects a signal, but link training does not complete",
			"replace the cable or the transceiver; check that both ends support a common width and speed")
	case phys == smp.PhysLinkErrorRecovery:
		why = because("link errors", "the link repeatedly recovers from errors",
			"clean or replace the cable or the transceiver")
	case phys == smp.PhysTest:
		why = because("under test", "the port is in a physical test",
			"end the test, or reset the port with ibportstate LID PORT reset")
	default:
		why = because("down", fmt.Sprintf("the port has no link, physical state %v", phys),
			"reset it with ibportstate LID PORT reset")
	}
	if neighbour, since := d.absentNeighbour(p); neighbour != "" {
		why = because("absent neighbour", fmt.Sprintf("%q, at the other end of the cable, has been absent since %s",
			neighbour, since.Format(time.DateTime)),
			"see the absent node: ibsmctl why NODE")
	} else if was := d.before(p); was != "" {
		why.Kind, why.Text = "link lost", was+"; now: "+why.Text
	}
	return append([]ctl.Reason{why}, d.findingReasons(p, d.at(p))...)
}

// forAggregation reports whether a port is for the aggregation node in its switch.
func (d *doctor) forAggregation(p topo.PortIdx) bool {
	node := &d.view.Topo.Nodes[d.view.Topo.Ports[p].Node]
	return node.Type == mad.Switch && cabling.WithoutConnector(node.Info.VendorID(), node.NumPorts,
		d.view.Topo.Ports[p].Num)
}

// before is the last peer of a port, "" if unknown.
func (d *doctor) before(p topo.PortIdx) string {
	if d.past == nil {
		return ""
	}
	l, lost := d.past.Link(d.endOf(p))
	if !lost {
		return ""
	}
	return fmt.Sprintf("it was linked to %s until %s", l.Name, l.Since.Format(time.DateTime))
}

// absentNeighbour is the node that a port was linked to last, if that is absent; "" if not.
func (d *doctor) absentNeighbour(p topo.PortIdx) (name string, since time.Time) {
	if d.past == nil {
		return "", since
	}
	l, lost := d.past.Link(d.endOf(p))
	if !lost {
		return "", since
	}
	gone, _ := d.past.Gone(func(g *history.GoneNode) bool { return g.GUID == l.Far.Node })
	return d.names.Of(gone.GUID, gone.Name), gone.Since
}

// endOf identifies a port in the history.
func (d *doctor) endOf(p topo.PortIdx) history.End {
	port := &d.view.Topo.Ports[p]
	return history.End{Node: d.view.Topo.Nodes[port.Node].GUID, Port: port.Num}
}

// alone are the reasons of a port with a link but without a known node behind it.
func (d *doctor) alone(p topo.PortIdx) []ctl.Reason {
	if why := d.findingReasons(p, d.at(p)); why != nil {
		if was := d.before(p); was != "" {
			why[0].Text += "; " + was
		}
		return why
	}
	if d.view.Topo.Ports[p].Shunned {
		return []ctl.Reason{because(finding.Incomplete.Name(), "the node behind the port was excluded from the subnet",
			"ibsmctl events shows the reason")}
	}
	return []ctl.Reason{because("new link", "the link is up, but the node behind it was not discovered yet",
		"run ibsmctl sweep; if the port stays in this state, restart the node behind it")}
}

// held are the reasons why a link with nodes at both ends does not carry data.
func (d *doctor) held(p topo.PortIdx) (why []ctl.Reason) {
	t := d.view.Topo
	port := &t.Ports[p]
	peer := port.Peer
	for _, f := range d.withoutRoutes() {
		why = append(why, reasonOf(f, ""))
	}
	if unresponsive, is := d.unresponsive(peer); is {
		why = append(why, unresponsive)
	}
	locked := d.locked(p)
	why = append(why, locked...)
	for _, at := range []topo.PortIdx{p, peer} {
		why = append(why, d.findingReasons(at, d.at(at))...)
		why = append(why, d.findingReasons(at, d.ofNode(at))...)
	}
	if far := &t.Ports[peer]; far.Info.PortState() == smp.PortDown {
		why = append(why,
			because(finding.OneSided.Name(), d.called(peer)+", at the other end, reports that it has no link",
				"reseat the cable, or reset one end with ibportstate LID PORT reset"))
	}
	if locked != nil {
		why = slices.DeleteFunc(why, func(r ctl.Reason) bool { return r.Kind == finding.NoAnswer.Name() })
	}
	why = append(why, d.mismatch(p)...)
	why = append(why, d.otherMaster(p)...)
	if len(why) == 0 {
		why = append(why,
			because("not yet", fmt.Sprintf("no problem is known: the link changed to %v after the last sweep read it",
				port.Info.PortState()),
				"run ibsmctl sweep; if the port stays in this state, see ibsmctl events"))
		if d.view.FindingsMore > 0 {
			why[0].Text += fmt.Sprintf("; %d further findings are not stored", d.view.FindingsMore)
		}
	}
	return unique(why)
}

// locked is the reason if an end has an M_Key different from the manager's, so that the
// manager can neither read nor change it.
func (d *doctor) locked(p topo.PortIdx) (why []ctl.Reason) {
	for _, at := range []topo.PortIdx{p, d.view.Topo.Ports[p].Peer} {
		info := &d.view.Topo.Ports[d.view.Topo.EndPort(at)].Info
		unanswered := slices.ContainsFunc(slices.Concat(d.at(at), d.ofNode(at)), func(f *finding.Finding) bool {
			return f.Kind == finding.NoAnswer
		})
		if unanswered && info.MKeyProtectBits() > 0 && info.MKey() == 0 {
			why = append(why,
				because("M_Key", d.called(at)+
					" is protected by an M_Key that differs from the manager's, so it does not answer Sets",
					"set m_key to the port's key, or reset the node to clear the key"))
		}
	}
	return why
}

// mismatch is the reason if the ends of an ARMED link have different values.
func (d *doctor) mismatch(p topo.PortIdx) (why []ctl.Reason) {
	a := &d.view.Topo.Ports[p]
	b := &d.view.Topo.Ports[a.Peer]
	if min(a.Info.PortState(), b.Info.PortState()) < smp.PortArmed {
		return nil // the values are set with the transition to ARMED
	}
	const do = "ibsmctl events shows the end that does not accept the value; newer firmware may help"
	if x, y := a.Info.NeighborMTU().Bytes(), b.Info.NeighborMTU().Bytes(); x != y {
		why = append(why,
			because("MTU mismatch", fmt.Sprintf("%s has an MTU of %d, but %s has %d", d.called(p), x, d.called(a.Peer),
				y), do))
	}
	if x, y := a.Info.OperationalVLs(), b.Info.OperationalVLs(); x != y {
		why = append(why,
			because("VL mismatch", fmt.Sprintf("%s has OperationalVLs code %d, but %s has %d", d.called(p), x,
				d.called(a.Peer), y), do))
	}
	return why
}

// otherMaster is the reason if an end names another subnet manager.
func (d *doctor) otherMaster(p topo.PortIdx) []ctl.Reason {
	for _, at := range []topo.PortIdx{p, d.view.Topo.Ports[p].Peer} {
		lid := d.view.Topo.Ports[d.view.Topo.EndPort(at)].Info.MasterSMLID()
		for _, sm := range d.view.SMs[min(1, len(d.view.SMs)):] {
			if sm.LID == lid && lid != 0 && smp.SMState(sm.State) == smp.Master {
				return []ctl.Reason{
					because("another manager's",
						fmt.Sprintf("%s is configured by another master, the subnet manager %v at LID %d", d.called(at),
							sm.GUID, lid),
						"see ibsmctl sms: of two masters the one with the higher priority, or else the lower GUID, should take over")}
			}
		}
	}
	return nil
}

// remarks are remarks about an Active port.
func (d *doctor) remarks(p topo.PortIdx) []ctl.Reason {
	t := d.view.Topo
	port := &t.Ports[p]
	why := append(d.findingReasons(p, d.at(p)), d.keyRemarks(p)...)
	why = append(why, d.notJoined(p)...)
	for _, f := range d.ofNode(p) {
		if f.Kind == finding.NotAdaptive || f.Kind == finding.PrivateTables {
			why = append(why, d.findingReasons(p, []*finding.Finding{f})...)
		}
	}
	if port.Num == 0 || port.Peer == topo.None {
		return why
	}
	far := &t.Ports[port.Peer]
	for _, f := range d.at(port.Peer) {
		if f.Kind == finding.UnenforcedPort {
			why = append(why, d.findingReasons(port.Peer, []*finding.Finding{f})...)
		}
	}
	why = append(append(why, d.avoided(p)...), d.sickLink(p)...)
	if best, is := (port.Info.LinkWidthEnabled() & far.Info.LinkWidthEnabled()).Widest(),
		port.Info.LinkWidthActive(); is.Lanes() < best.Lanes() {
		why = append(why,
			because("narrow", fmt.Sprintf("the link width is %v, although both ends support %v", is, best),
				"reseat or replace the cable, because some of its lanes do not work"))
	}
	return append(why, d.mismatch(p)...)
}

// avoided is the reason why routes avoid a link, and by whom that is wanted.
func (d *doctor) avoided(p topo.PortIdx) (why []ctl.Reason) {
	t := d.view.Topo
	unhealthy := t.Ports[p].Unhealthy || t.Ports[t.Ports[p].Peer].Unhealthy
	for i := range d.view.Drained {
		o := &d.view.Drained[i]
		n := t.FindNode(o.Switch)
		if n == topo.None || !slices.ContainsFunc([]topo.PortIdx{p, t.Ports[p].Peer}, func(e topo.PortIdx) bool {
			return t.Ports[e].Node == n && (o.Port == 0 || o.Port == t.Ports[e].Num)
		}) {
			continue
		}
		what := "routes between switches avoid the link"
		if o.State == view.DrainNeeded {
			what = "routes that should avoid the link still use it"
		} else if !unhealthy {
			continue // the one that a drained switch keeps
		}
		if o.By == view.BySickLinks {
			why = append(why, because("avoided", what+", because it is sick and out of use",
				"repair the link, then run ibsmctl links heal; ibsmctl links sick shows since when and until when it is out of use"))
		} else {
			why = append(why, because("avoided", what+", because the operator drained it",
				"run ibsmctl undrain if it need not be unplugged"))
		}
	}
	if why == nil && unhealthy {
		why = append(why, because("avoided", "routes between switches avoid the link, because it is unhealthy",
			"ibsmctl events shows its traps; replace the cable"))
	}
	return why
}

// sickLink is what either end of the link of a port has counted beyond a limit.
func (d *doctor) sickLink(p topo.PortIdx) (why []ctl.Reason) {
	for _, f := range d.sick[perf.KeyOf(d.view.Topo, p)] {
		if at := f.Port.In(d.view.Topo); at != topo.None {
			why = append(why,
				because("sick link", fmt.Sprintf("%s: %s %d, more than %d in %v (rule %s)", d.called(at),
					strings.Join(f.Rule.Measures(), ", "), f.Counted, f.Most, f.Rule.Window, f.Rule.Name),
					"repair the link as described in docs/health.md, then run ibsmctl links heal"))
		}
	}
	return why
}

// notJoined are the groups that a port could not join.
func (d *doctor) notJoined(p topo.EndIdx) (why []ctl.Reason) {
	if d.refusals == nil || d.view.Topo.EndPort(p) != p {
		return nil
	}
	for _, r := range d.refusals() {
		if r.Port != d.view.Topo.EndGUID(p) {
			continue
		}
		do := "correct the request of the host"
		switch g, exists := d.group(r.MGID); {
		case exists && g.WellKnown:
			do = "make the port support the MTU and rate of the group, or lower the values of its partition (rate=, mtu=) in the partition file. IPoIB has no carrier without its broadcast group"
		case exists:
			do = "make the port support the MTU and rate of the group, or lower them where the group is created"
		}
		why = append(why,
			because("join refused",
				fmt.Sprintf("the request to join multicast group %v was rejected %s, last at %s: %s",
					netip.AddrFrom16(r.MGID), times(r.Count), r.Last.Format(time.DateTime), r.Cause), do))
	}
	return why
}

// group is a registered multicast group.
func (d *doctor) group(mgid mad.GID) (g registry.Group, exists bool) {
	if d.registered == nil {
		return g, false
	}
	return d.registered.Group(mgid)
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// findingReasons are the findings at a port, or at its node, as reasons.
func (d *doctor) findingReasons(p topo.PortIdx, findings []*finding.Finding) (why []ctl.Reason) {
	for _, f := range findings {
		if f.Kind == finding.DrainEmpty || f.Kind == finding.DrainNeeded {
			continue // avoided explains it, at both ends
		}
		at := p
		if f.Port == 0 {
			at = d.view.Topo.Nodes[d.view.Topo.Ports[p].Node].First
		}
		why = append(why, reasonOf(f, d.called(at)+": "))
	}
	return why
}

// reasonOf is a finding as a reason, with its place before the text.
func reasonOf(f *finding.Finding, where string) ctl.Reason {
	return ctl.Reason{Kind: f.Kind.Name(), Text: where + f.String(), Do: f.Kind.Remedy()}
}

// unique removes duplicate reasons.
func unique(why []ctl.Reason) (once []ctl.Reason) {
	for _, r := range why {
		if !slices.Contains(once, r) {
			once = append(once, r)
		}
	}
	return once
}
