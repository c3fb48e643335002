package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"ibsm/cmd/cli"
	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/partitions"
	"ibsm/plural"
)

// applyPoll is how often apply asks whether the file is in force.
const applyPoll = 100 * time.Millisecond

// checkPatience is how long check waits for a manager, which it can do without.
const checkPatience = 10 * time.Second

// partitionFile is the file to work with where none is named: that of a running manager,
// so that what is edited is what apply brings into force.
func (a *asker) partitionFile(ctx context.Context) (string, error) {
	key := conf.PartitionConfigFile.Key()
	named := cmp.Or(a.socket, os.Getenv(ctl.SocketEnv))
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	if err := a.connect(ctx); err != nil {
		return "", err
	}
	if a.Remote() {
		return "", a.notHere("partition file")
	}
	all := &ctl.Configuration{}
	if err := a.Get(ctx, "/v1/config", nil, all); err != nil {
		if others, _ := sockets(filepath.Dir(ctl.DefaultSocket)); named == "" && errors.Is(err, ctl.ErrUnreachable) &&
			others == nil {
			return conf.UsualFile(key.Default, conf.Environment{ReadFile: os.ReadFile}), nil
		}
		return "", cli.WithHint(fmt.Errorf("cannot ask the manager for its partition file: %s: %w", a.Address(), err),
			"select the file with --file")
	}
	for _, s := range all.Settings {
		if s.Key == key.Name && filepath.IsAbs(s.Value) {
			return s.Value, nil
		}
	}
	return "", cli.WithHint(errors.New("the manager does not report the path of its partition file"),
		"select the file with --file")
}

// apply shows what the manager's partition file changes, has it brought into
// force, and waits until the ports hold it.
func (c *partitionsCommand) apply(ctx context.Context, _ []string) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	plan := &partitionRows{}
	err := c.PlanPartitions(ctx, nil, plan.add)
	plan.file.Dangerous = plan.file.Dangerous && !c.force
	if err == nil && !c.dryRun && !plan.file.Refused && !plan.file.Dangerous {
		again := &partitionRows{}
		if err = c.ApplyPartitions(ctx, c.force, again.add); again.file.Refused {
			plan = again // it was changed meanwhile
		}
	}
	if err != nil {
		return c.explain(err)
	}
	if err := plan.print(c.stdout, c.asker); err != nil || c.dryRun {
		return err
	}
	if plan.file.Dangerous {
		return dangerous(plan.file.Name)
	}
	if err := c.keepApplied(ctx); err != nil {
		fmt.Fprintln(c.stderr, "ibsmctl: the file's previous version was not saved:", err)
	}
	from := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	tick := time.NewTicker(applyPoll)
	defer tick.Stop()
	for {
		left := &partitionRows{}
		err := c.PlanPartitions(ctx, nil, left.add)
		switch failed := (*ctl.Failure)(nil); {
		case err != nil && ctx.Err() == nil && !errors.As(err, &failed): // another one may be planning
			return c.explain(err)
		case err == nil && left.file.InForce:
			if !c.json {
				_, err = fmt.Fprintf(c.stdout, "applied after %v\n", time.Since(from).Round(time.Millisecond))
			}
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf(
				"not applied after %v: %d P_Key table entries differ; see ibsmctl partitions diff, ibsmctl status and the manager's log", c.wait, len(left.changes))
		case <-tick.C:
		}
	}
}

// keepApplied saves the version of the manager's file that is applied, if it is on this host.
func (c *partitionsCommand) keepApplied(ctx context.Context) error {
	if c.Remote() {
		return nil
	}
	file, err := c.partitionFile(ctx) // with an absolute path
	if err != nil {
		return err
	}
	return keepEdited(file)
}

// diff shows what a file would change.
func (c *partitionsCommand) diff(ctx context.Context, args []string) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	if len(args) == 1 {
		c.file = args[0]
	}
	var text []byte
	if c.file != "" {
		f, err := readPartitions(c.file)
		if err != nil {
			return err
		}
		text = []byte(f.Src)
		if len(text) == 0 {
			text = []byte("\n") // as none is the manager's own file
		}
	}
	rows := &partitionRows{named: c.file}
	if err := c.PlanPartitions(ctx, text, rows.add); err != nil {
		return c.explain(err)
	}
	return rows.print(c.stdout, c.asker)
}

// dangerous refuses a file for its dangerous lines.
func dangerous(name string) error {
	return cli.WithHint(fmt.Errorf("%s has dangerous lines: the partitions in force are not changed", name),
		"fix the lines, or use --force")
}

// partitionRows are what a manager says to a partition file.
type partitionRows struct {
	named    string // the file, where it is not the manager's
	file     ctl.PartitionFile
	findings []ctl.Finding
	changes  []ctl.PKeyChange
}

func (r *partitionRows) add(row *ctl.PartitionRow) error {
	switch {
	case row.File != nil:
		r.file = *row.File
	case row.Finding != nil:
		f := *row.Finding
		f.File = cmp.Or(r.named, f.File)
		r.findings = append(r.findings, f)
	case row.Change != nil:
		r.changes = append(r.changes, *row.Change)
	}
	return nil
}

// print prints them; the error says that the file has errors.
func (r *partitionRows) print(stdout io.Writer, a *asker) error {
	name := cmp.Or(r.named, r.file.Name)
	if a.json {
		out := struct {
			File     ctl.PartitionFile `json:"file"`
			Findings []ctl.Finding     `json:"findings"`
			Changes  []ctl.PKeyChange  `json:"changes"`
		}{r.file, append([]ctl.Finding{}, r.findings...), append([]ctl.PKeyChange{}, r.changes...)}
		out.File.Name = name
		if err := writeJSON(stdout, out); err != nil {
			return err
		}
	} else {
		var text bytes.Buffer
		for _, f := range r.findings {
			fmt.Fprintln(&text, printable(f.String()))
		}
		if len(r.changes) > 0 {
			t := table{columns: []column{{head: "PORT"}, {head: "NUM", right: true}, {head: "INDEX", right: true},
				{head: "FROM"}, {head: "TO"}, {head: "NODE", yields: true}}}
			for _, c := range r.changes {
				t.add(c.GUID, fmt.Sprint(c.Num), fmt.Sprint(c.Index), cmp.Or(c.From, "-"), cmp.Or(c.To, "-"),
					printable(c.Desc))
			}
			if err := t.print(&text, terminalWidth(stdout)); err != nil {
				return err
			}
		}
		if !r.file.Refused {
			fmt.Fprintln(&text, plural.With(len(r.changes), "P_Key table entry changes", "P_Key table entries change"))
		}
		if _, err := stdout.Write(text.Bytes()); err != nil {
			return err
		}
	}
	if r.file.Refused {
		return fmt.Errorf("%s has errors: the partitions in force are not changed", name)
	}
	return nil
}

// why prints the line that puts a port into a partition.
func (c *partitionsCommand) why(ctx context.Context, args []string) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	w := &ctl.Why{}
	shown, err := c.value(ctx, "/v1/partitions/why", query("port", c.names.resolve(args[0]), "pkey", args[1]), w,
		c.stdout)
	if shown || err != nil {
		return err
	}
	verdict := "is not in " + w.PKey + ": no line lists it"
	switch {
	case w.Partition == "":
		verdict = "is not in " + w.PKey + ": no partition has this key"
	case w.Member != "":
		verdict = fmt.Sprintf("is a %s member of %s (%s) by %s, ", w.Member, w.PKey, w.Partition, w.Rule) +
			cmp.Or(w.Position, w.Caller, "the implicit default")
	}
	held := "its P_Key table has " + w.Current
	if w.Current == "" {
		held = "its P_Key table does not have this P_Key"
	}
	_, err = fmt.Fprintf(c.stdout, "%s %s %s; %s\n", w.Port, printable(c.names.of(w.Port, w.Desc)), printable(verdict),
		held)
	return err
}

// showRunning prints what ports hold.
func (c *partitionsCommand) showRunning(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	q := query("node", c.names.resolve(c.node))
	if c.json {
		return c.copy(ctx, "GET", "/v1/pkeys", q, c.stdout)
	}
	t := table{columns: []column{{head: "PORT"}, {head: "NUM", right: true}, {head: "INDEX", right: true},
		{head: "P_KEY"}, {head: "MEMBER"}, {head: "CHECKED"}, {head: "PARTITION", yields: true},
		{head: "NODE", yields: true}}}
	err := ctl.All(ctx, c.Client, "GET", "/v1/pkeys", q, func(k *ctl.PKey) error {
		if k.Stopped {
			k.Checked += ", drops it"
		}
		num := fmt.Sprint(k.Num)
		if k.VPort != nil {
			num += fmt.Sprintf(" vPort %d", *k.VPort)
		}
		t.add(k.Port, num, fmt.Sprint(k.Index), k.PKey, k.Member, k.Checked,
			printable(cmp.Or(k.Partition, "-")), printable(c.names.of(k.Port, k.Desc)))
		return nil
	})
	if err != nil {
		return c.explain(err)
	}
	return t.print(c.stdout, terminalWidth(c.stdout))
}

// fabricFindings are what a manager, if one answers, adds to those about the file alone.
func (a *asker) fabricFindings(ctx context.Context, f *partitions.File, known []ctl.Finding) (found []ctl.Finding,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	if err := a.connect(ctx); err != nil {
		return nil, err
	}
	rows := &partitionRows{named: f.Name}
	if f.Src == "" {
		return nil, nil
	}
	if err := a.PlanPartitions(ctx, []byte(f.Src), rows.add); err != nil {
		if a.Remote() { // which was asked for
			return nil, err
		}
		return nil, nil
	}
	said := map[ctl.Finding]bool{}
	for _, k := range known {
		said[k] = true
	}
	for _, r := range rows.findings {
		if !said[r] {
			found = append(found, r)
		}
	}
	return found, nil
}
