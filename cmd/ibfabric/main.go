// Command ibfabric works with simulated InfiniBand fabrics.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/conf"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process: 0 is success, 1 a failure, 2 wrong usage.
func run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(context.Background(), program(), args, stdout, stderr, nil)
}

// program is the command line of ibfabric.
func program() *cobra.Command {
	root := &cobra.Command{Use: "ibfabric VERB [OPTION]... [ARGUMENT]...", Short: "simulated InfiniBand fabrics",
		Long: "ibfabric works with simulated InfiniBand fabrics. ibfabric VERB --help describes a verb."}
	root.AddCommand(newGen(), newShow(), newServe(), newRoute(), newBench(), newBenchSA(),
		newBenchEngines(), cli.Completion(`
Prints a completion script for bash, zsh or fish. The packages install it; to try it:
source <(ibfabric completion bash)
For bash it needs the package bash-completion.`),
		&cobra.Command{Use: "manual [DATE]", Short: "print the man page", Args: cli.Args(0, 1), RunE: printManual,
			Long: `
Prints the man page ibfabric.1, with a date such as 2026-01-31 on it.
The packages install it; to read it: ibfabric manual | man -l -`})
	cli.Prepare(root, conf.Version)
	return root
}

func printManual(cmd *cobra.Command, args []string) error {
	_, err := io.WriteString(cmd.OutOrStdout(), cli.Page(cmd.Root(), 1, append(args, "")[0], "ibsm(8), ibsmctl(8)"))
	return err
}
