package server

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/ctl"
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/cabling"
	"ibsm/view"
)

// Cabling is how the cables that the last heavy sweep found differ from the plan.
func (s *subnet) Cabling() *ctl.Cabling {
	v := s.view.Cabling
	out := &ctl.Cabling{Seen: "no plan: topo_config_file is not set", Findings: []ctl.CablingFinding{},
		HeldBack: []ctl.HeldCable{}}
	if v == nil {
		return out
	}
	if v.Comparison != nil {
		out = ctl.CablingOf(v.Comparison)
		out.Enforced = v.Enforced
	}
	if v.Comparison != nil || v.CutOff > 0 {
		out.Seen, out.CutOff, out.InUse = cablingSeen(v), v.CutOff, len(v.Spared)
	}
	out.MoreHeld = max(len(v.Held)-maxHeld, 0)
	for i := range len(v.Held) - out.MoreHeld {
		out.HeldBack = append(out.HeldBack, ctl.HeldCable{Cable: ctl.CableOf(v.Held[i].Link), Switch: v.Held[i].Switch})
	}
	return out
}

// maxHeld is how many cables that are held back are in the reply. The list of all cables has no limit.
const maxHeld = 1024

// cables are the rows of all cables that the last heavy sweep found.
func (s *subnet) cables(yield func(any) bool) {
	v := s.view.Cabling
	if v == nil {
		return
	}
	inner, all := map[cabling.End]bool{}, make([]int32, 0, len(v.Found.Cables))
	for _, e := range v.Found.Inner {
		inner[e] = true
	}
	for i := range v.Found.Cables {
		if e := v.Found.Cables[i].Ends; !inner[e[0]] && !inner[e[1]] {
			all = append(all, int32(i))
		}
	}
	for _, l := range v.Found.Links(all) {
		if row := ctl.CableOf(l); !yield(&row) {
			return
		}
	}
}

// cablingSeen is a sentence.
func cablingSeen(v *view.Cabling) string {
	text := "no plan"
	if v.Comparison != nil {
		text = v.Comparison.String()
	}
	if why := notEnforced(v); why != "" {
		text += "; " + why
	}
	return text
}

// notEnforced is why cables that are in use are not held back; "" where they are.
func notEnforced(v *view.Cabling) (text string) {
	switch {
	case v.CutOff > 0:
		text = fmt.Sprintf("only excluded cables lead to %d of %d devices", v.CutOff, v.Of)
	case v.Ignored():
		text = "the plan differs too much from the subnet to be enforced"
	default:
		return ""
	}
	return text + ": links in use stay in use, other excluded cables stay in INIT. Correct topo_config_file or held_back_sw_file, or set topo_config_enabled FALSE"
}

// cablingStatus is a summary; nil if there is nothing to say.
func cablingStatus(v *view.Cabling) *ctl.CablingStatus {
	if v == nil || v.Comparison == nil && len(v.Held) == 0 && v.CutOff == 0 {
		return nil
	}
	out := &ctl.CablingStatus{Seen: cablingSeen(v), HeldBack: len(v.Held), CutOff: v.CutOff}
	if v.Comparison != nil {
		out.Findings = len(v.Findings) + v.More
	}
	return out
}

// cablingReasons are the differences from the plan that concern a port.
func (d *doctor) cablingReasons(at end) (why []ctl.Reason) {
	v := d.view.Cabling
	if v == nil {
		return nil
	}
	if text, is := d.excluded[at]; is {
		why = append(why, because("not enforced", text, finding.HeldBack.Remedy()))
	}
	for _, i := range d.cabling[at] {
		why = append(why, notAsPlanned(&v.Findings[i]))
	}
	return why
}

// excludedPorts are the ports of excluded cables, and what there is to say of them where not all are.
func excludedPorts(v *view.Cabling) map[end]string {
	by := map[end]string{}
	if v == nil {
		return by
	}
	text := notEnforced(v)
	for i := range v.Held {
		for _, p := range v.Held[i].Ends {
			if text != "" {
				by[end{p.GUID, p.Port}] = text
			}
		}
	}
	for _, i := range v.Spared {
		for _, e := range v.Found.Cables[i].Ends {
			by[end{v.Found.Devices[e.Device].GUID, e.Port}] = "the cable is in use: " + text
		}
	}
	return by
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

// heldDevice is the diagnosis of a device that is not in the subnet because its cables are held back; nil if there is
// none of the name or GUID.
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
			found.Reasons = append(found.Reasons, heldReason(v, v.Held[i].String()))
		}
	}
	return found
}

// heldReason is why a cable is held back, with what else there is to know of that.
func heldReason(v *view.Cabling, text string) ctl.Reason {
	if why := notEnforced(v); why != "" {
		text += "; " + why
	}
	return because(finding.HeldBack.Name(), text, finding.HeldBack.Remedy())
}

// missingDevice is the diagnosis of a device of the plan that is not there; nil if there is none of the name or GUID.
func (d *doctor) missingDevice(name string, guid mad.GUID) *ctl.Diagnosis {
	v := d.view.Cabling
	if v == nil || v.Comparison == nil {
		return nil
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; (f.Kind == cabling.MissingDevice || f.Kind == cabling.Replaced) &&
			isPlace(f.Devices[0], name, guid) {
			return &ctl.Diagnosis{Port: endOfPlace(f.Devices[0]), State: ctl.Absent,
				Reasons: []ctl.Reason{notAsPlanned(f)}}
		}
	}
	return nil
}

// isPlace reports whether a device has a name, which may be that of its host, or a GUID.
func isPlace(p cabling.Place, name string, guid mad.GUID) bool {
	name = strings.TrimSpace(name)
	return guid != 0 && p.GUID == guid || name != "" &&
		(strings.TrimSpace(p.Name) == name || ctl.HostName(p.Name) == name)
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
	return because("not as planned", f.String(),
		"correct the cable or the plan (topo_config_file); ibsmctl topology check lists all differences")
}
