package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newPortGroups(a *asker) *cobra.Command {
	return &cobra.Command{Use: "port-groups [OPTION]... [NAME]", Short: "port groups and their members",
		Args: cli.Args(0, 1), RunE: a.asking(a.portGroups), Long: `
Lists the port groups of pgrp_policy_file and of the QoS policy: the number of end ports that are
members now, where the group is defined, and its rules. Group names may be used in root_guid_file,
cn_guid_file, io_guid_file and guid_routing_order_file. With NAME it lists the members of that
group: port GUID, node name, port number; a switch is its port 0. ALL, ALL_SWITCHES, ALL_CAS and
ALL_ROUTERS are predefined. Rules that match no port are listed last. docs/port-groups.md describes
the files.`,
		Example: `  ibsmctl port-groups
  ibsmctl port-groups spines
  ibsmctl port-groups --json ALL_SWITCHES
`}
}

// portGroups lists groups, or the members of one.
func (a *asker) portGroups(ctx context.Context, args []string, stdout io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	filter := query("group", name)
	if a.json {
		return a.copy(ctx, http.MethodGet, "/v1/"+string(ctl.PortGroups), filter, stdout)
	}
	groups := &table{columns: []column{{head: "GROUP"}, {head: "PORTS", right: true}, {head: "DEFINED AT"},
		{head: "LISTS", yields: true}}}
	members := &table{columns: []column{{head: "PORT GUID"}, {head: "NODE", yields: true}, {head: "PORT", right: true}}}
	unmatched := &table{columns: []column{{head: "NO PORT MATCHES", yields: true}, {head: "OF GROUP"}, {head: "AT"}}}
	missing := 0
	err := ctl.All(ctx, a.Client, http.MethodGet, "/v1/"+string(ctl.PortGroups), filter, func(g *ctl.PortGroup) error {
		groups.add(printable(g.Name), strconv.Itoa(g.Ports), printable(g.Position), printable(g.Lists))
		for i := range g.Members {
			m := &g.Members[i]
			members.add(m.GUID, printable(a.names.of(m.Node, m.Desc)), strconv.Itoa(int(m.Port)))
		}
		for _, u := range g.Unmatched {
			missing++
			unmatched.add(printable(u.Rule), printable(g.Name), printable(u.Position))
		}
		return nil
	})
	if err != nil {
		return a.explain(err)
	}
	shown := groups
	if name != "" {
		shown = members
	}
	if err := shown.print(stdout, terminalWidth(stdout)); err != nil || missing == 0 {
		return err
	}
	if _, err := fmt.Fprintln(stdout); err != nil {
		return err
	}
	return unmatched.print(stdout, terminalWidth(stdout))
}
