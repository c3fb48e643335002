package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

func newPath(a *asker) *cobra.Command {
	return &cobra.Command{Use: "path [OPTION]... FROM TO", Short: "the route from one port to another, hop by hop",
		Args: cli.Args(2, 2), RunE: a.asking(a.path), ValidArgsFunction: a.completeNodes(2), Long: `
Follows the forwarding tables from one port to another. FROM and TO are a LID (17 or 0x11),
a GUID of a port, vPort (virtual function) or node (0x and more than four digits), a GID, a node
name, or NODE:PORT.
The exit status is 1 if the route does not reach TO.`}
}

func (a *asker) path(ctx context.Context, args []string, stdout io.Writer) error {
	// With --json the reply is judged as well, so it is read first.
	p := &ctl.Path{}
	q := query("from", a.names.resolvePort(args[0]), "to", a.names.resolvePort(args[1]))
	if err := a.Get(ctx, "/v1/path", q, p); err != nil {
		return a.explain(err)
	}
	var err error
	if a.json {
		err = writeJSON(stdout, p)
	} else {
		err = a.printPath(p, stdout)
	}
	if err == nil && !p.Arrived {
		err = fmt.Errorf("no route: the packet %s", p.Result)
	}
	return err
}

func (a *asker) printPath(p *ctl.Path, stdout io.Writer) error {
	if p.Links == 0 && p.Arrived && p.From == p.To {
		_, err := fmt.Fprintf(stdout, "%s sends packets for LID %d to itself: they use no link\n", a.portText(&p.From),
			p.DLID)
		return err
	}
	grh := ""
	if p.GRH {
		grh = ", with a GRH to " + p.To.VPort
	}
	if p.Links == 0 && p.Arrived && p.From.Node == p.To.Node && p.From.VPort != p.To.VPort {
		_, err := fmt.Fprintf(stdout, "%s sends to %s within the adapter, to LID %d%s: packets use no link\n",
			a.portText(&p.From), a.portText(&p.To), p.DLID, grh)
		return err
	}
	t := &table{columns: []column{{head: "GUID"}, {head: "NODE", yields: true}, {head: "LID", right: true},
		{head: "IN", right: true}, {head: "OUT", right: true}, {head: "LINK"}}}
	port := func(n uint8) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(int(n))
	}
	lanes := slices.ContainsFunc(p.Hops, func(h ctl.Hop) bool { return h.VL != nil })
	if lanes {
		t.columns = append(t.columns, column{head: "VL", right: true})
	}
	for _, h := range p.Hops {
		link := ""
		if h.Width != "" {
			link = h.Width + " " + h.Speed
		}
		cells := []string{h.Node, printable(a.names.of(h.Node, h.Desc)), lid(h.LID), port(h.In), port(h.Out), link}
		if lanes && h.VL != nil {
			cells = append(cells, strconv.Itoa(int(*h.VL)))
		} else if lanes {
			cells = append(cells, "")
		}
		t.add(cells...)
	}
	if err := t.print(stdout, terminalWidth(stdout)); err != nil || !p.Arrived {
		return err
	}
	sl := ""
	if lanes || p.SL != 0 {
		sl = fmt.Sprintf(", SL %d", p.SL)
	}
	_, err := fmt.Fprintf(stdout, "%s to LID %d%s, %g Gb/s, MTU %d%s\n", plural.Of(p.Links, "link"), p.DLID, grh,
		p.Gbps, p.MTU, sl)
	return err
}
