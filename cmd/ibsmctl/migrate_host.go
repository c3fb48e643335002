package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/cmd/cli"
	"ibsm/mad"
	"ibsm/mad/umad"
	"ibsm/opensm/migrate"
)

// findHost finds out what runs on this host.
func findHost(ctx context.Context) (*migrate.Host, error) {
	processes := managers()
	argv := append([]string{"show", "--property=" + strings.Join(migrate.UnitProperties, ",")}, migrate.UnitPatterns...)
	for _, p := range processes {
		if p.Unit != "" {
			argv = append(argv, p.Unit)
		}
	}
	out, err := exec.CommandContext(ctx, "systemctl", argv...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, cli.WithHint(fmt.Errorf("cannot ask systemd for its units: %w", err),
			"without systemd, docs/opensm.md describes the steps")
	}
	return &migrate.Host{Processes: processes, Units: migrate.ParseUnits(string(out)), Files: os.DirFS("/"),
		PortNamed: portNamed}, nil
}

// portNamed is the port of a device or an interface of this host.
func portNamed(name string) (mad.GUID, error) {
	ports, err := umad.Ports("/")
	if err != nil {
		return 0, err
	}
	return umad.Named("/", ports, name)
}

// managers are the processes of OpenSM and ibsm, by /proc. One that ends meanwhile is left out.
func managers() (list []migrate.Process) {
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	boot := bootTime()
	for _, folder := range folders {
		args := words(folder + "/cmdline")
		program := migrate.ProgramOf(args)
		if program == "" {
			continue
		}
		if file, _ := os.Readlink(folder + "/exe"); filepath.Base(strings.TrimSuffix(file, " (deleted)")) == "ibsm" {
			program = "ibsm" // also under OpenSM's name
		}
		p := migrate.Process{Program: program, Args: args}
		p.PID, _ = strconv.Atoi(filepath.Base(folder)) // digits
		for _, v := range words(folder + "/environ") {
			if strings.HasPrefix(v, "OSM_") {
				p.Env = append(p.Env, v)
			}
		}
		p.Dir, _ = os.Readlink(folder + "/cwd")
		group, _ := os.ReadFile(folder + "/cgroup")
		p.Unit = migrate.UnitOf(string(group))
		for pid := parentOf(p.PID); pid > 1 && len(p.Parents) < 16; pid = parentOf(pid) {
			p.Parents = append(p.Parents, pid)
		}
		p.Started = boot.Add(startOf(p.PID))
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b migrate.Process) int { return a.PID - b.PID })
	return list
}

// words are the strings of a file in which each ends in a zero byte.
func words(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Fields of /proc/PID/stat after the name of the program, which can have blanks.
const (
	statParent = 1
	statStart  = 19
	tick       = time.Second / 100 // in which the kernel gives times to user space
)

// statOf are the fields of /proc/PID/stat after the name of the program.
func statOf(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// parentOf is the parent of a process, 0 for none.
func parentOf(pid int) (parent int) {
	if f := statOf(pid); len(f) > statParent {
		parent, _ = strconv.Atoi(f[statParent])
	}
	return parent
}

// startOf is when a process was started, since the host was.
func startOf(pid int) time.Duration {
	f := statOf(pid)
	if len(f) <= statStart {
		return 0
	}
	ticks, _ := strconv.ParseInt(f[statStart], 10, 64)
	return time.Duration(ticks) * tick
}

// bootTime is when the host was started, to the second.
func bootTime() time.Time {
	text, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, "btime "); is {
			seconds, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return time.Unix(seconds, 0)
		}
	}
	return time.Time{}
}
