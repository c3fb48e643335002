package migrate

import (
	"fmt"

	"ibsm/opensm/instances"
)

// Back is the plan of going from ibsm to OpenSM.
func (h *Host) Back() (p Plan) {
	h.assignUnits()
	unit := h.opensmService()
	running := h.running("ibsm")
	switch {
	case unit == nil:
		p.Refused = append(p.Refused, "the package of OpenSM is not installed: opensm.service is not there, or it is another name of ibsm.service (package ibsm-opensm)")
	case unit.Load == "masked":
		p.Refused = append(p.Refused, unit.Name+" is masked: systemctl unmask "+unit.Name)
	}
	for _, m := range h.running("opensm") {
		p.Refused = append(p.Refused, fmt.Sprintf("OpenSM runs already (process %d)", m.PID))
	}
	if len(running) == 0 {
		p.Refused = append(p.Refused, "ibsm does not run on this host: systemctl enable --now opensm starts OpenSM")
	}
	if p.Refused != nil {
		return p
	}
	next := h.next()
	single := len(next) == 1
	for i := range next {
		m := &next[i]
		file := m.Config
		if file == "" {
			file = m.Usual
		}
		switch {
		case shared(m, next):
			h.withoutRegistrations(&p, m)
		case len(m.missing()) > 0:
			p.edit(h, file, m.missing(), "so that registrations go from one manager to the next")
		}
	}
	if lacks := h.lacks(&next[0], h.ibsmOptions()); single && lacks != "" {
		p.Refused = append(p.Refused, lacks+"; then ibsmctl config reload")
		return p
	}
	if len(p.Steps) > 0 && single {
		p.Steps = append(p.Steps, Step{Kind: Reload, Text: "have ibsm read the file, so that it writes its registrations", Argv: []string{"ibsmctl", "config", "reload"}})
	}
	stop := h.stopIBSM(running)
	p.Steps = append(p.Steps, stop...)
	p.Steps = append(p.Steps, Step{Kind: Gone, Text: "wait until ibsm has ended", OpenSM: true})
	if single {
		p.Steps = append(p.Steps, Step{Kind: Dumped, Text: "check the registrations that ibsm has left where OpenSM reads them", File: next[0].SADump, Manager: &next[0], OpenSM: true})
	}
	p.Steps = append(p.Steps,
		Step{Kind: Run, Text: "start OpenSM, now and at each boot", Argv: []string{"systemctl", "enable", "--now", unit.Name}},
		Step{Kind: Up, Text: "wait until OpenSM is master and the subnet is up", OpenSM: true, File: next[0].SubnetAt, Manager: &next[0]},
		Step{Kind: Same, Text: "compare LIDs, groups and members with those of ibsm", OpenSM: true, File: next[0].SubnetAt, Manager: &next[0]})
	p.Undo = []Step{{Kind: Run, Text: "stop OpenSM", Argv: []string{"systemctl", "disable", "--now", unit.Name}}}
	for _, s := range stop {
		if s.Argv[0] == "systemctl" {
			name := s.Argv[len(s.Argv)-1]
			p.Undo = append(p.Undo, Step{Kind: Run, Text: "start ibsm again", Argv: []string{"systemctl", "enable", "--now", name}})
		}
	}
	return p
}

// opensmService is the unit of OpenSM's package, nil without one.
func (h *Host) opensmService() *Unit {
	for _, name := range []string{opensmUnit, "opensmd.service"} {
		if u := h.unit(name); u != nil && u.there() {
			return u
		}
	}
	return nil
}

// next are the managers that OpenSM's unit would start, as far as files say it. With PORTS=ALL there is one for each port: as many as
// ibsm runs.
func (h *Host) next() (list []OpenSM) {
	plan := instances.Read(h.Files)
	for _, i := range plan.Instances {
		list = append(list, h.openSM(Process{Args: append([]string{"opensm"}, i.Args()...)}))
	}
	if plan.All || len(list) == 0 {
		n := 0
		for _, p := range h.running("ibsm") {
			if !supervises(p, h.running("ibsm")) {
				n++
			}
		}
		for range max(n, 1) {
			list = append(list, h.openSM(Process{Args: []string{"opensm"}}))
		}
	}
	return list
}

// supervises reports whether a process is the parent of another one.
func supervises(p Process, all []Process) bool {
	for _, o := range all {
		if len(o.Parents) > 0 && o.Parents[0] == p.PID {
			return true
		}
	}
	return false
}

// stopIBSM stops all that runs ibsm, and what would start it at a boot.
func (h *Host) stopIBSM(running []Process) (steps []Step) {
	run := func(text string, argv ...string) { steps = append(steps, Step{Kind: Run, Text: text, Argv: argv}) }
	for i := range h.Units {
		if u := &h.Units[i]; isIBSM(u.Name) && u.there() && (u.active() || u.Enabled == "enabled") {
			run("stop ibsm, now and at each boot", "systemctl", "disable", "--now", u.Name)
		}
	}
	for _, p := range running {
		if p.Unit == "" && !supervisedBy(p, running) {
			run("stop ibsm, which was started by hand", "kill", fmt.Sprint(p.PID))
		}
	}
	return steps
}

// supervisedBy reports whether the parent of a process is among others.
func supervisedBy(p Process, all []Process) bool {
	for _, o := range all {
		if len(p.Parents) > 0 && p.Parents[0] == o.PID {
			return true
		}
	}
	return false
}
