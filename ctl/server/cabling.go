package server

import (
	"slices"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/cabling"
	"ibsm/view"
)

// Cabling is how the cables that the last heavy sweep found differ from the plan.
func (s *subnet) Cabling() *ctl.Cabling {
	v := s.view.Cabling
	out := &ctl.Cabling{Seen: "no plan: topo_config_file names no file", Findings: []ctl.CablingFinding{}, HeldBack: []ctl.HeldCable{}}
	if v == nil {
		return out
	}
	if v.Comparison != nil {
		out = ctl.CablingOf(v.Comparison)
		out.Seen, out.Enforced = cablingSeen(v), v.Enforced
	}
	for i := range v.Held {
		out.HeldBack = append(out.HeldBack, ctl.HeldCable{Cable: ctl.CableOf(v.Held[i].Link), Switch: v.Held[i].Switch})
	}
	return out
}

// cablingSeen is a sentence.
func cablingSeen(v *view.Cabling) string {
	if v.Comparison == nil {
		return "no plan"
	}
	text := v.Comparison.String()
	if v.Enforced && !v.Applies() {
		text += "; too few match for the plan to be enforced"
	}
	return text
}

// cablingStatus is a summary; nil if there is nothing to say.
func cablingStatus(v *view.Cabling) *ctl.CablingStatus {
	if v == nil || v.Comparison == nil && len(v.Held) == 0 {
		return nil
	}
	out := &ctl.CablingStatus{Seen: cablingSeen(v), HeldBack: len(v.Held)}
	if v.Comparison != nil {
		out.Findings = len(v.Findings) + v.More
	}
	return out
}

// cablingReasons are the differences from the plan that concern a port.
func (d *doctor) cablingReasons(at end) (why []ctl.Reason) {
	v := d.view.Cabling
	if v == nil || v.Comparison == nil {
		return nil
	}
	for _, i := range d.cabling[at] {
		why = append(why, notAsPlanned(&v.Findings[i]))
	}
	return why
}

// cablingByPort are the findings about each port, by index.
func cablingByPort(v *view.Cabling) map[end][]int {
	by := map[end][]int{}
	if v == nil || v.Comparison == nil {
		return by
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		places := slices.Clone(f.Ports)
		for _, l := range f.Planned {
			places = append(places, l.Ends[:]...)
		}
		for _, l := range f.Present {
			places = append(places, l.Ends[:]...)
		}
		for _, p := range places {
			at := end{p.GUID, p.Port}
			if all := by[at]; len(all) == 0 || all[len(all)-1] != i {
				by[at] = append(all, i)
			}
		}
	}
	return by
}

// heldDevice is the diagnosis of a device that is not in the subnet because its cables are held back; nil if there is none of the name or GUID.
func (d *doctor) heldDevice(name string, guid mad.GUID) *ctl.Diagnosis {
	v := d.view.Cabling
	if v == nil {
		return nil
	}
	var found *ctl.Diagnosis
	for i := range v.Held {
		for _, p := range v.Held[i].Ends {
			if !isPlace(p, name, guid) || d.view.Topo.FindNode(p.GUID) != topo.None {
				continue
			}
			if found == nil {
				found = &ctl.Diagnosis{Port: endOfPlace(p), State: "held back"}
			}
			found.Reasons = append(found.Reasons, because(view.HeldBack.String(), v.Held[i].String(), remedies[view.HeldBack]))
		}
	}
	return found
}

// missingDevice is the diagnosis of a device of the plan that is not there; nil if there is none of the name or GUID.
func (d *doctor) missingDevice(name string, guid mad.GUID) *ctl.Diagnosis {
	v := d.view.Cabling
	if v == nil || v.Comparison == nil {
		return nil
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; (f.Kind == cabling.MissingDevice || f.Kind == cabling.Replaced) && isPlace(f.Devices[0], name, guid) {
			return &ctl.Diagnosis{Port: endOfPlace(f.Devices[0]), State: ctl.Absent, Reasons: []ctl.Reason{notAsPlanned(f)}}
		}
	}
	return nil
}

// isPlace reports whether a device has a name, which may be that of its host, or a GUID.
func isPlace(p cabling.Place, name string, guid mad.GUID) bool {
	name = strings.TrimSpace(name)
	return guid != 0 && p.GUID == guid || name != "" && (strings.TrimSpace(p.Name) == name || ctl.HostName(p.Name) == name)
}

func endOfPlace(p cabling.Place) ctl.End {
	e := ctl.End{Node: p.GUID.String(), Desc: p.Name}
	if p.Type != 0 {
		e.Type = p.Type.String()
	}
	return e
}

// notAsPlanned is a finding as a reason.
func notAsPlanned(f *cabling.Finding) ctl.Reason {
	return because("not as planned", f.String(), "correct the cable, or the plan (topo_config_file); ibsmctl topology check shows all differences")
}
