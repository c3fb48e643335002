package main

import (
	"bytes"
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/atomicfile"
	"ibsm/cmd/cli"
	"ibsm/topo/net"
)

const genExamples = `  ibfabric gen fattree:k=8 -o small.net           128 hosts, 80 switches, three levels
  ibfabric gen fattree:k=36,levels=2              648 hosts, 54 switches
  ibfabric gen fattree:k=16,missing-links=5%,seed=7
                                                  each seed a different 5% missing
  ibfabric gen torus:dims=8x8x8,hosts=2,speed=NDR
`

func newGen() *cobra.Command {
	c := &cobra.Command{Use: "gen SPEC [OPTION]...", Short: "write a generated topology", Args: cli.Args(1, 1),
		ValidArgsFunction: cobra.NoFileCompletions, Example: genExamples, Long: `
Writes a generated topology in the format of ibnetdiscover. ibsim and ibsm --fabric can load
it; ibsm --fabric also accepts the SPEC itself.

SPEC is KIND or KIND:KEY=VALUE,KEY=VALUE,... The same SPEC always gives the same
fabric. Kinds and their keys:

` + indent(net.Help())}
	output := c.Flags().StringP("output", "o", "", "write to `FILE` instead of standard output")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		fabric, err := net.Generate(args[0])
		if err != nil {
			return specUsage(err)
		}
		if fabric.Functions > 0 {
			return cli.UsageError("a topology file has no virtual functions",
				"leave out functions, or give the SPEC to ibfabric serve or ibsm --fabric")
		}
		if *output == "" {
			return net.Write(cmd.OutOrStdout(), fabric)
		}
		var topology bytes.Buffer
		if err := net.Write(&topology, fabric); err != nil {
			return err
		}
		return atomicfile.Write(*output, 0o666, topology.Bytes())
	}
	return c
}

// specUsage gives an error of a SPEC its hint.
func specUsage(err error) error {
	hint := "ibfabric gen --help describes every kind and key"
	if spec := (*net.SpecError)(nil); errors.As(err, &spec) {
		hint = cmp.Or(spec.Hint, hint)
	}
	return cli.UsageError(err.Error(), hint)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
