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
are left out and listed in comments.

Options:
      --format FORMAT   slurm, slurm-block or slurm-yaml
      --fabric SPEC     with --format: a topology file (ibnetdiscover, ibsim) or a
                        generator such as fattree:k=8, not the manager's subnet
See ibsmctl --help for the common options; --json has no effect.

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
	const hint = "see ibsmctl dump --help for kinds and formats"
	switch {
	case *format == "" && len(a.args) == 0:
		return &usageError{"an argument is missing", hint}
	case *format == "" && *spec != "":
		return &usageError{"--fabric needs --format", hint}
	case *format == "":
		kind, err := oneOf("kind of dump", a.args[0], arguments["dump"])
		if err != nil {
			return err
		}
		return a.copy(ctx, http.MethodGet, "/v1/dump/"+kind, nil, stdout)
	case len(a.args) > 0:
		return &usageError{fmt.Sprintf("a kind (%s) and a format (%s) exclude each other", a.args[0], *format), hint}
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
