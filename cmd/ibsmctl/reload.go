package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ibsm/ctl"
)

const reloadUsage = `Usage: ibsmctl config reload [OPTION]...

Makes the manager reload its configuration file, and sweep. A file with an error changes
nothing, and the exit status is 1. Settings that need a restart are listed.
See ibsmctl --help for the common options.
`

func runReload(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("config reload", reloadUsage)
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	r := &ctl.Reloaded{}
	if err := a.Post(ctx, "/v1/reload", nil, r); err != nil {
		return a.explain(err)
	}
	var err error
	if a.json {
		err = writeJSON(stdout, r)
	} else {
		_, err = io.WriteString(stdout, reloadText(r))
	}
	if err == nil && r.Refused {
		err = errors.New("the file has errors: nothing has changed")
	}
	return err
}

// reloadText is what came of a reload, for people.
func reloadText(r *ctl.Reloaded) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&b, f)
	}
	switch {
	case r.Refused:
	case r.File == "":
		b.WriteString("the manager has no configuration file\n")
	case len(r.Changed) == 0:
		fmt.Fprintf(&b, "%s: no changes\n", r.File)
	default:
		fmt.Fprintf(&b, "%s: changed %s\n", r.File, strings.Join(r.Changed, ", "))
	}
	return b.String()
}
