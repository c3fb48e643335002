package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl/slurm"
)

// What a dump may be: a kind of OpenSM's, or a format of Slurm's.
var (
	kinds   = []string{"lfts", "lid-matrix", "routes", "multicast", "subnet", "guids"}
	formats = []string{string(slurm.Tree), string(slurm.Blocks), string(slurm.YAML)}
)

func newDump(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "dump [OPTION]... {KIND | --format=FORMAT}",
		Short: "dumps in OpenSM's formats, or the topology in Slurm's", Args: cli.Args(0, 1), ValidArgs: kinds, Long: `
Writes one of the manager's dumps to standard output, in OpenSM's format:

  lfts         forwarding tables, as in opensm-lfts.dump
  lid-matrix   hops by port, as in opensm-lid-matrix.dump
  routes       forwarding tables with hops, as in opensm.fdbs
  multicast    multicast forwarding tables, as in opensm.mcfdbs
  subnet       cables, as in opensm-subnet.lst
  guids        LIDs by port GUID, as in guid2lid

or the topology in the format of another program:

  slurm        topology.conf for Slurm's plug-in topology/tree
  slurm-block  topology.conf for topology/block (Slurm 23.11 and later)
  slurm-yaml   topology.yaml with both (Slurm 25.05 and later)

For Slurm, the name of a host is the first word of the NodeDescriptions of its adapters, or
of their names in --node-name-map. Hosts on the same leaf switch, or with several adapters on
the same leaf switches, share a Slurm switch or block. Adapters without a unique host name
are left out and listed in comments.`, Example: `  ibsmctl dump routes > opensm.fdbs
  ibsmctl dump --format=slurm > /etc/slurm/topology.conf
`}
	format := c.Flags().String("format", "", "write the topology in `FORMAT`: slurm, slurm-block or slurm-yaml")
	spec := c.Flags().String("fabric", "",
		"with --format: use the topology of `SPEC` instead of the manager's subnet: a file (ibnetdiscover, ibsim) or a generator such as fattree:k=8")
	cli.Words(c, "format", formats...)
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		const hint = "see ibsmctl dump --help for kinds and formats"
		switch {
		case *format == "" && len(args) == 0:
			return cli.UsageError("an argument is missing", hint)
		case *format == "" && *spec != "":
			return cli.UsageError("--fabric needs --format", hint)
		case *format == "":
			kind, err := oneOf("kind of dump", args[0], kinds)
			if err != nil {
				return err
			}
			return a.copy(ctx, http.MethodGet, "/v1/dump/"+kind, nil, stdout)
		case len(args) > 0:
			return cli.UsageError(fmt.Sprintf("a kind (%s) and a format (%s) exclude each other", args[0], *format),
				hint)
		}
		form, err := oneOf("--format", *format, formats)
		if err != nil {
			return err
		}
		f, err := a.shape(ctx, *spec, false)
		if err != nil {
			return err
		}
		return slurm.Of(f).Write(stdout, slurm.Form(form))
	})
	return c
}
