package qos

import (
	"fmt"
	"strings"

	"ibsm/mad"
)

// maxListed is how many entries of a list a text has.
const maxListed = 8

// some joins entries, and counts those that there is no room for.
func some(entries []string, between string) string {
	if rest := len(entries) - maxListed; rest > 0 {
		entries = append(entries[:maxListed:maxListed], fmt.Sprintf("%d more", rest))
	}
	return strings.Join(entries, between)
}

// text is the ranges in a format for numbers.
func (r Ranges) text(format string) string {
	var entries []string
	for _, n := range r {
		entry := fmt.Sprintf(format, n.From)
		if n.To != n.From {
			entry += "-" + fmt.Sprintf(format, n.To)
		}
		entries = append(entries, entry)
	}
	return some(entries, ",")
}

// Conditions is what a rule asks for, in words.
func (r *Rule) Conditions() string {
	var all []string
	groups := func(word string, groups []*Group) {
		var names []string
		for _, g := range groups {
			names = append(names, g.Name)
		}
		if names != nil {
			all = append(all, word+some(names, " or "))
		}
	}
	groups("from ", r.Sources)
	groups("to ", r.Destinations)
	if r.ServiceIDs != nil {
		all = append(all, "service ID "+r.ServiceIDs.text("0x%x"))
	}
	if r.Classes != nil {
		all = append(all, "QoS class "+r.Classes.text("%d"))
	}
	if r.PKeys != nil {
		all = append(all, "P_Key "+r.PKeys.text("0x%04x"))
	}
	if all == nil {
		return "everything"
	}
	return strings.Join(all, ", ")
}

// Limits is what a level gives to a path, in words.
func (l *Level) Limits() string {
	text := fmt.Sprintf("SL %d", l.SL)
	if l.MTU != 0 {
		text += fmt.Sprintf(", MTU at most %d", l.MTU.Bytes())
	}
	if l.Rate != 0 {
		text += fmt.Sprintf(", at most %g Gb/s", l.Rate.Gbps())
	}
	if l.PacketLife != 0 {
		text += fmt.Sprintf(", lifetime %d", l.PacketLife.Or(0))
	}
	if l.PKeys != nil {
		text += ", P_Key " + l.PKeys.text("0x%04x")
	}
	if l.PathBits != nil {
		text += ", path bits " + l.PathBits.text("%d")
	}
	return text
}

// Ports is what a group lists, in words.
func (g *Group) Ports() string {
	var all []string
	if g.GUIDs != nil {
		all = append(all, "port GUID "+g.GUIDs.text("0x%016x"))
	}
	for _, n := range g.Names {
		all = append(all, fmt.Sprintf("%s/P%d", n.Node, n.Port))
	}
	if g.PKeys != nil {
		all = append(all, "P_Key "+g.PKeys.text("0x%04x"))
	}
	for _, p := range g.Partitions {
		all = append(all, "partition "+p.Text)
	}
	for _, t := range []struct {
		typ  mad.NodeType
		name string
	}{{mad.CA, "CA"}, {mad.Switch, "SWITCH"}, {mad.Router, "ROUTER"}} {
		if g.Types.Has(t.typ) {
			all = append(all, t.name)
		}
	}
	if g.Self {
		all = append(all, "SELF")
	}
	return some(all, ", ")
}
