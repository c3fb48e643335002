package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/conf"
)

func newCompletion() *cobra.Command {
	return cli.Completion(`
Prints a completion script for bash, zsh or fish, for ibsmctl and ibsm, or for PROGRAM only.
The packages install it; to try it: source <(ibsmctl completion bash)
For bash it needs the package bash-completion.

Node names, GUIDs that begin with 0x, and LIDs are completed with the help of the running manager.
If it does not answer within 200 ms, they are not completed.`, "ibsm")
}

func newManual() *cobra.Command {
	c := &cobra.Command{Use: "manual PAGE [DATE]", Short: "print a man page",
		ValidArgs: []string{"ibsm.8", "ibsmctl.8", "ibsm.conf.5"}, Long: `
Prints a man page, with a date such as 2026-01-31: ibsm.8, ibsmctl.8 or ibsm.conf.5.
The packages install them; to read one: ibsmctl manual ibsm.8 | man -l -`}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		named := append(args, "", "")
		pages := conf.ManPages(named[1])
		pages["ibsmctl.8"] = cli.Page(cmd.Root(), 8, named[1], "ibsm(8), ibsm.conf(5), ibfabric(1)")
		if len(args) > 2 || pages[named[0]] == "" {
			return cli.UsageError("expected one of "+strings.Join(slices.Sorted(maps.Keys(pages)), ", "), cli.See(cmd))
		}
		_, err := io.WriteString(cmd.OutOrStdout(), pages[named[0]])
		return err
	}
	return c
}
