package migrate

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"ibsm/conf"
)

// Plan is what a migration does, as a value.
type Plan struct {
	Refused []string // why it cannot be done
	Changes []string // what would become other than it is, and needs consent
	Notes   []string
	Steps   []Step
	Undo    []Step // what starts the manager of before again
}

// Kind is what a step does.
type Kind uint8

// Kinds of steps.
const (
	EditFile Kind = iota + 1 // replace File by Content
	SetAside                 // rename File to Aside
	Dump                     // have Manager write its registrations, and wait until the file is new and whole
	Compare                  // Argv prints what would change; nothing may
	Run                      // Argv
	Reload                   // have ibsm read its file again
	Gone                     // wait until no process of the manager of before is left
	Dumped                   // the file of registrations is whole
	Up                       // wait until the next manager is master of a subnet that is up
	Same                     // LIDs and registrations are those of before
	Restart                  // start a process that was started by hand
)

// Step is a step of a plan.
type Step struct {
	Kind    Kind
	Text    string
	Argv    []string // a command; nil for none
	File    string
	Aside   string
	Before  []byte  // of EditFile; nil where there is no file
	Content []byte  // of EditFile
	Manager *OpenSM // that the step is about; nil for all
	Process Process // of Restart
	OpenSM  bool    // OpenSM is the next manager, not ibsm
}

// systemctl is the step of a command of systemd.
func systemctl(text string, args ...string) Step {
	return Step{Kind: Run, Text: text, Argv: append([]string{"systemctl"}, args...)}
}

// add adds steps.
func (p *Plan) add(steps ...Step) { p.Steps = append(p.Steps, steps...) }

// note adds a note, once.
func (p *Plan) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.Notes, text) {
		p.Notes = append(p.Notes, text)
	}
}

// The units of the packages.
const (
	opensmUnit = "opensm.service"
	ibsmUnit   = "ibsm.service"
)

// aside is added to the name of a file of registrations of former times.
const aside = ".old"

// Managers are the processes of OpenSM.
func (h *Host) Managers() (list []OpenSM) {
	for _, p := range h.Processes {
		if p.Program == "opensm" {
			list = append(list, h.openSM(p))
		}
	}
	return list
}

// running are the processes of a program.
func (h *Host) running(program string) (list []Process) {
	for _, p := range h.Processes {
		if p.Program == program {
			list = append(list, p)
		}
	}
	return list
}

// shared reports whether a manager writes to the same file of registrations as another one, so that none can use it.
func shared(m *OpenSM, all []OpenSM) bool {
	n := 0
	for i := range all {
		if all[i].SADump == m.SADump {
			n++
		}
	}
	return n > 1
}

// To is the plan of going from OpenSM to ibsm.
func (h *Host) To() (p Plan) {
	h.assignUnits()
	all := h.Managers()
	p.Refused = h.refusals(all)
	for i := range all {
		h.examine(&p, &all[i], all)
	}
	p.noteWithin(h.running("opensm"))
	p.add(h.stop("opensm")...)
	p.add(Step{Kind: Gone, Text: "wait until OpenSM has ended"})
	for i := range all {
		if m := &all[i]; carries(m, all) {
			p.add(Step{Kind: Dumped, Text: "check that OpenSM has written its registrations", File: m.SADump, Manager: m})
		}
	}
	p.add(systemctl("start ibsm, now and at each boot", "enable", "--now", ibsmUnit),
		Step{Kind: Up, Text: "wait until ibsm is master and the subnet is up"},
		Step{Kind: Same, Text: "compare LIDs, groups, members and services with those of OpenSM"})
	p.Undo = append([]Step{systemctl("stop ibsm", "disable", "--now", ibsmUnit)}, h.start("opensm")...)
	return p
}

// carries reports whether a manager can write its registrations for the next one.
func carries(m *OpenSM, all []OpenSM) bool { return m.Config != "" && !shared(m, all) }

// refusals are the reasons why a host cannot go to ibsm.
func (h *Host) refusals(all []OpenSM) (list []string) {
	if u := h.unit(ibsmUnit); u == nil || !u.there() {
		list = append(list, ibsmUnit+" is not installed: install the package ibsm, or run make install")
	} else if u.Load == "masked" {
		list = append(list, ibsmUnit+" is masked: systemctl unmask "+ibsmUnit)
	}
	for _, p := range h.running("ibsm") {
		list = append(list, fmt.Sprintf("ibsm runs already (process %d): ibsmctl status", p.PID))
	}
	list = append(list, h.unknownPorts()...)
	if len(all) == 0 {
		list = append(list, "OpenSM does not run on this host: systemctl enable --now ibsm starts ibsm")
	}
	return list
}

// examine adds what one manager needs.
func (h *Host) examine(p *Plan, m *OpenSM, all []OpenSM) {
	options, ok := h.inPlace(m)
	if !ok {
		p.Refused = append(p.Refused, fmt.Sprintf(
			"ibsm.service would start no manager on %s, where OpenSM process %d runs: list the port in "+
				"/etc/default/opensm (PORTS) or /etc/sysconfig/opensm (GUIDS), or end that process", portText(m.GUID),
			m.PID))
		return
	}
	lost, others := h.differences(m, options)
	for _, d := range lost {
		p.Changes = append(p.Changes, fmt.Sprintf("process %d: %s", m.PID, d))
	}
	for _, v := range m.Env {
		if dir, is := strings.CutPrefix(v, "OSM_CACHE_DIR="); is && path.Clean(dir) != conf.CacheDir {
			p.Changes = append(p.Changes, fmt.Sprintf("process %d: OpenSM has guid2lid in OSM_CACHE_DIR, %s: "+
				"set OSM_CACHE_DIR for ibsm too (systemctl edit ibsm, Environment=)", m.PID, dir))
		}
	}
	for _, d := range others {
		p.note("process %d: %s", m.PID, d)
	}
	if lacks := h.lacks(m, options); lacks != "" && !shared(m, all) {
		p.Refused = append(p.Refused, lacks)
	}
	switch {
	case shared(m, all):
		h.withoutRegistrations(p, m)
	case m.Config == "":
		p.edit(h, m.Usual, m.wanted(), "for the way back: OpenSM reads it at its next start")
		p.note("OpenSM process %d was started without a configuration file, and reads none before its next start: "+
			"it cannot write its registrations. %s", m.PID, again)
		if h.exists(m.SADump) {
			p.add(Step{Kind: SetAside, Text: "move an older file of registrations aside",
				File: m.SADump, Aside: m.SADump + aside})
		}
	default:
		p.edit(h, m.Config, m.missing(), "to hand the registrations over to the next manager")
	}
	p.add(Step{Kind: Compare, Text: "compute what ibsm would change on " + portText(m.GUID), Manager: m,
		Argv: append([]string{"ibsm", "--dry-run", "--json"}, options...)})
	if carries(m, all) {
		p.add(Step{Kind: Dump, Text: fmt.Sprintf("make OpenSM read %s and write %s", m.Config, m.SADump),
			Argv: []string{"kill", "-HUP", fmt.Sprint(m.PID)}, File: m.SADump, Manager: m})
	}
}

// again is what it costs when registrations do not go from one manager to the next.
const again = "ibsm asks the hosts to register again when it takes over, as OpenSM does at each start: " +
	"until then groups, members, services and subscriptions are missing, and Linux drops some packets"

// withoutRegistrations removes the settings that several managers cannot share.
func (h *Host) withoutRegistrations(p *Plan, m *OpenSM) {
	const why = "several managers would write the same file, and each would load the registrations of the others' hosts"
	p.edit(h, m.Config, unset(h.read(m.Config)), why)
	p.note("several OpenSM processes write %s, and only the last writer's registrations remain: registrations are not carried over. %s",
		m.SADump, again)
}

// unset are the settings to remove from a file that has them.
func unset(text []byte) (list []Setting) {
	for _, key := range []string{"sa_db_dump", "sa_db_file", "no_clients_rereg"} {
		set := []Setting{{key, remove}}
		if !bytes.Equal(Edit(text, set), text) {
			list = append(list, set...)
		}
	}
	return list
}

// edit adds the edit of a file, once, unless nothing changes.
func (p *Plan) edit(h *Host, file string, set []Setting, why string) {
	known := slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == EditFile && s.File == file })
	if known || len(set) == 0 || file == "" {
		return
	}
	before := h.read(file)
	text := "edit " + file + ": " + why
	p.add(Step{Kind: EditFile, Text: text, File: file, Before: before, Content: Edit(before, set)})
}

// stop stops all that runs a program, and what would start it at a boot. A process that was started by hand is ended;
// the unit that contains it stays as it is.
func (h *Host) stop(program string) (steps []Step) {
	stopped := map[string]bool{}
	for i := range h.Units { // in the order of names: opensm.service comes before its instances
		u := &h.Units[i]
		switch {
		case !h.runs(u, program) || !u.there():
			continue
		case strings.HasPrefix(u.Enabled, "enabled"):
			steps = append(steps, systemctl("stop "+titles[program]+", now and at each boot", "disable", "--now",
				u.Name))
		case strings.HasPrefix(u.Name, "opensm@") && stopped[opensmUnit]: // an instance is PartOf opensm.service
			continue
		case u.active():
			steps = append(steps, systemctl("stop "+titles[program], "stop", u.Name))
		default:
			continue
		}
		stopped[u.Name] = true
	}
	for _, p := range topmost(h.running(program)) {
		if p.Unit == "" {
			steps = append(steps, byHand(p))
		}
	}
	return steps
}

// titles are the names of programs in texts.
var titles = map[string]string{"opensm": "OpenSM", "ibsm": "ibsm"}

// byHand ends a process that was started by hand.
func byHand(p Process) Step {
	text := fmt.Sprintf("end process %d, which was %s", p.PID, startedBy(p))
	return Step{Kind: Run, Text: text, Argv: []string{"kill", fmt.Sprint(p.PID)}}
}

// noteWithin notes the units that contain processes of a program without being there for it.
func (p *Plan) noteWithin(list []Process) {
	for _, m := range list {
		if m.Within != "" {
			p.note("process %d belongs to %s, which is not a unit of %s: the process is ended, but the unit stays as it is. "+
				"If that unit starts %[3]s again, for example at boot, change it", m.PID, m.Within, titles[m.Program])
		}
	}
}

// start starts again what stop stops.
func (h *Host) start(program string) (steps []Step) {
	for _, s := range h.stop(program) {
		switch {
		case s.Argv[1] == "disable":
			steps = append(steps, systemctl("start "+titles[program]+" again", "enable", "--now", s.Argv[3]))
		case s.Argv[0] == "systemctl":
			steps = append(steps, systemctl("start "+titles[program]+" again", "start", s.Argv[2]))
		}
	}
	for _, p := range topmost(h.running(program)) {
		if p.Unit == "" {
			steps = append(steps, Step{Kind: Restart, Text: "start it again", Argv: p.Args, Process: p})
		}
	}
	return steps
}

// Stops reports whether a step stops a manager.
func (s *Step) Stops() bool {
	return s.Kind == Run && len(s.Argv) > 1 && (s.Argv[0] == "kill" || s.Argv[1] == "stop" || s.Argv[1] == "disable")
}
