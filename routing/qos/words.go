package qos

import (
	"fmt"
	"strings"

	"ibsm/conf/policyfile"
	"ibsm/routing/portgroups"
)

// Conditions is what a rule asks for, in words.
func (r *Rule) Conditions() string {
	var all []string
	groups := func(word string, groups []*portgroups.Group) {
		var names []string
		for _, g := range groups {
			names = append(names, g.Name)
		}
		if names != nil {
			all = append(all, word+policyfile.Some(names, len(names), " or "))
		}
	}
	groups("from ", r.Sources)
	groups("to ", r.Destinations)
	if r.ServiceIDs != nil {
		all = append(all, "service ID "+r.ServiceIDs.Text("0x%x"))
	}
	if r.Classes != nil {
		all = append(all, "QoS class "+r.Classes.Text("%d"))
	}
	if r.PKeys != nil {
		all = append(all, "P_Key "+r.PKeys.Text("0x%04x"))
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
		text += ", P_Key " + l.PKeys.Text("0x%04x")
	}
	if l.PathBits != nil {
		text += ", path bits " + l.PathBits.Text("%d")
	}
	return text
}
