package migrate

import (
	"fmt"
	"strings"
)

// Lines are what runs on a host and what it needs, for people.
func (h *Host) Lines() (lines []string) {
	h.assignUnits()
	all := h.Managers()
	for i := range all {
		m := &all[i]
		lines = append(lines, fmt.Sprintf("OpenSM: process %d, %s, %s", m.PID, startedBy(m.Process), portText(m.GUID)),
			"  command: "+strings.Join(m.Args, " "))
		lines = append(lines, m.needs(all)...)
	}
	if len(all) == 0 {
		lines = append(lines, "OpenSM does not run on this host")
	}
	for _, p := range h.running("ibsm") {
		lines = append(lines, fmt.Sprintf("ibsm: process %d, %s", p.PID, startedBy(p)))
	}
	for i := range h.Units {
		u := &h.Units[i]
		if !u.there() || !h.runs(u, "opensm") && !h.runs(u, "ibsm") {
			continue
		}
		text := fmt.Sprintf("unit %s: %s", u.Name, u.Active)
		if u.Enabled != "" {
			text += ", " + u.Enabled
		}
		lines = append(lines, text)
	}
	if u := h.unit(ibsmUnit); u == nil || !u.there() {
		lines = append(lines, "unit "+ibsmUnit+": not installed")
	}
	return lines
}

func startedBy(p Process) string {
	switch {
	case p.Unit != "":
		return "of " + p.Unit
	case p.Within != "":
		return "started by hand, in the control group of " + p.Within
	}
	return "started by hand"
}

// needs are the settings that a manager lacks, and what that costs.
func (m *OpenSM) needs(all []OpenSM) (lines []string) {
	if m.Config == "" {
		lines = append(lines, fmt.Sprintf("  configuration: none; %s does not exist", m.Usual))
	} else {
		lines = append(lines, "  configuration: "+m.Config)
	}
	if shared(m, all) {
		return append(lines, "  registrations: not carried over: several managers write "+m.SADump+
			"; sa_db_dump, sa_db_file and no_clients_rereg must not be set")
	}
	var missing []string
	for _, s := range m.missing() {
		missing = append(missing, s.Key+" "+s.Value)
	}
	switch {
	case missing == nil:
		lines = append(lines, "  registrations: in "+m.SADump)
	default:
		lines = append(lines, "  registrations: migrate to adds to the configuration: "+strings.Join(missing, ", "))
	}
	return lines
}
