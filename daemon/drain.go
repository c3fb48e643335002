package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ibsm/atomicfile"
	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/opensm/guidfile"
	"ibsm/routing"
	"ibsm/view"
)

// drainLine is a line of drain_file. Its Switch is 0 in a line without an entry; its Name is in a comment.
type drainLine struct {
	server.NamedSwitch
	text string
}

// drainLines are the lines of a text of drain_file.
func drainLines(file string, text []byte) (lines []drainLine, err error) {
	for i, line := range slices.Collect(strings.Lines(string(text))) {
		l := drainLine{text: strings.TrimRight(line, "\r\n")}
		found, _, bad := guidfile.Drained(file, []byte(line))
		if len(bad) > 0 {
			bad[0].Line = i + 1
			return nil, diag.List{bad[0]}.Err()
		}
		if len(found) > 0 {
			_, comment, _ := strings.Cut(l.text, "#")
			l.SwitchPort, l.Name = found[0], strings.TrimSpace(comment)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// newDrainLine is the line of a switch, or of a port of one.
func newDrainLine(of server.NamedSwitch) drainLine {
	l := drainLine{NamedSwitch: of, text: of.Switch.String()}
	if of.Port > 0 {
		l.text += " " + strconv.Itoa(int(of.Port))
	}
	if name := strings.Map(func(r rune) rune { return max(r, ' ') }, of.Name); name != "" {
		l.text += " # " + name
	}
	return l
}

// isCalled reports whether a text identifies the entry of a line: SWITCH or SWITCH:PORT by its name or GUID, or the
// name of a line card or director.
func (l *drainLine) isCalled(text string) bool {
	port := ""
	if l.Port > 0 {
		port = ":" + strconv.Itoa(int(l.Port))
	}
	return l.Switch != 0 && (l.Name != "" && text == l.Name+port || text == l.Switch.String()+port ||
		l.Port == 0 && strings.HasPrefix(l.Name, text+"/"))
}

// editDrained carries out an order on the lines of drain_file. find finds switches of the subnet.
func editDrained(lines []drainLine, o ctl.DrainOrder, find func(string) ([]server.NamedSwitch, error)) ([]drainLine,
	error) {
	if o.All {
		return slices.DeleteFunc(lines, func(l drainLine) bool { return l.Switch != 0 }), nil
	}
	for _, text := range o.Switches {
		if o.Undrain && slices.ContainsFunc(lines, func(l drainLine) bool { return l.isCalled(text) }) {
			lines = slices.DeleteFunc(lines, func(l drainLine) bool { return l.isCalled(text) })
			continue
		}
		found, err := find(text)
		if err != nil && !o.Undrain {
			return nil, err
		}
		is := func(l drainLine) bool {
			return slices.ContainsFunc(found, func(s server.NamedSwitch) bool { return s.SwitchPort == l.SwitchPort })
		}
		switch {
		case !o.Undrain:
			for _, s := range found {
				if !slices.ContainsFunc(lines, func(l drainLine) bool { return l.SwitchPort == s.SwitchPort }) {
					lines = append(lines, newDrainLine(s))
				}
			}
		case !slices.ContainsFunc(lines, is):
			return nil, fmt.Errorf("%w: %s is not drained; ibsmctl drain lists what is", ctl.ErrNotFound, text)
		default:
			lines = slices.DeleteFunc(lines, is)
		}
	}
	return lines, nil
}

// drain carries out an order, and waits until the routes in force follow drain_file. It is called for one order at a
// time.
func (d *daemon) drain(ctx context.Context, o ctl.DrainOrder) (*ctl.DrainDone, error) {
	done, want, err := d.editDrained(o)
	if err != nil {
		return nil, err
	}
	err = d.control.Await(ctx, func(v *view.View) bool {
		if v == nil {
			return false
		}
		var now []routing.SwitchPort
		for i := range v.Drained {
			if v.Drained[i].By == view.ByOperator {
				now = append(now, v.Drained[i].SwitchPort)
			}
		}
		return slices.Equal(now, want)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s was written, but the manager did not apply it in time: see its log",
			ctl.ErrNotNow, done.File)
	}
	return done, nil
}

// editDrained changes drain_file, puts it into force, and returns what it then has.
func (d *daemon) editDrained(o ctl.DrainOrder) (*ctl.DrainDone, []routing.SwitchPort, error) {
	if d.control.View() == nil { // a manager that is not master would not use the file
		return nil, nil, fmt.Errorf("%w: the manager is not master, or its first sweep has not completed",
			ctl.ErrNotNow)
	}
	file, lines, err := d.current.drainFile()
	if err == nil {
		lines, err = editDrained(lines, o, d.control.FindSwitches)
	}
	if err != nil {
		return nil, nil, err
	}
	var next bytes.Buffer
	var want []routing.SwitchPort
	for _, l := range lines {
		fmt.Fprintln(&next, l.text)
		if l.Switch != 0 && !slices.Contains(want, l.SwitchPort) {
			want = append(want, l.SwitchPort)
		}
	}
	if err := atomicfile.ReplaceLike(file, file, next.Bytes()); errors.Is(err, syscall.EROFS) {
		return nil, nil, fmt.Errorf("%w: %w for the manager: add its directory to ReadWritePaths= with systemctl edit",
			ctl.ErrNotNow, err)
	} else if err != nil {
		return nil, nil, err
	}
	return &ctl.DrainDone{File: file, Refused: d.current.Reload().Refused}, want, nil
}

// drainFile is the path of drain_file, and the lines to edit: those of the file, but the entries of the previous
// master's if that is in force. The error is for a manager whose own files would change more than what is drained.
func (c *configuration) drainFile() (path string, lines []drainLine, err error) {
	now, key := c.current.Load(), conf.DrainFile.Key().Name
	path = conf.DrainFile.In(now.own.Config)
	if (now.own.Fabric != "" || now.own.IBSim) && !conf.DrainFile.Chosen(now.own.Config) {
		return path, nil, fmt.Errorf("%w: the subnet is simulated and drain_file is not set, so %s would be changed, "+
			"which is for the real subnet. Set drain_file to another path", ctl.ErrNotNow, path)
	}
	text, err := fileReader.Read(path, guidfile.MaxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return path, nil, err
	}
	if lines, err = drainLines(path, text); err != nil || now.shown == nil {
		return path, lines, err
	}
	differ := slices.DeleteFunc(slices.Clone(now.shown.Differ), func(k string) bool { return k == key })
	if len(differ) > 0 {
		return path, nil, fmt.Errorf("%w: the manager uses the files of the previous master, %s, and its own files "+
			"differ: %s. Make them identical and run ibsmctl config reload", ctl.ErrNotNow, now.shown.Of,
			strings.Join(differ, ", "))
	}
	of, err := drainLines(path, now.engineFiles()[key].text)
	lines = slices.DeleteFunc(lines, func(l drainLine) bool { return l.Switch != 0 })
	return path, append(lines, slices.DeleteFunc(of, func(l drainLine) bool { return l.Switch == 0 })...), err
}
