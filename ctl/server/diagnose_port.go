package server

import (
	"fmt"
	"slices"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/history"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/view"
)

// reasons are those for which a port is not Active; of one that is, remarks.
func (d *doctor) reasons(p topo.PortIdx) []ctl.Reason {
	t := d.view.Topo
	port := &t.Ports[p]
	if why, silent := d.silent(p); silent {
		return []ctl.Reason{why}
	}
	switch state := port.Info.PortState(); {
	case !port.Seen:
		return []ctl.Reason{because("unknown", "the port's PortInfo could not be read", "see ibsmctl events for what it did not answer")}
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

// silent is the reason where the port's node does not answer.
func (d *doctor) silent(p topo.PortIdx) (why ctl.Reason, is bool) {
	node := &d.view.Topo.Nodes[d.view.Topo.Ports[p].Node]
	if node.Missed == 0 {
		return why, false
	}
	return ctl.Reason{
		Kind: "no answer",
		Text: fmt.Sprintf("%q has not answered for %d sweeps; it keeps its routes for %d", node.Desc.String(), node.Missed, topo.MaxMissed),
		Do:   "see whether its firmware hangs and reset it; an M_Key that is not the manager's (m_key) has the same effect",
	}, true
}

// down are the reasons of a port without a link.
func (d *doctor) down(p topo.PortIdx) []ctl.Reason {
	var why ctl.Reason
	switch phys := d.view.Topo.Ports[p].Info.PortPhysicalState(); phys {
	case smp.PhysPolling:
		why = because("no signal", "no cable, or nothing that is switched on at its other end (Polling)",
			"plug the cable in at both ends, or start what is there")
	case smp.PhysSleep:
		why = because("asleep", "the port sleeps and does not look for a link", "wake it with ibportstate, as for a disabled port")
	case smp.PhysDisabled:
		why = because("disabled", "the port was disabled: by hand, or by babbling_port_policy",
			"ibportstate LID PORT enable, when what it was disabled for is mended")
	case smp.PhysTraining:
		why = because("training", "the port sees a signal, but no link comes of it",
			"replace the cable or the transceiver; see that both ends know a common width and speed")
	case smp.PhysLinkErrorRecovery:
		why = because("link errors", "the link recovers from errors again and again", "clean or replace the cable or the transceiver")
	case smp.PhysTest:
		why = because("under test", "the port is in a physical test", "end the test, or reset the port with ibportstate")
	default:
		why = because("down", fmt.Sprintf("the port has no link, physical state %v", phys), "reset it with ibportstate LID PORT reset")
	}
	if was := d.before(p); was != "" {
		why.Kind, why.Text = "link lost", was+"; now: "+why.Text
	}
	return append([]ctl.Reason{why}, d.told(p, d.at(p))...)
}

// before is what a port was linked to, "" where that is not known.
func (d *doctor) before(p topo.PortIdx) string {
	if d.past == nil {
		return ""
	}
	port := &d.view.Topo.Ports[p]
	name, since, lost := d.past.Link(history.End{Node: d.view.Topo.Nodes[port.Node].GUID, Port: port.Num})
	if !lost {
		return ""
	}
	return fmt.Sprintf("it was linked to %s until %s", name, since.Format(time.DateTime))
}

// alone are the reasons of a port with a link behind which no node is known.
func (d *doctor) alone(p topo.PortIdx) []ctl.Reason {
	if why := d.told(p, d.at(p)); why != nil {
		if was := d.before(p); was != "" {
			why[0].Text += "; " + was
		}
		return why
	}
	if d.view.Topo.Ports[p].Shunned {
		return []ctl.Reason{because(view.LeftOut.String(), "what answers behind the port has been left out of the subnet",
			"ibsmctl events tells what was wrong with it")}
	}
	return []ctl.Reason{because("new link", "the link is up, but what is behind it was not found yet",
		"ibsmctl sweep looks again; if this lasts, restart what is behind the port")}
}

// held are the reasons for which a link with a node at both ends does not carry data.
func (d *doctor) held(p topo.PortIdx) (why []ctl.Reason) {
	t := d.view.Topo
	port := &t.Ports[p]
	peer := port.Peer
	for _, f := range d.faults[end{}] {
		why = append(why, reasonOf(f, ""))
	}
	if silent, is := d.silent(peer); is {
		why = append(why, silent)
	}
	locked := d.locked(p)
	why = append(why, locked...)
	for _, at := range []topo.PortIdx{p, peer} {
		why = append(why, d.told(at, d.at(at))...)
		why = append(why, d.told(at, d.ofNode(at))...)
	}
	if far := &t.Ports[peer]; far.Info.PortState() == smp.PortDown {
		why = append(why, because(view.OneSided.String(), d.called(peer)+", at its other end, says that it has no link",
			"replug the cable, or reset one end with ibportstate LID PORT reset"))
	}
	if locked != nil {
		why = slices.DeleteFunc(why, func(r ctl.Reason) bool { return r.Kind == view.NoAnswer.String() })
	}
	why = append(why, d.mismatch(p)...)
	why = append(why, d.ruledByAnother(p)...)
	if len(why) == 0 {
		why = append(why, because("not yet", fmt.Sprintf("nothing is known to be wrong: the link came to %v after the last sweep looked at it", port.Info.PortState()),
			"ibsmctl sweep; if that changes nothing, ibsmctl events"))
		if d.view.FaultsMore > 0 {
			why[0].Text += fmt.Sprintf("; but %d further faults are not kept", d.view.FaultsMore)
		}
	}
	return unique(why)
}

// locked is the reason where an end has an M_Key that is not the manager's, which then
// neither sees it nor may change anything.
func (d *doctor) locked(p topo.PortIdx) (why []ctl.Reason) {
	for _, at := range []topo.PortIdx{p, d.view.Topo.Ports[p].Peer} {
		info := &d.view.Topo.Ports[d.view.Topo.EndPort(at)].Info
		unanswered := slices.ContainsFunc(slices.Concat(d.at(at), d.ofNode(at)), func(f *view.Fault) bool { return f.Kind == view.NoAnswer })
		if unanswered && info.MKeyProtectBits() > 0 && info.MKey() == 0 {
			why = append(why, because("M_Key", d.called(at)+" is protected by an M_Key that is not the manager's: it leaves what is written unanswered",
				"set m_key to the key that the port has, or reset the node so that it forgets it"))
		}
	}
	return why
}

// mismatch is the reason where the ends of a link that is armed disagree.
func (d *doctor) mismatch(p topo.PortIdx) (why []ctl.Reason) {
	a := &d.view.Topo.Ports[p]
	b := &d.view.Topo.Ports[a.Peer]
	if min(a.Info.PortState(), b.Info.PortState()) < smp.PortArmed {
		return nil // they are told with the step to ARMED
	}
	const do = "see which end does not take what it is told: ibsmctl events; newer firmware may"
	if x, y := a.Info.NeighborMTU().Bytes(), b.Info.NeighborMTU().Bytes(); x != y {
		why = append(why, because("MTU mismatch", fmt.Sprintf("%s has an MTU of %d, %s of %d", d.called(p), x, d.called(a.Peer), y), do))
	}
	if x, y := a.Info.OperationalVLs(), b.Info.OperationalVLs(); x != y {
		why = append(why, because("VL mismatch", fmt.Sprintf("%s uses VLs as code %d, %s as code %d", d.called(p), x, d.called(a.Peer), y), do))
	}
	return why
}

// ruledByAnother is the reason where an end names another subnet manager.
func (d *doctor) ruledByAnother(p topo.PortIdx) []ctl.Reason {
	for _, at := range []topo.PortIdx{p, d.view.Topo.Ports[p].Peer} {
		lid := d.view.Topo.Ports[d.view.Topo.EndPort(at)].Info.MasterSMLID()
		for _, sm := range d.view.SMs[min(1, len(d.view.SMs)):] {
			if sm.LID == lid && lid != 0 && smp.SMState(sm.State) == smp.Master {
				return []ctl.Reason{because("another manager's", fmt.Sprintf("%s belongs to the subnet manager %v at LID %d, which is master too", d.called(at), sm.GUID, lid),
					"two masters settle by priority and GUID: ibsmctl sms")}
			}
		}
	}
	return nil
}

// remarks are what is noteworthy about a port that is Active.
func (d *doctor) remarks(p topo.PortIdx) []ctl.Reason {
	t := d.view.Topo
	port := &t.Ports[p]
	why := d.told(p, d.at(p))
	if port.Num == 0 || port.Peer == topo.None {
		return why
	}
	far := &t.Ports[port.Peer]
	if port.Unhealthy || far.Unhealthy {
		why = append(why, because("avoided", "routes between switches avoid the link: it is unhealthy",
			"ibsmctl events tells which traps it sent; replace the cable"))
	}
	if best, is := widest(port.Info.LinkWidthEnabled()&far.Info.LinkWidthEnabled()), port.Info.LinkWidthActive(); is.Lanes() < best.Lanes() {
		why = append(why, because("narrow", fmt.Sprintf("the link runs at %v though both ends may run at %v", is, best),
			"reseat or replace the cable: some of its lanes do not work"))
	}
	return append(why, d.mismatch(p)...)
}

// widest is the widest of a set of widths.
func widest(set mad.LinkWidth) (best mad.LinkWidth) {
	for bit := mad.Width1x; bit <= mad.Width2x; bit <<= 1 {
		if set&bit != 0 && bit.Lanes() > best.Lanes() {
			best = bit
		}
	}
	return best
}

// told are the faults of a port, or of its node, as reasons.
func (d *doctor) told(p topo.PortIdx, faults []*view.Fault) (why []ctl.Reason) {
	for _, f := range faults {
		at := p
		if f.Port == 0 {
			at = d.view.Topo.Nodes[d.view.Topo.Ports[p].Node].First
		}
		why = append(why, reasonOf(f, d.called(at)+": "))
	}
	return why
}

// remedies are what to do about faults.
var remedies = map[view.FaultKind]string{
	view.NoAnswer:  "see whether the node hangs and reset it; an M_Key that is not the manager's (m_key) has the same effect",
	view.Refused:   "newer firmware may take it; the manager goes on trying with each sweep",
	view.NotKept:   "newer firmware may keep it; the manager does not insist",
	view.Unrouted:  "ibsmctl events tells which block of its table the switch does not take; reset the switch",
	view.Excluded:  "see what the port answers to its P_Keys: ibsmctl events; partition_enforce and the size of its table matter",
	view.WentDown:  "look at the cable: the link does not stay up",
	view.Mute:      "see whether what is behind the port hangs and reset it; an M_Key of protection level 2 or 3 that is not the manager's has the same effect",
	view.LeftOut:   "reset what is behind the port; ibsmctl events tells what it answered",
	view.Duplicate: "give one of the two another GUID (firmware tools), or take it out of the subnet",
	view.Looped:    "take the loopback plug or cable out",
	view.OneSided:  "replug the cable, or reset one end with ibportstate LID PORT reset",
	view.NoLID:     "lower lmc, or split the subnet: its LIDs are used up",
	view.NoRoutes:  "mend what the text says: until then links stay as they are",
}

// reasonOf is a fault as a reason. Findings say themselves where they belong.
func reasonOf(f *view.Fault, where string) ctl.Reason {
	switch f.Kind {
	case view.Mute, view.LeftOut, view.Duplicate, view.Looped, view.OneSided:
		where = ""
	}
	return ctl.Reason{Kind: f.Kind.String(), Text: where + f.Text, Do: remedies[f.Kind]}
}

// unique are the reasons each once.
func unique(why []ctl.Reason) (once []ctl.Reason) {
	for _, r := range why {
		if !slices.Contains(once, r) {
			once = append(once, r)
		}
	}
	return once
}
