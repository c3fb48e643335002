package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"ibsm/opensm/migrate"
)

// check prints what runs on this host, what it needs, and what would move if ibsm took over now.
func (c *migrateCommand) check(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	host, err := findHost(ctx)
	if err != nil {
		return err
	}
	for _, line := range host.Lines() {
		fmt.Fprintln(c.stdout, printable(line))
	}
	plan := host.To()
	printRemarks(c.stdout, &plan)
	managers := host.Managers()
	wrong := c.checkFiles(ctx, managers)
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if s.Kind != migrate.Compare {
			continue
		}
		fmt.Fprintf(c.stdout, "%s: %s\n", s.Text, printable(shown(s.Argv)))
		dry, err := dryRun(ctx, s.Argv)
		if err != nil {
			fmt.Fprintf(c.stdout, "  error: %s\n", printable(err.Error()))
			wrong = true
			continue
		}
		for _, line := range dryRunText(dry) {
			fmt.Fprintf(c.stdout, "  %s\n", printable(line))
		}
		wrong = wrong || moves(dry)
	}
	for i := range managers {
		file := managers[i].SADump
		if had, err := readRegistrations(file); err == nil {
			fmt.Fprintf(c.stdout, "%s, of %s: %v\n", file, modified(file).Local().Format("2006-01-02 15:04:05"), had)
		}
	}
	if wrong || plan.Refused != nil || plan.Changes != nil {
		return errors.New("migrate to would refuse; see above")
	}
	fmt.Fprintln(c.stdout, "ibsmctl migrate to shows the steps")
	return nil
}

// checkFiles prints the errors of the managers' files and of the files that they name, as ibsmctl config check
// does, and reports whether a start would be refused.
func (c *migrateCommand) checkFiles(ctx context.Context, managers []migrate.OpenSM) (wrong bool) {
	checked := map[string]bool{}
	for i := range managers {
		file := managers[i].Config
		if checked[file] {
			continue
		}
		checked[file] = true
		findings, refused, err := checkConfig(ctx, file, false)
		if err != nil {
			fmt.Fprintf(c.stdout, "error: %v\n", err)
		}
		for _, f := range findings {
			fmt.Fprintln(c.stdout, f)
		}
		wrong = wrong || err != nil || refused
	}
	return wrong
}
