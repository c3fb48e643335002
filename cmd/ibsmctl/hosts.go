package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/ctl/kube"
)

func newHosts(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "hosts [OPTION]... [NAME]", Short: "hosts and the ports of their adapters",
		Args: cli.Args(0, 1), Long: `
Lists the ports of channel adapters by host: device, LID, state, rail, unit, block, leaf and port
GUID. A host is the adapters whose NodeDescriptions begin with its name, as in partitions.conf. With
NAME it lists that host, the hosts of a pattern such as node[001-100] or rack1-*, or the host of a
GUID: of a port, an adapter, or a vPort (virtual function). With --rail and --device it lists only
the ports of these rails and adapters, and the blocks that they make.

A host is marked ambiguous if two nodes have the same NodeDescription: partitions then leave out all
hosts of that name. Such adapters, and those without a name, are of one host if they have the same
SystemImageGUID. Rails and units are those of ibsmctl rails. A block is the leaves that the same
hosts are on, as in ibsmctl dump slurm-block.

With --labels it writes the labels of Kubernetes' nodes: a node in each line, then a label for each
tier. Tier 0 is the leaf switch, or the leaf switches that the same hosts are on. Nodes have the
names of hosts in lower case. Adapters and hosts that are left out are listed on standard error.`,
		Example: `  ibsmctl hosts
  ibsmctl hosts --rail 1 'rack1-*'
  ibsmctl hosts --json node7
  ibsmctl hosts --labels --device 'mlx5_[0-7]' | xargs -L 1 kubectl label --overwrite node
`}
	var chosen adapters
	chosen.define(c)
	labels := c.Flags().Bool("labels", false, "write labels of nodes for kubectl label")
	prefix := labelPrefix(c)
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		switch {
		case *labels && len(args) > 0:
			return cli.UsageError("--labels writes the labels of all hosts, and takes no NAME", "")
		case *labels && a.json:
			return cli.UsageError("--labels and --json exclude each other", "")
		case *labels:
			return a.labels(ctx, stdout, &chosen, *prefix)
		case c.Flags().Changed("label-prefix"):
			return cli.UsageError("--label-prefix needs --labels", "")
		}
		return a.hosts(ctx, args, stdout, &chosen)
	})
	return c
}

// labels writes labels of nodes.
func (a *asker) labels(ctx context.Context, stdout io.Writer, chosen *adapters, prefix string) error {
	if err := checkPrefix(prefix); err != nil {
		return err
	}
	t, err := a.topology(ctx, "", chosen)
	if err != nil {
		return err
	}
	nodes := kube.Of(t)
	for _, why := range nodes.LeftOut {
		fmt.Fprintln(a.stderr, "left out:", printable(why))
	}
	return nodes.Write(stdout, kube.Labels, prefix)
}

// hosts lists hosts, a port in each line.
func (a *asker) hosts(ctx context.Context, args []string, stdout io.Writer, chosen *adapters) error {
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
	return rows(ctx, a, "/v1/"+string(ctl.Hosts), chosen.query(query("name", name)), stdout, t, func(h *ctl.Host) {
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
