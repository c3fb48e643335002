package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/conf"
	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/opensm/guidfile"
	"ibsm/plural"
	"ibsm/routing"
)

// drainCommand is ibsmctl drain or undrain.
type drainCommand struct {
	*asker
	wait time.Duration
	all  bool
	out  io.Writer
}

func newDrain(a *asker) *cobra.Command {
	d := &drainCommand{asker: a}
	c := &cobra.Command{Use: "drain [OPTION]... [SWITCH|SWITCH:PORT]...",
		Short: "make routes avoid switches and ports before they are unplugged", Args: cli.Args(0, -1), Long: `
Makes routes avoid switches, or cables between switches, so that they can be unplugged without
packet loss if other paths exist. The command adds them to the manager's drain_file, makes the
manager read the file, and waits until the routes have changed. Then it lists all drained switches
and ports, and the hosts that would lose a link. Without arguments it only lists them.

Each chip of a director is a switch. If the names of the chips of a line card begin with the name
of the card and a slash, this name stands for all of them: "MF0;core:CS8500/L05" for
"MF0;core:CS8500/L05/U1" and "MF0;core:CS8500/L05/U2".

A drained switch keeps one link for packets to itself and to its hosts. "still needed" marks a
switch or port that routes still use, because it is the only path to some switch or host, or the
routing engine requires it.

A switch or port stays drained until ibsmctl undrain, even if it is unplugged and returns, the
manager restarts, or another manager takes over.

Exit status: 0 success, 1 failure or something is still needed, 2 wrong usage.`,
		Example: `  ibsmctl drain spine-03 leaf-07:31
  ibsmctl undrain --all
`}
	c.Flags().DurationVar(&d.wait, "wait", time.Minute, "wait at most `TIME` until the routes have changed")
	c.ValidArgsFunction = a.completeNodes(math.MaxInt)
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		d.out = stdout
		if len(args) == 0 {
			return d.list(ctx, true)
		}
		return d.drain(ctx, args)
	})
	return c
}

func newUndrain(a *asker) *cobra.Command {
	d := &drainCommand{asker: a}
	c := &cobra.Command{Use: "undrain [OPTION]... SWITCH|SWITCH:PORT...",
		Short: "make routes use drained switches and ports again", Args: cli.Args(0, -1), Long: `
Removes switches and ports from the manager's drain_file, makes the manager read the file, and
waits until it has. For the forms of SWITCH see ibsmctl drain --help. Name an absent switch by its
GUID or its former name.`}
	c.Flags().DurationVar(&d.wait, "wait", time.Minute, "wait at most `TIME` until the routes have changed")
	c.Flags().BoolVar(&d.all, "all", false, "everything that is drained")
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		if d.out = stdout; (len(args) == 0) != d.all {
			return cli.UsageError("expected SWITCH, SWITCH:PORT or --all", cli.See(c))
		}
		return d.undrain(ctx, args)
	})
	return c
}

// drainLine is what a line of the file says.
type drainLine struct {
	routing.SwitchPort
	name string // of the comment
	text string // the whole line
}

// String is how such a thing is named on the command line.
func (l drainLine) String() string {
	name := l.name
	if name == "" {
		name = l.Switch.String()
	}
	if l.Port > 0 {
		name += ":" + strconv.Itoa(int(l.Port))
	}
	return name
}

// write sets the text of a line.
func (l *drainLine) write() {
	l.text = l.Switch.String()
	if l.Port > 0 {
		l.text += " " + strconv.Itoa(int(l.Port))
	}
	if l.name != "" {
		l.text += " # " + l.name
	}
}

func (d *drainCommand) drain(ctx context.Context, args []string) error {
	var want []drainLine
	for _, arg := range args {
		found, err := d.find(ctx, arg)
		if err != nil {
			return err
		}
		for _, l := range found {
			l.write()
			want = append(want, l)
		}
	}
	return d.edit(ctx, true, func(lines []drainLine) ([]drainLine, error) {
		for _, l := range want {
			if !slices.ContainsFunc(lines, func(o drainLine) bool { return o.SwitchPort == l.SwitchPort }) {
				lines = append(lines, l)
			}
		}
		return lines, nil
	})
}

// find is a switch of the subnet, or a port of it, or all switches of a line card or director: those whose names go on
// after its name with a slash.
func (d *drainCommand) find(ctx context.Context, arg string) (found []drainLine, err error) {
	name, port := arg, uint8(0)
	if before, after, is := cutLast(arg, ":"); is {
		if n, err := strconv.ParseUint(after, 10, 8); err == nil && n > 0 && n < 255 {
			name, port = before, uint8(n)
		}
	}
	add := func(n *ctl.Node) error {
		if int(port) > n.Ports {
			return fmt.Errorf("%s has %s", name, plural.Of(int(n.Ports), "port"))
		}
		guid, err := mad.ParseGUID(n.GUID)
		found = append(found, drainLine{SwitchPort: routing.SwitchPort{Switch: guid, Port: port}, name: d.nameOf(n)})
		return err
	}
	err = ctl.All(ctx, d.Client, http.MethodGet, "/v1/nodes", query("type", "switch", "node", d.names.resolve(name)),
		add)
	if failure := (*ctl.Failure)(nil); errors.As(err, &failure) && port == 0 {
		if err := ctl.All(ctx, d.Client, http.MethodGet, "/v1/nodes", query("type", "switch"), func(n *ctl.Node) error {
			if !strings.HasPrefix(d.nameOf(n), name+"/") {
				return nil
			}
			return add(n)
		}); err != nil {
			return nil, d.explain(err)
		}
		if found != nil {
			return found, nil
		}
	}
	switch {
	case err != nil:
		return nil, d.explain(err)
	case len(found) == 0:
		return nil, fmt.Errorf("%s is not a switch", arg)
	}
	return found, nil
}

// nameOf is the name of a node in the file.
func (d *drainCommand) nameOf(n *ctl.Node) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, d.names.of(n.GUID, n.Desc))
}

// cutLast is strings.Cut around the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (d *drainCommand) undrain(ctx context.Context, args []string) error {
	return d.edit(ctx, false, func(lines []drainLine) ([]drainLine, error) {
		for _, arg := range args {
			is := func(l drainLine) bool {
				return l.Switch != 0 && (l.String() == arg || drainLine{SwitchPort: l.SwitchPort}.String() == arg ||
					l.Port == 0 && strings.HasPrefix(l.name, arg+"/"))
			}
			if !slices.ContainsFunc(lines, is) {
				found, err := d.find(ctx, arg)
				is = func(l drainLine) bool {
					return slices.ContainsFunc(found, func(o drainLine) bool { return o.SwitchPort == l.SwitchPort })
				}
				if err != nil || !slices.ContainsFunc(lines, is) {
					return nil, cli.WithHint(fmt.Errorf("%s is not drained", arg), "ibsmctl drain lists drained nodes")
				}
			}
			lines = slices.DeleteFunc(lines, is)
		}
		if d.all {
			lines = slices.DeleteFunc(lines, func(l drainLine) bool { return l.Switch != 0 })
		}
		return lines, nil
	})
}

// edit changes the manager's file, and waits until routes have followed. check says that what is still needed is an
// error.
func (d *drainCommand) edit(ctx context.Context, check bool, change func([]drainLine) ([]drainLine, error)) error {
	now, err := d.drained(ctx)
	if err != nil { // a manager that is not master would not use the file
		return err
	}
	inherited, err := d.inherited(ctx)
	if err != nil {
		return err
	}
	file := runningFile(ctx, d.asker, conf.DrainFile.Key())
	var want []routing.SwitchPort
	err = locked(file, func() error {
		lines, err := readDrained(file)
		if err != nil {
			return err
		}
		if inherited {
			lines = inForceOf(lines, now)
		}
		if lines, err = change(lines); err != nil {
			return err
		}
		var text bytes.Buffer
		for _, l := range lines {
			fmt.Fprintln(&text, l.text)
			if l.Switch != 0 && !slices.Contains(want, l.SwitchPort) {
				want = append(want, l.SwitchPort)
			}
		}
		return replace(file, file, text.Bytes())
	})
	if err != nil {
		return err
	}
	r := &ctl.Reloaded{}
	if err := d.Post(ctx, "/v1/reload", nil, r); err != nil {
		return d.explain(err)
	}
	if err := d.await(ctx, file, want); err != nil {
		return err
	}
	if err := d.list(ctx, check); err != nil || !r.Refused {
		return err
	}
	return errors.New("the manager uses drain_file, but its configuration file has errors: see ibsmctl config reload")
}

// inherited reports whether the manager uses the files of the master before it. It reads its own when it is asked to
// reload: the error is for one whose own files would change more than what is drained.
func (d *drainCommand) inherited(ctx context.Context) (bool, error) {
	st := &ctl.Status{}
	if err := d.Get(ctx, "/v1/status", nil, st); err != nil {
		return false, d.explain(err)
	}
	m := st.MirroredSettings
	if m == nil {
		return false, nil
	}
	if others := slices.DeleteFunc(slices.Clone(m.Differ), func(key string) bool {
		return key == conf.DrainFile.Key().Name
	}); len(others) > 0 {
		return true, cli.WithHint(
			fmt.Errorf("the manager uses the files of the previous master, %s, and its own files differ: %s", m.Of,
				strings.Join(others, ", ")),
			"make them identical, run ibsmctl config reload, then try again")
	}
	return true, nil
}

// inForceOf are the comments of a file, and what is drained.
func inForceOf(lines []drainLine, now []ctl.Drained) []drainLine {
	lines = slices.DeleteFunc(lines, func(l drainLine) bool { return l.Switch != 0 })
	for _, r := range now {
		guid, err := mad.ParseGUID(r.GUID)
		if err != nil {
			continue
		}
		l := drainLine{SwitchPort: routing.SwitchPort{Switch: guid, Port: r.Port}, name: r.Desc}
		l.write()
		lines = append(lines, l)
	}
	return lines
}

// readDrained are the lines of the file, none if it does not exist.
func readDrained(file string) (lines []drainLine, err error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i, line := range slices.Collect(strings.Lines(string(text))) {
		l := drainLine{text: strings.TrimRight(line, "\r\n")}
		found, _, bad := guidfile.Drained(file, []byte(line))
		if len(bad) > 0 {
			bad[0].Line = i + 1
			return nil, diag.List{bad[0]}.Err()
		}
		if len(found) > 0 {
			_, comment, _ := strings.Cut(l.text, "#")
			l.SwitchPort, l.name = found[0], strings.TrimSpace(comment)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// await waits until the manager has routes for what is drained.
func (d *drainCommand) await(ctx context.Context, file string, want []routing.SwitchPort) error {
	ctx, cancel := context.WithTimeout(ctx, d.wait)
	defer cancel()
	tick := time.NewTicker(awaitPoll)
	defer tick.Stop()
	for {
		rows, err := d.drained(ctx)
		same := slices.EqualFunc(rows, want, func(r ctl.Drained, w routing.SwitchPort) bool {
			return r.GUID == w.Switch.String() && r.Port == w.Port
		})
		if err == nil && same {
			return nil
		}
		select {
		case <-ctx.Done():
			return cli.WithHint(fmt.Errorf("%s was written, but the manager did not apply it within %v", file, d.wait),
				"see ibsmctl status and the manager's log")
		case <-tick.C:
		}
	}
}

func (d *drainCommand) drained(ctx context.Context) (rows []ctl.Drained, err error) {
	err = ctl.All(ctx, d.Client, http.MethodGet, "/v1/drained", nil, func(r *ctl.Drained) error {
		rows = append(rows, *r)
		return nil
	})
	return rows, d.explain(err)
}

// list prints what is drained. With check the error says that some of it is still needed.
func (d *drainCommand) list(ctx context.Context, check bool) error {
	all, err := d.drained(ctx)
	switch {
	case err != nil:
		return err
	case d.json:
		if err := d.copy(ctx, http.MethodGet, "/v1/drained", nil, d.out); err != nil {
			return err
		}
	case len(all) == 0:
		_, err := fmt.Fprintln(d.out, "nothing is drained")
		return err
	default:
		if err := d.table(all).print(d.out, terminalWidth(d.out)); err != nil {
			return err
		}
	}
	needed := 0
	for _, r := range all {
		if r.State == "still needed" {
			needed++
		}
	}
	if check && needed > 0 {
		return fmt.Errorf("routes still use %d of these", needed)
	}
	return nil
}

func (d *drainCommand) table(all []ctl.Drained) *table {
	t := &table{columns: []column{{head: "SWITCH", yields: true}, {head: "PORT", right: true}, {head: "STATE"},
		{head: "HOSTS THAT LOSE A LINK", yields: true}}}
	for _, r := range all {
		port, hosts := "all", strings.Join(r.Hosts, ", ")
		if r.Port > 0 {
			port = strconv.Itoa(int(r.Port))
		}
		if r.More > 0 {
			hosts += fmt.Sprintf(" and %d more", r.More)
		}
		t.add(printable(cmp.Or(d.names.of(r.GUID, r.Desc), r.GUID)), port, r.State, printable(hosts))
	}
	return t
}
