package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

func newShow() *cobra.Command {
	c := &cobra.Command{Use: "show FILE|SPEC [OPTION]...", Short: "list nodes and links as JSON", Args: cli.Args(1, 1),
		Example: `  ibfabric show cluster.topo
  ibfabric show torus:dims=8x8 --routes
`, Long: `
Lists the nodes and links of a topology as JSON, in the form of GET /v1/nodes and GET /v1/links of
docs/ctl.md. LIDs are those of FILE, or from 1 on where it does not give each port its own; a cabled
port is ACTIVE. ibsmctl draw --fabric and ibsmctl dump --fabric use it.

FILE is the output of ibnetdiscover or a file for ibsim. SPEC is a generator: ibfabric gen --help
describes them.`}
	routes := c.Flags().Bool("routes", false, "with the number of minhop's routes over each link")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		fabric, err := loadNet(args[0])
		if err != nil {
			return err
		}
		subnet, err := described(cmd.Context(), fabric)
		if err != nil {
			return err
		}
		nodes, err := rowsOf[ctl.Node](subnet, ctl.Nodes, ctl.Filter{})
		if err != nil {
			return err
		}
		links, err := rowsOf[ctl.Link](subnet, ctl.Links, ctl.Filter{Routes: *routes})
		if err != nil {
			return err
		}
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[ctl.List]any{ctl.Nodes: nodes, ctl.Links: links})
	}
	return c
}

// rowsOf are the rows of a list.
func rowsOf[T any](s ctl.Subnet, l ctl.List, f ctl.Filter) (all []*T, err error) {
	rows, err := s.Rows(l, f)
	if err != nil {
		return nil, err
	}
	for row := range rows {
		all = append(all, new(*row.(*T)))
	}
	return all, nil
}

// described is the subnet of a topology as a manager would show it, with minhop's routes. Its LIDs are those of the
// file, or from 1 on if the file has none. A topology file has no port states: each port with a cable is ACTIVE.
func described(ctx context.Context, fabric *net.Net) (ctl.Subnet, error) {
	t, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		return nil, err
	}
	for i := range t.Ports {
		if p := &t.Ports[i]; p.Peer != topo.None {
			p.Info.SetPortState(smp.PortActive)
		}
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		n.Aggregation = n.Type == mad.CA && strings.Contains(n.Desc.String(), "Aggregation Node")
	}
	lids := lidsOf(t)
	tables, err := minhop.Route(ctx, routing.In{Topo: t, LIDs: lids})
	if err != nil {
		return nil, err
	}
	return server.Show(&view.View{Gen: 1, Topo: t, LIDs: lids, Tables: tables,
		Subnet: view.Subnet{Prefix: mad.DefaultPrefix}}), nil
}

// lidsOf are the LIDs that end ports say they have, or LIDs from 1 on unless each has its
// own.
func lidsOf(t *topo.Topo) *topo.LIDs {
	base, lmc := make([]mad.LID, len(t.Ports)), make([]uint8, len(t.Ports))
	taken := map[mad.LID]bool{}
	for _, p := range t.EndPorts {
		info := &t.Ports[p].Info
		base[p], lmc[p] = info.LID(), info.LMC()
		for i := range mad.LID(1) << lmc[p] {
			lid := base[p] + i
			if !lid.IsUnicast() || taken[lid] {
				return topo.SequentialLIDs(t, 0)
			}
			taken[lid] = true
		}
	}
	return topo.NewLIDs(base, lmc)
}
