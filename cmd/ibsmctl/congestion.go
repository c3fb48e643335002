package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

// shownWaiting is how many ports are listed for a congestion.
const shownWaiting = 10

func (a *asker) congestions(ctx context.Context, _ []string, stdout io.Writer) error {
	list := &ctl.Congestions{}
	if shown, err := a.value(ctx, "/v1/counters/congestion", nil, list, stdout); err != nil || shown {
		return err
	}
	if list.Age < 0 {
		st := &ctl.CounterStatus{}
		if err := a.Get(ctx, "/v1/counters/status", nil, st); err != nil {
			return a.explain(err)
		}
		if st.Age < 0 {
			return noCounters(st)
		}
		return cli.WithHint(fmt.Errorf("the counters have been read only once"),
			"the causes will be known after the next sweep")
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "read %s ago\n", ago(list.Age))
	if len(list.Open) == 0 {
		fmt.Fprintln(&text, "no port waits for another")
	}
	for i := range list.Open {
		c := &list.Open[i]
		fmt.Fprintf(&text, "\n%s\n  %s since %s; %s, equivalent to %.1f ports that always wait\n", a.portOf(&c.Root),
			printable(c.Cause), c.Since.Local().Format(time.DateTime), waiting(c.Ports), c.Weight)
		for k := range c.Waiting[:min(len(c.Waiting), shownWaiting)] {
			fmt.Fprintf(&text, "    %s\n", a.portOf(&c.Waiting[k]))
		}
		if more := len(c.Waiting) - shownWaiting; more > 0 {
			fmt.Fprintf(&text, "    and %s\n", plural.Of(more, "more port"))
		}
	}
	if len(list.Ended) > 0 {
		fmt.Fprintln(&text, "\nended:")
	}
	for i := range list.Ended {
		c := &list.Ended[i]
		fmt.Fprintf(&text, "  %s: %s from %s to %s; %s\n", a.portOf(&c.Root), printable(c.Cause),
			c.Since.Local().Format(time.DateTime), c.Until.Local().Format(time.DateTime), waiting(c.Ports))
	}
	_, err := stdout.Write(text.Bytes())
	return err
}

func waiting(ports int) string {
	if ports == 1 {
		return "1 port waits"
	}
	return fmt.Sprintf("%d ports wait", ports)
}

// portOf is a port and the other end of its cable.
func (a *asker) portOf(p *ctl.PortOf) string {
	return a.endOf(p.Node, p.Desc, p.Port) + a.peerOf(p, " to ")
}

// peerOf is the other end of a port's cable after some words, "" if there is none.
func (a *asker) peerOf(p *ctl.PortOf, words string) string {
	if p.Peer == nil {
		return ""
	}
	return words + a.endOf(p.Peer.Node, p.Peer.Desc, p.Peer.Port)
}

func (a *asker) endOf(node, desc string, port uint8) string {
	return fmt.Sprintf("%s port %d", printable(a.names.of(node, desc)), port)
}
