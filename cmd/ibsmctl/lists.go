package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/plural"
)

// lister is the options of a list.
type lister struct {
	*asker
	typ, node, state string
}

// newList is a verb that prints a list as a table, which row fills.
func newList[T any](a *asker, list ctl.List, short, long string, columns []column,
	row func(*table, *T)) *cobra.Command {
	l := &lister{asker: a}
	c := &cobra.Command{Use: string(list) + " [OPTION]...", Short: short, Args: cli.Args(0, 0), Long: long}
	ofType := "only nodes of `TYPE` CA, switch or router"
	if list == ctl.Links {
		ofType = "only links whose first end is of `TYPE` CA, switch or router"
	}
	c.Flags().StringVar(&l.typ, "type", "", ofType)
	c.Flags().StringVar(&l.node, "node", "", "only `NODE`, given by GUID or name")
	cli.Words(c, "type", nodeTypes...)
	if list != ctl.Nodes {
		c.Flags().StringVar(&l.state, "state", "",
			"only ports or links in `STATE` Down, Initialize, Armed, Active or ActiveDefer")
		cli.Words(c, "state", portStates...)
	}
	a.completeNodeOption(c)
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		filter, err := l.filter()
		if err != nil {
			return err
		}
		t := &table{columns: columns}
		return rows(ctx, a, "/v1/"+string(list), filter, stdout, t, func(v *T) { row(t, v) })
	})
	return c
}

// What nodes and ports may be asked for by.
var (
	nodeTypes  = []string{"CA", "switch", "router"}
	portStates = []string{"Down", "Initialize", "Armed", "Active"}
)

// filter is what the options ask for.
func (a *lister) filter() (url.Values, error) {
	var err error
	typ, state := a.typ, a.state
	if typ != "" {
		if typ, err = oneOf("--type", typ, nodeTypes); err != nil {
			return nil, err
		}
	}
	if state != "" && !strings.EqualFold(state, "ActiveDefer") {
		if state, err = oneOf("--state", state, portStates); err != nil {
			return nil, err
		}
	}
	return query("type", typ, "node", a.names.resolve(a.node), "state", state), nil
}

func newNodes(a *asker) *cobra.Command {
	columns := []column{{head: "GUID"}, {head: "TYPE"}, {head: "LID", right: true}, {head: "UP", right: true},
		{head: "NAME", yields: true}}
	return newList(a, ctl.Nodes, "switches, adapters and routers", `
Lists the nodes of the subnet: GUID, type, LID, number of Active ports, number of all ports,
and name. Nodes that have stopped answering but are still kept are marked.`, columns, func(t *table, n *ctl.Node) {
		name := printable(a.names.of(n.GUID, n.Desc))
		if n.Missed > 0 {
			name += fmt.Sprintf(" (unresponsive for %s)", plural.Of(int(n.Missed), "sweep"))
		}
		t.add(n.GUID, n.Type, lid(n.LID), fmt.Sprintf("%d/%d", n.Up, n.Ports), name)
	})
}

func newPorts(a *asker) *cobra.Command {
	columns := []column{{head: "PORT GUID"}, {head: "NODE", yields: true}, {head: "PORT", right: true},
		{head: "LID", right: true},
		{head: "STATE"}, {head: "LINK"}, {head: "PEER", yields: true}, {head: "PORT", right: true}}
	return newList(a, ctl.Ports, "ports, their state and their peers", `
Lists the ports of the subnet: port GUID (the same for all ports of a switch), node
name, port number, LID, state, link width and speed (for a port that is Down, its physical
state), and peer port.`, columns, func(t *table, p *ctl.Port) {
		link, peer, peerPort := p.Physical, "", ""
		if p.Width != "" {
			link = p.Width + " " + p.Speed
		}
		if p.Num == 0 {
			link = ""
		}
		if p.Peer != nil {
			peer, peerPort = printable(a.names.of(p.Peer.Node, p.Peer.Desc)), strconv.Itoa(int(p.Peer.Port))
		}
		t.add(p.GUID, printable(a.names.of(p.Node, p.Desc)), strconv.Itoa(int(p.Num)), lid(p.LID),
			marked(p.State, p.Unhealthy), link, peer, peerPort)
	})
}

func newLinks(a *asker) *cobra.Command {
	columns := []column{{head: "FROM", yields: true}, {head: "PORT", right: true}, {head: "TO", yields: true},
		{head: "PORT", right: true},
		{head: "STATE"}, {head: "LINK"}}
	links := newList(a, ctl.Links, "links between ports", `
Lists each link of the subnet once: both ends, the lower of their states, width and speed.
Links that routes avoid are marked. Links that are Down are not listed: see ibsmctl why.`, columns, func(t *table, l *ctl.Link) {
		t.add(printable(a.names.of(l.From.Node, l.From.Desc)), strconv.Itoa(int(l.From.Port)),
			printable(a.names.of(l.To.Node, l.To.Desc)), strconv.Itoa(int(l.To.Port)), marked(l.State, l.Unhealthy),
			l.Width+" "+l.Speed)
	})
	links.Use = "links [VERB] [OPTION]..."
	links.AddCommand(newSick(a), newIsolate(a), newHeal(a))
	return links
}

// marked is a state, with a mark where routes avoid the link.
func marked(state string, unhealthy bool) string {
	if unhealthy {
		return state + ", avoided"
	}
	return state
}

// lid is empty for none.
func lid(l mad.LID) string {
	if l == 0 {
		return ""
	}
	return l.String()
}
