package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/conf"
)

// complete answers the request of a completion script: which options there are, and the words
// or files that their arguments may be. It returns the exit status.
func complete(args []string, stdout io.Writer) int {
	c := &cobra.Command{Use: "ibsm", Run: func(*cobra.Command, []string) {}}
	for _, o := range conf.Options() {
		short := strings.Trim(string(o.Short), "\x00")
		if c.Flags().ShorthandLookup(short) != nil {
			short = "" // OpenSM has -O twice
		}
		if o.Arg == "" {
			c.Flags().BoolP(o.Long, short, false, o.Help)
			continue
		}
		c.Flags().StringP(o.Long, short, "", "`"+o.Arg+"`: "+o.Help)
		if k := conf.Find(o.Key); k != nil && k.Words != nil {
			cli.Words(c, o.Long, k.Words...)
		}
	}
	cli.Complete(c)
	c.SetArgs(args)
	c.SetOut(stdout)
	c.SetErr(io.Discard)
	if c.Execute() != nil {
		return 1
	}
	return 0
}
