package migrate

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/mad"
)

// Host is what was found on a host.
type Host struct {
	Processes []Process // of OpenSM and of ibsm
	Units     []Unit    // of both, as far as systemd knows them, and those whose control groups have processes; by name
	Files     fs.FS     // below the root folder
	// PortNamed is the port of a device or an interface. The error names those that exist.
	PortNamed func(name string) (mad.GUID, error)
}

// Process is a manager that runs.
type Process struct {
	PID     int
	Parents []int    // the parent, its parent and so on
	Program string   // "opensm" or "ibsm"
	Args    []string // with the program
	Dir     string   // its working directory
	Env     []string // variables of its environment that begin with OSM_
	Unit    string   // of systemd, which runs this manager; "" for a process that was started by hand
	Within  string   // the unit in whose control group a process runs that was started by hand; "" for none
	Started time.Time
}

// Unit is a unit of systemd.
type Unit struct {
	Name    string
	Load    string // loaded, not-found, masked
	Active  string // active, activating, inactive, failed
	Enabled string // enabled, disabled, static, transient; "" for an instance of a template
	MainPID int
}

// active reports whether something is left to stop.
func (u *Unit) active() bool { return u.Active != "inactive" && u.Active != "failed" && u.Active != "" }

// there reports whether the unit is installed.
func (u *Unit) there() bool { return u.Load == "loaded" || u.Load == "masked" }

// UnitPatterns are the units to ask systemd about: those of OpenSM's packages and of ibsm's. Those of processes come to
// it.
var UnitPatterns = []string{"opensm.service", "opensmd.service", "opensm@*.service", "ibsm.service", "ibsm@*.service"}

// UnitProperties are the properties to ask systemd for.
var UnitProperties = []string{"Id", "LoadState", "ActiveState", "UnitFileState", "MainPID"}

// ParseUnits reads what systemctl show prints of several units: lines of PROPERTY=VALUE, and an empty line between
// units.
func ParseUnits(text string) (units []Unit) {
	var u Unit
	for line := range strings.Lines(text + "\n\n") {
		key, value, is := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case !is && u.Name != "":
			units = append(units, u)
			u = Unit{}
		case key == "Id":
			u.Name = value
		case key == "LoadState":
			u.Load = value
		case key == "ActiveState":
			u.Active = value
		case key == "UnitFileState":
			u.Enabled = value
		case key == "MainPID":
			u.MainPID, _ = strconv.Atoi(value) // 0 where there is none
		}
	}
	slices.SortFunc(units, func(a, b Unit) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(units, func(a, b Unit) bool { return a.Name == b.Name })
}

// UnitOf is the unit of a process by the lines of its /proc/PID/cgroup; "" for none of a service of the system.
func UnitOf(cgroup string) string {
	for line := range strings.Lines(cgroup) {
		_, folder, is := strings.Cut(strings.TrimSpace(line), "::")
		if !is { // version 1 of control groups
			_, folder, is = strings.Cut(strings.TrimSpace(line), ":name=systemd:")
		}
		if is && strings.HasPrefix(folder, "/system.slice/") {
			for _, part := range strings.Split(folder, "/") {
				if strings.HasSuffix(part, ".service") {
					return part
				}
			}
		}
	}
	return ""
}

// ProgramOf is which manager a command line is of; "" for none. A shell that starts one is none, nor is an ibsm that
// only looks at a fabric, or has one of its own.
func ProgramOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	switch name := path.Base(args[0]); {
	case name == "opensm":
		return name
	case name == "ibsm" && !slices.ContainsFunc(args, func(a string) bool {
		return a == "--dry-run" || a == "--fabric" || strings.HasPrefix(a, "--fabric=")
	}):
		return name
	}
	return ""
}

// assignUnits finds the unit that runs each process. That is the one of its control group, or, where that names none,
// the one whose main process it is, or has among its parents. A unit runs a manager if the name says so, or if its main
// process is that manager; any other one, such as that of cron, of a container or of a script, merely contains it. A
// transient unit, as systemd-run makes it, is gone when it is stopped, and could not be started again.
func (h *Host) assignUnits() {
	for i := range h.Processes {
		p := &h.Processes[i]
		if p.Unit == "" && p.Within == "" {
			p.Unit = h.unitOfMain(p)
		}
		if u := h.unit(p.Unit); p.Unit != "" && (u == nil || !u.runsAs(p.PID)) {
			p.Unit, p.Within = "", p.Unit
		}
	}
}

// runsAs reports whether a unit whose control group has a manager runs that manager.
func (u *Unit) runsAs(manager int) bool {
	return isOpenSM(u.Name) || isIBSM(u.Name) || u.MainPID == manager && u.Enabled != "transient"
}

// unitOfMain is the unit whose main process is a process or one of its parents; "" for none.
func (h *Host) unitOfMain(p *Process) string {
	for _, pid := range append([]int{p.PID}, p.Parents...) {
		if at := slices.IndexFunc(h.Units, func(u Unit) bool { return u.MainPID == pid && pid > 0 }); at >= 0 {
			return h.Units[at].Name
		}
	}
	return ""
}

// isOpenSM and isIBSM report whose unit it is, by its name.
func isOpenSM(unit string) bool { return strings.HasPrefix(unit, "opensm") }
func isIBSM(unit string) bool   { return strings.HasPrefix(unit, "ibsm") }

// runs reports whether a unit is there to run a program.
func (h *Host) runs(u *Unit, program string) bool {
	return program == "opensm" && isOpenSM(u.Name) || program == "ibsm" && isIBSM(u.Name) ||
		slices.ContainsFunc(h.running(program), func(p Process) bool { return p.Unit == u.Name })
}

// unit is a unit by its name; nil where systemd does not know it.
func (h *Host) unit(name string) *Unit {
	at := slices.IndexFunc(h.Units, func(u Unit) bool { return u.Name == name })
	if at < 0 {
		return nil
	}
	return &h.Units[at]
}

// exists reports whether there is a file.
func (h *Host) exists(file string) bool {
	_, err := fs.Stat(h.Files, strings.TrimPrefix(file, "/"))
	return err == nil
}

// read is the text of a file, nil where it cannot be read.
func (h *Host) read(file string) []byte {
	text, err := fs.ReadFile(h.Files, strings.TrimPrefix(file, "/"))
	if err != nil {
		return nil
	}
	return text
}

// portText names a port: its GUID, or the one that is used without one.
func portText(guid mad.GUID) string {
	if guid == 0 {
		return "the first port with a link"
	}
	return "port " + guid.String()
}
