package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/plural"
)

func (c *configCommand) reload(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	r := &ctl.Reloaded{}
	if err := c.Post(ctx, "/v1/reload", nil, r); err != nil {
		return c.explain(err)
	}
	var err error
	if c.json {
		err = writeJSON(c.stdout, r)
	} else {
		_, err = io.WriteString(c.stdout, reloadText(r))
	}
	inError := func(f ctl.Finding) bool {
		return f.Severity == conf.Refusal.String() && f.Key == conf.PartitionConfigFile.Key().Name
	}
	switch {
	case err != nil:
		return err
	case r.Refused:
		return errors.New("the file has errors: nothing was changed")
	case slices.ContainsFunc(r.Findings, inError):
		return errors.New("the partition file was rejected: the partitions were not changed")
	}
	return nil
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
	switch p := r.Partitions; {
	case p == nil:
	case p.Changed:
		fmt.Fprintf(&b, "%s: %s applied\n", p.File, plural.Of(p.Count, "partition"))
	default:
		fmt.Fprintf(&b, "%s: no changes\n", p.File)
	}
	return b.String()
}
