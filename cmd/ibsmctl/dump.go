package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"ibsm/cmd/ibsmctl/slurm"
)

const dumpUsage = `Usage: ibsmctl dump [OPTION]... KIND
       ibsmctl dump [OPTION]... --format=FORMAT

Writes a file of the manager's to standard output, in OpenSM's format:

  lfts         forwarding tables, as opensm-lfts.dump
  lid-matrix   hops by port, as opensm-lid-matrix.dump
  routes       forwarding tables with hops, as opensm.fdbs
  multicast    multicast tables, as opensm.mcfdbs
  subnet       cables, as opensm-subnet.lst
  guids        LIDs by port GUID, as guid2lid

or the shape of the subnet in another program's:

  slurm        topology.conf for Slurm's plug-in topology/tree
  slurm-block  topology.conf for topology/block (Slurm 23.11 and later)
  slurm-yaml   topology.yaml with both (Slurm 25.05 and later)

For Slurm a host is the first word of its adapters' NodeDescriptions, or of the names
that --node-name-map gives them. Hosts on the same leaf, or with several adapters on the
same leafs, share a switch or block. Adapters whose name is no host's, or not theirs
alone, are named in comments and left out.

Options:
      --format FORMAT   slurm, slurm-block or slurm-yaml
      --fabric SPEC     with --format: not the manager's subnet, but that of a topology
                        file (ibnetdiscover, ibsim) or a generator such as fattree:k=8
ibsmctl --help describes the others; --json changes nothing.

Examples:
  ibsmctl dump routes > opensm.fdbs
  ibsmctl dump --format=slurm > /etc/slurm/topology.conf
`

func runDump(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("dump", dumpUsage)
	format := a.String("format", "", "")
	spec := a.String("fabric", "", "")
	if done, err := a.parse(args, 0, 1, stdout); done || err != nil {
		return err
	}
	const hint = "ibsmctl dump --help lists kinds and formats"
	switch {
	case *format == "" && len(a.args) == 0:
		return &usageError{"an argument is missing", hint}
	case *format == "" && *spec != "":
		return &usageError{"--fabric is for --format alone", hint}
	case *format == "":
		kind, err := oneOf("kind of dump", a.args[0], arguments["dump"])
		if err != nil {
			return err
		}
		return a.copy(ctx, http.MethodGet, "/v1/dump/"+kind, nil, stdout)
	case len(a.args) > 0:
		return &usageError{fmt.Sprintf("both a kind (%s) and a format (%s)", a.args[0], *format), hint}
	}
	form, err := oneOf("--format", *format, values["dump --format"])
	if err != nil {
		return err
	}
	f, err := a.shape(ctx, *spec, false)
	if err != nil {
		return err
	}
	return slurm.Of(f).Write(stdout, slurm.Form(form))
}
