package main

import (
	"context"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newHosts(a *asker) *cobra.Command {
	return &cobra.Command{Use: "hosts [OPTION]... [NAME]", Short: "hosts and the ports of their adapters",
		Args: cli.Args(0, 1), RunE: a.asking(a.hosts), Long: `
Lists the ports of channel adapters by host: device, LID, state, rail, unit, block, leaf and port
GUID. A host is the adapters whose NodeDescriptions begin with its name, as in partitions.conf. With
NAME it lists that host, or the hosts of a pattern such as node[001-100] or rack1-*.

A host is marked ambiguous if two nodes have the same NodeDescription: partitions then leave out all
hosts of that name. Such adapters, and those without a name, are of one host if they have the same
SystemImageGUID. Rails and units are those of ibsmctl rails. A block is the leaves that the same
hosts are on, as in ibsmctl dump --format=slurm-block.`,
		Example: `  ibsmctl hosts
  ibsmctl hosts 'rack1-*'
  ibsmctl hosts --json node7
`}
}

// hosts lists hosts, a port in each line.
func (a *asker) hosts(ctx context.Context, args []string, stdout io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	t := &table{columns: []column{{head: "HOST", yields: true}, {head: "DEVICE", yields: true},
		{head: "LID", right: true}, {head: "STATE"}, {head: "RAIL", right: true}, {head: "UNIT", right: true},
		{head: "BLOCK", yields: true}, {head: "LEAF", yields: true}, {head: "PORT GUID"}}}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	return rows(ctx, a, "/v1/"+string(ctl.Hosts), query("name", name), stdout, t, func(h *ctl.Host) {
		called := printable(h.Name)
		if h.Shared != "" {
			called += " (ambiguous)"
		}
		for i := range h.Ports {
			p := &h.Ports[i]
			leaf := ""
			if p.Leaf != nil {
				leaf = printable(a.names.of(p.Leaf.Node, p.Leaf.Desc))
			}
			t.add(called, printable(p.Device), lid(p.LID), p.State, number(p.Rail), number(p.Unit), printable(p.Block),
				leaf, p.GUID)
		}
	})
}
