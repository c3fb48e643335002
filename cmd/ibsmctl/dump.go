package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl/kube"
	"ibsm/ctl/slurm"
)

// What a dump may be: a kind of OpenSM's, or a format of a scheduler's.
var (
	kinds   = []string{"lfts", "lid-matrix", "routes", "multicast", "subnet", "guids"}
	formats = []string{string(slurm.Tree), string(slurm.Blocks), string(slurm.YAML), topograph, string(kube.Kueue),
		string(kube.HyperNode)}
)

// topograph is the format of topograph's models.
const topograph = "topograph"

func newDump(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "dump [OPTION]... {KIND | FORMAT}",
		Short: "dumps in OpenSM's formats, or the topology for schedulers", Args: cli.Args(0, 1),
		ValidArgs: slices.Concat(kinds, formats), Long: `
Writes one of the manager's dumps to standard output, in OpenSM's format:

  lfts         forwarding tables, as in opensm-lfts.dump
  lid-matrix   hops by port, as in opensm-lid-matrix.dump
  routes       forwarding tables with hops, as in opensm.fdbs
  multicast    multicast forwarding tables, as in opensm.mcfdbs
  subnet       cables, as in opensm-subnet.lst
  guids        LIDs by port GUID, as in guid2lid

or the topology in the format of a scheduler:

  slurm        topology.conf for Slurm's plug-in topology/tree
  slurm-block  topology.conf for topology/block (Slurm 23.11 and later)
  slurm-yaml   topology.yaml with both (Slurm 25.05 and later)
  topograph    a model for topograph
  kueue        the Topology of Kueue, for the labels of ibsmctl hosts --labels
  volcano      the HyperNodes of Volcano

For schedulers, the name of a host is the first word of the NodeDescriptions of its adapters, or
of their names in --node-name-map. Hosts on the same leaf switch, or with several adapters on
the same leaf switches, share a switch or block. With --rail and --device only the chosen ports
count: storage adapters on switches of their own should not. Adapters without a unique host name
are left out and listed in comments. docs/pictures.md describes the formats.`, Example: `  ibsmctl dump routes > opensm.fdbs
  ibsmctl dump slurm --device 'mlx5_[0-7]' > /etc/slurm/topology.conf
  ibsmctl dump volcano | kubectl apply -f -
`}
	format := c.Flags().String("format", "", "the same as the argument `FORMAT`")
	spec := c.Flags().String("fabric", "",
		"for schedulers: use the topology of `SPEC` instead of the manager's subnet: a file (ibnetdiscover, ibsim) or a generator such as fattree:k=8")
	var chosen adapters
	chosen.define(c)
	prefix := labelPrefix(c)
	cli.Words(c, "format", formats...)
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		form, err := dumpForm(args, *format)
		if err != nil {
			return err
		}
		if slices.Contains(kinds, form) {
			for _, option := range []string{"fabric", "rail", "device", "label-prefix"} {
				if c.Flags().Changed(option) {
					return cli.UsageError(fmt.Sprintf("--%s needs a format of a scheduler, and %s is none", option, form),
						dumpHint)
				}
			}
			return a.copy(ctx, http.MethodGet, "/v1/dump/"+form, nil, stdout)
		}
		if err := checkPrefix(*prefix); err != nil {
			return err
		}
		t, err := a.topology(ctx, *spec, &chosen)
		if err != nil {
			return err
		}
		return writeTopology(stdout, t, form, *prefix)
	})
	return c
}

const dumpHint = "see ibsmctl dump --help for kinds and formats"

// dumpForm is the kind or the format that the argument, or the option, names.
func dumpForm(args []string, format string) (string, error) {
	switch {
	case format == "" && len(args) == 0:
		return "", cli.UsageError("an argument is missing", dumpHint)
	case format == "":
		return oneOf("kind of dump", args[0], slices.Concat(kinds, formats))
	case len(args) > 0:
		return "", cli.UsageError(fmt.Sprintf("a kind (%s) and a format (%s) exclude each other", args[0], format), dumpHint)
	}
	return oneOf("--format", format, formats)
}

// writeTopology writes a topology in a format of a scheduler.
func writeTopology(w io.Writer, t *slurm.Topology, form, prefix string) error {
	switch form {
	case topograph:
		return kube.WriteModel(w, t)
	case string(kube.Kueue), string(kube.HyperNode):
		return kube.Of(t).Write(w, kube.Form(form), prefix)
	}
	return t.Write(w, slurm.Form(form))
}
