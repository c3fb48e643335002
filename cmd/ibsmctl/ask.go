package main

import (
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

	"github.com/spf13/pflag"

	"ibsm/ctl"
)

// parse reads the command line of a verb that works on files. done reports that nothing is
// left to do: help was printed, or the line is wrong.
func parse(flags *pflag.FlagSet, args []string, stdout io.Writer, usage string) (done bool, err error) {
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		_, err := io.WriteString(stdout, usage)
		return true, err
	case err != nil:
		return true, flagError(flags, err)
	}
	return false, nil
}

// asker is the command line of a verb that asks a manager.
type asker struct {
	*pflag.FlagSet
	*ctl.Client
	usage  string
	args   []string // without options
	json   bool
	names  names
	socket string
	mapped string // the file of names
	help   bool
}

// newAsker is for a verb with a help text. Options of its own are added before parse.
func newAsker(verb, usage string) *asker {
	a := &asker{FlagSet: pflag.NewFlagSet(verb, pflag.ContinueOnError), usage: usage}
	a.SetOutput(io.Discard)
	a.Usage = func() {}
	a.StringVar(&a.socket, "socket", "", "")
	a.BoolVar(&a.json, "json", false, "")
	a.StringVar(&a.mapped, "node-name-map", "", "")
	a.BoolVarP(&a.help, "help", "h", false, "")
	return a
}

// parse reads the command line, on which there are least to most arguments. done reports
// that help was printed.
func (a *asker) parse(args []string, least, most int, stdout io.Writer) (done bool, err error) {
	hint := describes(a.Name())
	if err := a.FlagSet.Parse(args); err != nil {
		return false, flagError(a.FlagSet, err)
	}
	if a.help {
		_, err := io.WriteString(stdout, a.usage)
		return true, err
	}
	switch a.args = a.Args(); {
	case len(a.args) < least:
		return false, &usageError{"an argument is missing", hint}
	case len(a.args) > most:
		return false, &usageError{fmt.Sprintf("unexpected argument %q", a.args[most]), hint}
	}
	a.Client = ctl.NewClient(socketOf(a.socket))
	if file := cmp.Or(a.mapped, os.Getenv("IBSM_NODE_NAME_MAP")); file != "" {
		if a.names, err = readNames(file); err != nil {
			return false, fmt.Errorf("node-name-map: %w", err)
		}
	}
	return false, nil
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
func (a *asker) value(ctx context.Context, path string, query url.Values, into any, stdout io.Writer) (shown bool, err error) {
	if a.json {
		return true, a.copy(ctx, http.MethodGet, path, query, stdout)
	}
	return false, a.explain(a.Get(ctx, path, query, into))
}

// explain adds to an error what a person can do about it.
func (a *asker) explain(err error) error {
	if !errors.Is(err, ctl.ErrUnreachable) {
		return err
	}
	hint := "start a manager with ibsm --ctl_socket " + a.Path() + ", or select another socket with --socket or " + ctl.SocketEnv
	if others, _ := sockets(filepath.Dir(a.Path())); len(others) > 0 {
		hint = "select one of the managers on this host: --socket " + strings.Join(others, ", --socket ")
	} else if a.Path() == ctl.DefaultSocket {
		hint = "start a manager with systemctl start ibsm, or select another socket with --socket or " + ctl.SocketEnv
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fs.ErrPermission // a manager may be running there
		hint = "the socket may be used by " + owner(a.Path()) + " only: use sudo, or start ibsm with --ctl_group"
	}
	return &hinted{fmt.Errorf("%s: %w", a.Path(), err), hint}
}

// owner is whom a file belongs to.
func owner(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "other users"
	}
	return ownerOf(info)
}

// hinted is an error and what to do about it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

func hintFor(err error) string {
	var u *usageError
	var h *hinted
	var f *ctl.Failure
	switch {
	case errors.As(err, &u):
		return u.hint
	case errors.As(err, &h):
		return h.hint
	case errors.As(err, &f):
		return f.Hint
	}
	return ""
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
