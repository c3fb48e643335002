package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/history"
	"ibsm/mad"
	"ibsm/view"
)

// absent is the diagnosis of an absent node or port, nil if it was never known. The last
// link is known for nodes that disappeared since the manager started; the reserved LIDs and
// the time of disappearance are known for longer.
func (d *doctor) absent(name string) *ctl.Diagnosis {
	lid := mad.LID(0)
	if isLID(name) {
		n, _ := strconv.ParseUint(name, 0, 16)
		lid = mad.LID(n)
	}
	guid, _, _ := d.guidOf(name)
	if held := d.heldDevice(name, guid); held != nil {
		return held
	}
	if d.past != nil {
		if g, ok := d.past.Gone(func(g *history.GoneNode) bool { return named(g, name, guid, lid) }); ok {
			return d.gone(&g)
		}
	}
	for i := range d.view.Absent {
		a := &d.view.Absent[i]
		if guid == a.Port && guid != 0 || lid >= a.Base && lid-a.Base < 1<<a.LMC {
			return missing(ctl.End{Node: a.Port.String(), LID: a.Base},
				fmt.Sprintf("port %v has been absent since %s; %s; its last link is unknown", a.Port,
					time.Unix(a.Since, 0).Format(time.DateTime), kept(a)), "")
		}
	}
	return d.missingDevice(name, guid)
}

// named reports whether a node that disappeared has the requested name or GUID.
func named(g *history.GoneNode, name string, guid mad.GUID, lid mad.LID) bool {
	bare := strings.TrimSpace(name)
	if strings.TrimSpace(g.Name) == bare || ctl.HostName(g.Name) == bare || guid != 0 && g.GUID == guid {
		return true
	}
	return slices.ContainsFunc(g.Ports, func(p history.GonePort) bool {
		return lid != 0 && p.LID == lid || guid != 0 && p.GUID == guid
	})
}

// gone is the diagnosis of a node that disappeared since the manager started.
func (d *doctor) gone(g *history.GoneNode) *ctl.Diagnosis {
	text := fmt.Sprintf("%q has been absent since %s", d.names.Of(g.GUID, g.Name), g.Since.Format(time.DateTime))
	end := ctl.End{Node: g.GUID.String(), Desc: g.Name, Type: g.Type.String()}
	last := ""
	for _, p := range g.Ports {
		if p.Last != "" {
			last = p.Last
			text += fmt.Sprintf("; port %d was last linked to %s", p.Num, p.Last)
		}
		for i := range d.view.Absent {
			if a := &d.view.Absent[i]; a.Port == p.GUID && p.LID != 0 {
				end.LID = a.Base
				text += "; " + kept(a)
			}
		}
	}
	return missing(end, text, last)
}

// missing is the diagnosis of what is absent; last is a port that it was linked to, "" for one that is not known.
func missing(end ctl.End, text, last string) *ctl.Diagnosis {
	do := "check whether the node is running"
	if i := strings.LastIndex(last, " port "); i >= 0 {
		do += fmt.Sprintf(", and its cable: ibsmctl why '%s:%s'", strings.ReplaceAll(last[:i], "'", `'\''`),
			last[i+len(" port "):])
	}
	do += ". When it returns it gets the same LID"
	return &ctl.Diagnosis{Port: end, State: "absent", Reasons: []ctl.Reason{because("absent", text, do)}}
}

// kept describes the reserved LIDs of an absent port.
func kept(a *view.Absent) string {
	if a.LMC > 0 {
		return fmt.Sprintf("LIDs %d to %d are reserved for it", a.Base, a.Base+1<<a.LMC-1)
	}
	return fmt.Sprintf("LID %d is reserved for it", a.Base)
}
