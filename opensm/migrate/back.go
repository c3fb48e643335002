package migrate

import (
	"fmt"
	"slices"

	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/opensm/instances"
	"ibsm/partitions"
)

// Back is the plan of going from ibsm to OpenSM.
func (h *Host) Back() (p Plan) {
	h.assignUnits()
	unit := h.opensmService()
	running := h.running("ibsm")
	switch {
	case unit == nil:
		p.Refused = append(p.Refused, "OpenSM's package is not installed: opensm.service does not exist, "+
			"or it is an alias of ibsm.service (package ibsm-opensm)")
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
	if p.Refused = h.namedPorts(next); p.Refused != nil {
		return p
	}
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
			p.edit(h, file, m.missing(), "to hand the registrations over to the next manager")
		}
	}
	for i := range next {
		h.acceptsPartitions(&p, &next[i])
	}
	if p.Refused != nil {
		return p
	}
	if lacks := h.lacks(&next[0], h.ibsmOptions()); single && lacks != "" {
		p.Refused = append(p.Refused, lacks+"; then ibsmctl config reload")
		return p
	}
	if len(p.Steps) > 0 && single {
		p.add(Step{Kind: Reload, Text: "make ibsm read the file and write its registrations",
			Argv: []string{"ibsmctl", "config", "reload"}})
	}
	p.noteWithin(running)
	p.add(h.stop("ibsm")...)
	p.add(Step{Kind: Gone, Text: "wait until ibsm has ended", OpenSM: true})
	m := &next[0]
	if single {
		p.add(Step{Kind: Dumped, Text: "check that ibsm has written its registrations where OpenSM reads them",
			File: m.SADump, Manager: m, OpenSM: true})
	}
	p.add(systemctl("start OpenSM, now and at each boot", "enable", "--now", unit.Name),
		Step{Kind: Up, Text: "wait until OpenSM is master and the subnet is up", File: m.SubnetAt, OpenSM: true},
		Step{Kind: Same, Text: "compare LIDs and members with those of ibsm", File: m.SubnetAt, OpenSM: true})
	p.Undo = append([]Step{systemctl("stop OpenSM", "disable", "--now", unit.Name)}, h.start("ibsm")...)
	return p
}

// namedPorts are the devices and interfaces that would choose the ports of managers of OpenSM: only ibsm takes them.
func (h *Host) namedPorts(next []OpenSM) (list []string) {
	add := func(at diag.Position, name string) {
		guid := "its GUID"
		if port, err := h.PortNamed(name); err == nil {
			guid = port.String()
		}
		list = append(list, fmt.Sprintf("%v: OpenSM accepts GUIDs, but no device or interface such as %s: write %s", at, name,
			guid))
	}
	for _, i := range instances.Read(h.Files).Instances {
		if i.Device != "" {
			add(i.Source, i.Device)
		}
	}
	for _, m := range next {
		if set := m.conf.Config.Setting(conf.Find("guid")); set.Position.Line > 0 &&
			conf.GUIDDevice.In(m.conf.Config) != "" {
			add(set.Position, set.Value.Text)
		}
	}
	return list
}

// acceptsPartitions refuses a plan where a manager of OpenSM would not accept its partition file: then every port
// becomes a full member of the default partition.
func (h *Host) acceptsPartitions(p *Plan, m *OpenSM) {
	file := conf.PartitionConfigFile.In(m.conf.Config)
	if !h.exists(file) {
		return
	}
	policy, _, _ := partitions.Parse(file, h.read(file)).Policy()
	if policy == nil || len(policy.Foreign) == 0 {
		return
	}
	text := fmt.Sprintf(
		"%s has lines that OpenSM does not accept, such as line %d: with it every port becomes a full member of the default partition. "+
			"ibsmctl partitions export writes the file for OpenSM", file, policy.Foreign[0].Line)
	if !slices.Contains(p.Refused, text) {
		p.Refused = append(p.Refused, text)
	}
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

// next are the managers that OpenSM's unit would start, as far as files say it. With PORTS=ALL there is one for each
// port: as many as ibsm runs.
func (h *Host) next() (list []OpenSM) {
	plan := instances.Read(h.Files)
	for _, i := range plan.Instances {
		list = append(list, h.openSM(Process{Args: append([]string{"opensm"}, i.Args()...)}))
	}
	if plan.All || len(list) == 0 {
		running := h.running("ibsm")
		n := len(running)
		for _, p := range running {
			if slices.ContainsFunc(running, p.isParentOf) {
				n-- // it only starts the others
			}
		}
		for range max(n, 1) {
			list = append(list, h.openSM(Process{Args: []string{"opensm"}}))
		}
	}
	return list
}

// isParentOf reports whether a process has started another one.
func (p Process) isParentOf(o Process) bool { return len(o.Parents) > 0 && o.Parents[0] == p.PID }

// topmost are the processes that none of the others has started.
func topmost(all []Process) (list []Process) {
	for _, p := range all {
		if !slices.ContainsFunc(all, func(o Process) bool { return o.isParentOf(p) }) {
			list = append(list, p)
		}
	}
	return list
}
