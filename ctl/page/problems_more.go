package page

import (
	"fmt"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/plural"
)

// fromLinks finds links that are out of use, and congestion. Diagnoses have the sick ones that are in use.
func (f *finder) fromLinks() {
	if f.sick != nil {
		for _, l := range f.sick.Excluded {
			p := ofPort(l.PortOf, "out of use", "ibsmctl links sick")
			p.Since, p.Text = l.Since, "the link is out of use ("+l.Action+"): "+l.State
			if p.Hurts == Slowed {
				p.Hurts = CutOff
			}
			f.add(p)
		}
	}
	if f.congestion == nil {
		return
	}
	for _, c := range f.congestion.Open {
		p := ofPort(c.Root, "congestion", "ibsmctl counters congestion")
		p.Hurts, p.Hosts, p.Since = Slowed, c.Ports, c.Since
		p.Text = fmt.Sprintf("%s: %s for it", c.Cause, plural.Of(c.Ports, "port")+" waited")
		f.add(p)
	}
}

// ofPort is a problem of a port and its cable: it slows a host, or the cable is one of several between switches.
func ofPort(at ctl.PortOf, kind, shown string) Problem {
	e := ctl.End{Node: at.Node, Desc: at.Desc, Port: at.Port}
	p := Problem{Hurts: Spare, Kind: kind, Where: whereAt(e), Shown: shown, Node: at.Node, Port: at.Port}
	if at.Peer != nil {
		p.Where += " to " + whereAt(*at.Peer)
		if at.Peer.Type != "switch" {
			p.Hurts, p.Hosts = Slowed, 1
		}
	}
	return p
}

// fromCabling finds differences from the cabling plan.
func (f *finder) fromCabling() {
	c := f.cabling
	if c == nil || !c.Plan {
		return
	}
	if c.Other {
		f.add(Problem{Hurts: Remark, Kind: "not as planned", Where: "the subnet", Text: c.Seen,
			Do: "set topo_config_file to the plan of this subnet", Shown: "ibsmctl topology check"})
	}
	for _, d := range c.Findings {
		p := Problem{Hurts: Spare, Kind: "not as planned", Where: d.Kind, Text: d.Text,
			Do: "correct the cable, or the plan", Shown: "ibsmctl topology check"}
		for _, ends := range [][]ctl.CableEnd{d.Devices, d.Ports, cableEnds(d.Present), cableEnds(d.Planned)} {
			if p.Node == "" && len(ends) > 0 {
				e := ends[0]
				p.Node, p.Port, p.Where = e.Node, e.Port, whereAt(ctl.End{Desc: e.Desc, Port: e.Port})
			}
		}
		f.add(p)
	}
	for _, h := range c.HeldBack {
		from, to := h.From, h.To
		f.add(Problem{Hurts: CutOff, Kind: "held back", Where: whereAt(ctl.End{Desc: from.Desc, Port: from.Port}),
			Text: fmt.Sprintf("the cable to %s is not in the plan, and is not used",
				whereAt(ctl.End{Desc: to.Desc, Port: to.Port})),
			Do: "correct the cable, or the plan", Shown: "ibsmctl topology check", Node: from.Node, Port: from.Port})
	}
}

func cableEnds(cables []ctl.Cable) (ends []ctl.CableEnd) {
	for _, c := range cables {
		ends = append(ends, c.From)
	}
	return ends
}

// fromPartitions finds members that do not have their P_Key.
func (f *finder) fromPartitions() {
	for _, p := range f.partitions {
		failed, pending := p.States["failed"], p.States["pending"]
		shown := Problem{Where: "partition " + p.Name, Kind: "partition", Partition: p.Name, Since: p.Since,
			Shown: "ibsmctl partitions show " + quoted(p.Name)}
		switch {
		case p.Held != "":
			shown.Hurts, shown.Text = CutOff, "it is not in force: "+p.Held
		case failed > 0:
			shown.Hurts, shown.Hosts = CutOff, failed
			shown.Text = plural.Of(failed, "member") + " cannot have the P_Key " + p.PKey
			if pending > 0 {
				shown.Text += ", and " + plural.Of(pending, "member") + " wait for it"
			}
		case pending > 0 && !p.Ready:
			shown.Hurts, shown.Hosts = CutOff, pending
			shown.Text = plural.Of(pending, "member") + " wait for the P_Key " + p.PKey
		case pending > 0:
			shown.Hurts = Remark
			shown.Text = plural.Of(pending, "member") + " have not been seen"
		default:
			continue
		}
		f.add(shown)
	}
}

// quoted is a text as one word of a shell.
func quoted(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// fromSecurity finds rules that fail.
func (f *finder) fromSecurity() {
	if f.security == nil {
		return
	}
	for _, r := range f.security.Rules {
		if r.State != ctl.RuleFails {
			continue
		}
		p := Problem{Hurts: Risk, Kind: "security", Where: "rule " + r.Rule, Text: r.Text, Do: r.Do, Shown: "ibsmctl security"}
		if len(r.Ports) > 0 {
			p.Node, p.Port = r.Ports[0].Node, r.Ports[0].Port
			if len(r.Ports) == 1 && r.More == 0 {
				p.Where += " at " + whereAt(ctl.End{Desc: r.Ports[0].Desc, Port: r.Ports[0].Port})
			}
		}
		f.add(p)
	}
}

// longLag is how long a mirror may be incomplete before that is a problem.
const longLag = 10.0 // seconds

// fromManagers finds what is wrong with standbys.
func (f *finder) fromManagers() {
	st := f.status
	if st.State != "MASTER" {
		return
	}
	standbys := 0
	for i, m := range st.SMs {
		if i == 0 {
			continue
		}
		p := Problem{Hurts: Risk, Kind: "mirror", Where: "manager " + m.GUID, Shown: "ibsmctl sms", Node: m.GUID}
		switch {
		case m.Ignored:
			p.Kind, p.Text = "manager ignored", "it has another sm_key or keys_file, or is not in allowed_sm_guids"
		case m.Mirrors && m.Lag > longLag && !m.Reads:
			p.Text = fmt.Sprintf("its mirror has been incomplete for %v: registrations would be lost in a takeover",
				(time.Duration(m.Lag) * time.Second).String())
			p.Do = "see the log of that manager"
		case m.Incomplete != "":
			p.Text = "its mirror is incomplete: " + m.Incomplete
		case !m.Mirrors && m.NextMaster:
			p.Text, p.Do = "the next master does not mirror registrations: hosts must register again after a takeover",
				"run ibsm there as well, and give both the same secret: keys_file, sm_key or m_key"
		default:
			standbys++
			continue
		}
		standbys++
		f.add(p)
	}
	if standbys == 0 {
		f.add(Problem{Hurts: Remark, Kind: "no standby", Where: "the subnet",
			Text: "no other manager would take over if this one ended", Do: "run a second manager", Shown: "ibsmctl sms"})
	}
	if m := st.MirroredSettings; m != nil && len(m.Differ) > 0 {
		f.add(Problem{Hurts: Remark, Kind: "settings differ", Where: "the subnet",
			Text: "settings of " + m.Of + " are in force that differ from this manager's own: " + strings.Join(m.Differ, ", "),
			Do:   "give all managers the same files", Shown: "ibsmctl status"})
	}
}
