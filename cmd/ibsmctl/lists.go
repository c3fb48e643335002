package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
)

const nodesUsage = `Usage: ibsmctl nodes [OPTION]...

Lists the nodes of the subnet: GUID, type, LID, number of Active ports and of all ports,
and name. A node that does not answer but is kept for some sweeps is marked.

Options:
      --type TYPE     CA, switch or router only
      --node NODE     this node only: a GUID or a name
See ibsmctl --help for the common options.
`

const portsUsage = `Usage: ibsmctl ports [OPTION]...

Lists the ports of the subnet: port GUID (all ports of a switch have the same one), node
name, port number, LID, state, link width and speed (for a port that is Down, its physical
state), and peer port.

Options:
      --type TYPE     ports of CAs, switches or routers only
      --node NODE     ports of this node only: a GUID or a name
      --state STATE   Down, Initialize, Armed or Active only
See ibsmctl --help for the common options.
`

const linksUsage = `Usage: ibsmctl links [OPTION]...

Lists the links of the subnet, each once: both ends, the lower state of the two ends, width
and speed. A link that routes avoid is marked. Former links of ports that are now Down are
not listed: see ibsmctl why.

Options:
      --type TYPE     only links whose first end is a CA, switch or router
      --node NODE     links of this node only: a GUID or a name
      --state STATE   Down, Initialize, Armed or Active only
See ibsmctl --help for the common options.
`

// lister is the command line of a list.
type lister struct {
	*asker
	typ, node, state string
}

func newLister(l ctl.List, usage string) *lister {
	a := &lister{asker: newAsker(string(l), usage)}
	a.StringVar(&a.typ, "type", "", "")
	a.StringVar(&a.node, "node", "", "")
	if l != ctl.Nodes {
		a.StringVar(&a.state, "state", "", "")
	}
	return a
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

// show asks for a list and prints it, as a table that row fills.
func show[T any](ctx context.Context, a *lister, args []string, stdout io.Writer, t *table, row func(*T)) error {
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	filter, err := a.filter()
	if err != nil {
		return err
	}
	return rows(ctx, a.asker, "/v1/"+a.Name(), filter, stdout, t, row)
}

func runNodes(ctx context.Context, args []string, stdout io.Writer) error {
	a := newLister(ctl.Nodes, nodesUsage)
	t := &table{columns: []column{{head: "GUID"}, {head: "TYPE"}, {head: "LID", right: true}, {head: "UP", right: true}, {head: "NAME", yields: true}}}
	return show(ctx, a, args, stdout, t, func(n *ctl.Node) {
		name := printable(a.names.of(n.GUID, n.Desc))
		if n.Missed > 0 {
			name += fmt.Sprintf(" (unresponsive for %d sweeps)", n.Missed)
		}
		t.add(n.GUID, n.Type, lid(n.LID), fmt.Sprintf("%d/%d", n.Up, n.Ports), name)
	})
}

func runPorts(ctx context.Context, args []string, stdout io.Writer) error {
	a := newLister(ctl.Ports, portsUsage)
	t := &table{columns: []column{{head: "PORT GUID"}, {head: "NODE", yields: true}, {head: "PORT", right: true}, {head: "LID", right: true},
		{head: "STATE"}, {head: "LINK"}, {head: "PEER", yields: true}, {head: "PORT", right: true}}}
	return show(ctx, a, args, stdout, t, func(p *ctl.Port) {
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
		t.add(p.GUID, printable(a.names.of(p.Node, p.Desc)), strconv.Itoa(int(p.Num)), lid(p.LID), marked(p.State, p.Unhealthy), link, peer, peerPort)
	})
}

func runLinks(ctx context.Context, args []string, stdout io.Writer) error {
	a := newLister(ctl.Links, linksUsage)
	t := &table{columns: []column{{head: "FROM", yields: true}, {head: "PORT", right: true}, {head: "TO", yields: true}, {head: "PORT", right: true},
		{head: "STATE"}, {head: "LINK"}}}
	return show(ctx, a, args, stdout, t, func(l *ctl.Link) {
		t.add(printable(a.names.of(l.From.Node, l.From.Desc)), strconv.Itoa(int(l.From.Port)),
			printable(a.names.of(l.To.Node, l.To.Desc)), strconv.Itoa(int(l.To.Port)), marked(l.State, l.Unhealthy), l.Width+" "+l.Speed)
	})
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
