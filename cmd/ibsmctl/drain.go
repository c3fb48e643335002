package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
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
packet loss if other paths exist. The manager adds them to its drain_file, and changes the routes.
Then the command lists all drained switches and ports, and the hosts that would lose a link.
Without arguments it only lists them.

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
		return d.order(ctx, "/v1/drain", args, true)
	})
	return c
}

func newUndrain(a *asker) *cobra.Command {
	d := &drainCommand{asker: a}
	c := &cobra.Command{Use: "undrain [OPTION]... SWITCH|SWITCH:PORT...",
		Short: "make routes use drained switches and ports again", Args: cli.Args(0, -1), Long: `
Removes switches and ports from the manager's drain_file. For the forms of SWITCH see
ibsmctl drain --help. Name an absent switch by its GUID or its former name.`}
	c.Flags().DurationVar(&d.wait, "wait", time.Minute, "wait at most `TIME` until the routes have changed")
	c.Flags().BoolVar(&d.all, "all", false, "everything that is drained")
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		if d.out = stdout; (len(args) == 0) != d.all {
			return cli.UsageError("expected SWITCH, SWITCH:PORT or --all", cli.See(c))
		}
		return d.order(ctx, "/v1/undrain", args, false)
	})
	return c
}

// order asks the manager to edit drain_file, waits until the routes follow, and lists what is drained. With check it
// fails if some of that still carries routes.
func (d *drainCommand) order(ctx context.Context, path string, args []string, check bool) error {
	q := url.Values{"seconds": {strconv.Itoa(int(math.Ceil(d.wait.Seconds())))}}
	for _, arg := range args {
		q.Add("switch", d.names.resolvePort(arg))
	}
	if d.all {
		q.Set("all", "1")
	}
	done := &ctl.DrainDone{}
	if err := d.Post(ctx, path, q, done); err != nil {
		return d.explain(err)
	}
	if err := d.list(ctx, check); err != nil || !done.Refused {
		return err
	}
	return errors.New("the manager uses drain_file, but its configuration file has errors: see ibsmctl config reload")
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
