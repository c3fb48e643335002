package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/opensm/migrate"
)

// migrateCommand is ibsmctl migrate.
type migrateCommand struct {
	*asker
	yes, dryRun, force bool
	wait               time.Duration
}

func newMigrate(a *asker) *cobra.Command {
	c := &migrateCommand{asker: a}
	cmd := &cobra.Command{Use: "migrate [VERB] [OPTION]...", Short: "go from OpenSM to ibsm on this host, or back",
		Long: `
Moves the subnets of this host from OpenSM to ibsm, or back, and keeps LIDs, routes, P_Keys,
multicast groups and their members. check, the default, shows which managers run, what they
require, and what would change in the subnet if ibsm took over now. to and back print their steps:
commands, and edits of files with the lines that change. With --yes they also execute the steps.
They need root.

to makes OpenSM write its registrations to a file and computes what ibsm would change. It refuses
if LIDs, routes or P_Key indexes in use would change, unless --force is given. Then it stops and
disables OpenSM's units, enables and starts ibsm, and compares LIDs and registrations with the
previous ones. back does the same in the other direction. If the new manager does not come up
within TIME, or registrations are lost, the previous manager is started again.

Exit status: 0 success, 1 failure or check finds that to would refuse, 2 wrong usage.`,
		Example: `  ibsmctl migrate check
  ibsmctl migrate to
  ibsmctl migrate to --yes
`}
	f := cmd.PersistentFlags()
	f.BoolVar(&c.yes, "yes", false, "to, back: execute the steps")
	f.BoolVarP(&c.dryRun, "dry-run", "n", false, "to, back: only print the steps (the default)")
	f.BoolVar(&c.force, "force", false, "to: accept changes of LIDs, routes or P_Key indexes, and settings that differ")
	f.DurationVar(&c.wait, "wait", 2*time.Minute, "to, back: wait at most `TIME` for a manager")
	verb := a.verbsOf(cmd)
	check := func(ctx context.Context, _ []string) error { return c.check(ctx) }
	by := func(decide func(*migrate.Host) migrate.Plan) func(context.Context, []string) error {
		return func(ctx context.Context, _ []string) error { return c.migrate(ctx, decide) }
	}
	cli.Takes(verb("check", "show the running managers, their requirements, and what would change", 0, 0, check))
	cli.Takes(verb("to", "go from OpenSM to ibsm", 0, 0, by((*migrate.Host).To)), "yes", "dry-run", "force", "wait")
	cli.Takes(verb("back", "go from ibsm to OpenSM", 0, 0, by((*migrate.Host).Back)), "yes", "dry-run", "wait")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.stdout, a.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
		return check(cmd.Context(), args)
	}
	return cmd
}

// errNotRoot is why nothing is done for other users.
var errNotRoot = errors.New("ibsmctl migrate needs root, because it reads OpenSM's files and the port, " +
	"and starts and stops units; use sudo")

// migrate prints a plan, and with --yes carries it out.
func (c *migrateCommand) migrate(ctx context.Context, decide func(*migrate.Host) migrate.Plan) error {
	if c.yes && c.dryRun {
		return cli.UsageError("--yes and --dry-run exclude each other", "ibsmctl migrate --help")
	}
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	host, err := findHost(ctx)
	if err != nil {
		return err
	}
	plan := decide(host)
	printRemarks(c.stdout, &plan)
	switch {
	case plan.Refused != nil:
		return errors.New("nothing was done")
	case !c.yes:
		c.printSteps(&plan)
		return nil
	case plan.Changes != nil && !c.force:
		return cli.WithHint(errors.New("settings would change; nothing was done"),
			"edit the files so that ibsm starts with OpenSM's settings, or accept the change with --force")
	}
	r := &runner{out: c.stdout, socket: c.socket, wait: c.wait, force: c.force, managers: host.Managers()}
	return r.run(ctx, &plan)
}

// printRemarks prints what stands against a plan, and what it costs.
func printRemarks(w io.Writer, plan *migrate.Plan) {
	for _, list := range []struct {
		head  string
		texts []string
	}{{"refused", plan.Refused}, {"differs", plan.Changes}, {"note", plan.Notes}} {
		for _, text := range list.texts {
			fmt.Fprintf(w, "%s: %s\n", list.head, printable(text))
		}
	}
}

// printSteps prints the steps of a plan without doing them.
func (c *migrateCommand) printSteps(plan *migrate.Plan) {
	for i := range plan.Steps {
		printStep(c.stdout, i+1, &plan.Steps[i])
	}
	fmt.Fprintln(c.stdout,
		"\nNothing was done. Use --yes to execute these steps. If one of them fails after the first stop:")
	for i := range plan.Undo {
		printStep(c.stdout, i+1, &plan.Undo[i])
	}
}

// printStep prints a step: what it does, its command, and the lines that it changes in a file.
func printStep(w io.Writer, n int, s *migrate.Step) {
	fmt.Fprintf(w, "%d. %s\n", n, printable(s.Text))
	switch {
	case s.Kind == migrate.SetAside:
		fmt.Fprintf(w, "   mv %s %s\n", s.File, s.Aside)
	case s.Argv != nil:
		fmt.Fprintf(w, "   %s\n", printable(shown(s.Argv)))
	}
	switch {
	case s.Kind == migrate.EditFile && s.Before == nil:
		for line := range strings.Lines(string(s.Content)) {
			fmt.Fprintf(w, "  + %s\n", printable(strings.TrimSuffix(line, "\n")))
		}
	case s.Kind == migrate.EditFile:
		fmt.Fprintln(w, lineDiff(strings.TrimSuffix(string(s.Before), "\n"),
			strings.TrimSuffix(string(s.Content), "\n")))
	}
}

// shown is a command as a shell takes it.
func shown(argv []string) string {
	var words []string
	for _, w := range argv {
		if strings.ContainsAny(w, " \t*?$'\"\\;&|<>()") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}
