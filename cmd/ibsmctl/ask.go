package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

// asker is a verb that asks a manager, and the common options.
type asker struct {
	*ctl.Client
	serverOptions
	servers []*ctl.Client // of the subnet, if --server has several
	json    bool
	names   names
	socket  string
	mapped  string    // the file of names
	stdout  io.Writer // of a verb of verbsOf
	stderr  io.Writer // nil for the completion of the shell
}

// verbsOf returns what adds a verb to a command that has verbs of its own.
func (a *asker) verbsOf(cmd *cobra.Command) func(use, short string, least, most int,
	do func(ctx context.Context, args []string) error) *cobra.Command {
	return func(use, short string, least, most int, do func(ctx context.Context, args []string) error) *cobra.Command {
		v := &cobra.Command{Use: use, Short: short, Args: cli.Args(least, most),
			RunE: func(cmd *cobra.Command, args []string) error {
				a.stdout, a.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
				return do(cmd.Context(), args)
			}}
		cmd.AddCommand(v)
		return v
	}
}

// print prints the result of such a verb for programs or for people.
func (a *asker) print(result any, text *bytes.Buffer) error {
	if a.json {
		return printJSON(a.stdout, result)
	}
	_, err := a.stdout.Write(text.Bytes())
	return err
}

// readUpTo reads a file, but no more than most bytes.
func readUpTo(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// asking is the run of a verb that asks a manager.
func (a *asker) asking(run func(ctx context.Context, args []string, stdout io.Writer) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.stderr = cmd.ErrOrStderr()
		spec := cmd.Flag("fabric")
		needless := spec != nil && spec.Changed // only names of nodes would be asked for
		if err := a.open(cmd.Context()); err != nil && !(needless && errors.Is(err, ctl.ErrUnreachable)) {
			return err
		}
		return run(cmd.Context(), args, cmd.OutOrStdout())
	}
}

// open chooses the manager and gets the names of nodes: those of the file that was named, or else those that the
// manager logs. The error is that the file cannot be read, that the manager's process is stopped, or that nobody
// answers over the network: a socket at which no manager runs is found by the first request.
func (a *asker) open(ctx context.Context) error {
	if err := a.connect(ctx); err != nil {
		return err
	}
	return a.getNames(ctx)
}

// getNames gets the names of nodes from the file, or from the manager that is chosen.
func (a *asker) getNames(ctx context.Context) error {
	type reply struct {
		names
		err error
	}
	asked := make(chan reply, 1)
	go func() {
		given := names{}
		err := ctl.All(ctx, a.Client, http.MethodGet, "/v1/names", nil, given.add)
		if err != nil {
			given = nil // nobody runs there, or the user may not read them
		}
		asked <- reply{given, err}
	}()
	r, err := firstReply(a, asked)
	if err != nil {
		return err
	}
	if f := (*ctl.Failure)(nil); a.Remote() && r.err != nil && (!errors.As(r.err, &f) || f.Status == 0 ||
		f.Status == http.StatusUnauthorized) {
		return r.err // each further request would take as long
	}
	a.names = r.names
	if file := cmp.Or(a.mapped, os.Getenv("IBSM_NODE_NAME_MAP")); file != "" {
		given, text, err := readNames(file, cmp.Or[io.Writer](a.stderr, io.Discard))
		if err != nil {
			return fmt.Errorf("node-name-map: %w", err)
		}
		a.names = given
		a.Named(text)
	}
	return nil
}

// stoppedPatience is how long the manager may take for its first reply before its process is looked at.
const stoppedPatience = 2 * time.Second

// firstReply waits for the first reply of the manager, unless its process is stopped.
func firstReply[T any](a *asker, asked <-chan T) (given T, err error) {
	for late := time.NewTimer(stoppedPatience); ; late.Reset(stoppedPatience) {
		select {
		case given = <-asked:
			late.Stop()
			return given, nil
		case <-late.C:
			if a.Remote() {
				continue
			}
			if pid, ok := stopped(a.Address()); ok {
				return given, cli.WithHint(fmt.Errorf("%s: the manager does not answer: process %d is stopped", a.Address(),
					pid),
					fmt.Sprintf("continue it with kill -CONT %d, or restart the manager", pid))
			}
		}
	}
}

// copy writes the reply as it comes.
func (a *asker) copy(ctx context.Context, method, path string, query url.Values, stdout io.Writer) error {
	body, err := a.Open(ctx, method, path, query)
	if err != nil {
		return a.explain(err)
	}
	defer body.Close()
	_, err = io.Copy(stdout, body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the reply is incomplete")
	}
	return err
}

// value asks for one value, or with --json writes the reply and reports shown.
func (a *asker) value(ctx context.Context, path string, query url.Values, into any, stdout io.Writer) (shown bool,
	err error) {
	if a.json {
		return true, a.copy(ctx, http.MethodGet, path, query, stdout)
	}
	return false, a.explain(a.Get(ctx, path, query, into))
}

// explain adds to an error what a person can do about it.
func (a *asker) explain(err error) error {
	if !errors.Is(err, ctl.ErrUnreachable) || a.Client == nil || a.Remote() {
		return err
	}
	hint := "start a manager with ibsm --ctl_socket " + a.Address() + ", or select another socket with --socket or " +
		ctl.SocketEnv
	if others, _ := sockets(filepath.Dir(a.Address())); len(others) > 0 {
		hint = "select one of the managers on this host: --socket " + strings.Join(others, ", --socket ")
	} else if a.Address() == ctl.DefaultSocket {
		hint = "start a manager with systemctl start ibsm, or select another socket with --socket or " + ctl.SocketEnv
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fs.ErrPermission // a manager may be running there
		hint = "the socket may be used by " + owner(a.Address()) + " only: use sudo, or start ibsm with --ctl_group"
	}
	return cli.WithHint(fmt.Errorf("%s: %w", a.Address(), err), hint)
}

// owner is whom a file belongs to.
func owner(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "other users"
	}
	return ownerOf(info)
}

// query is a query of those parameters that are not "".
func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}
