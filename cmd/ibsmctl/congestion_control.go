package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

func newCongestionControl(a *asker) *cobra.Command {
	return &cobra.Command{Use: "congestion-control [OPTION]...", Short: "congestion control settings of each device",
		Args: cli.Args(0, 0), RunE: a.asking(a.congestionControl), Long: `
Shows the configured settings of congestion control, and for each device the attributes it has
accepted or rejected, and whether it does not support the class or does not answer. For congestion
itself see "ibsmctl counters congestion".`}
}

// congestionWords are states of devices in words.
var congestionWords = map[ctl.CongestionState]string{
	ctl.CongestionSet: "has all settings", ctl.CongestionWriting: "is written",
	ctl.CongestionRefuses:  "rejects a setting",
	ctl.CongestionNoAnswer: "does not answer", ctl.CongestionNoClass: "does not support it",
}

func (a *asker) congestionControl(ctx context.Context, _ []string, stdout io.Writer) error {
	c := &ctl.CongestionControl{}
	if shown, err := a.value(ctx, "/v1/congestion-control", nil, c, stdout); err != nil || shown {
		return err
	}
	if !c.Enabled {
		fmt.Fprintln(stdout, "congestion control is off: set congestion_control TRUE to enable it")
		return nil
	}
	config := &ctl.Configuration{}
	if err := a.Get(ctx, "/v1/config", nil, config); err != nil {
		return a.explain(err)
	}
	if len(c.Devices) == 0 {
		fmt.Fprintln(stdout,
			"congestion control is on, but nothing is written until the master completes a heavy sweep")
	} else {
		fmt.Fprintf(stdout, "congestion control is on: %s, %s\n", plural.Of(len(c.Devices), "device"),
			plural.Of(int(c.Requests), "request"))
	}
	for _, state := range ctl.CongestionStates() {
		n := 0
		for i := range c.Devices {
			if c.Devices[i].State == state {
				n++
			}
		}
		if n > 0 {
			fmt.Fprintf(stdout, "  %6d  %s\n", n, congestionWords[state])
		}
	}
	for _, s := range config.Settings {
		if s.Chosen && strings.HasPrefix(s.Key, "cc_") {
			fmt.Fprintf(stdout, "  %s %s\n", s.Key, printable(s.Value))
		}
	}
	if len(c.Devices) == 0 {
		return nil
	}
	fmt.Fprintln(stdout)
	t := &table{columns: []column{{head: "NODE", yields: true}, {head: "PORT", right: true}, {head: "TYPE"},
		{head: "LID", right: true}, {head: "STATE"}, {head: "ATTRIBUTES", yields: true}}}
	for i := range c.Devices {
		d := &c.Devices[i]
		t.add(printable(cmp.Or(a.names.of(d.Node, d.Desc), d.Node)), strconv.Itoa(int(d.Port)), d.Type,
			strconv.Itoa(int(d.LID)),
			cmp.Or(congestionWords[d.State], printable(string(d.State))), printable(attributesOf(d)))
	}
	return t.print(stdout, terminalWidth(stdout))
}

// attributesOf are the attributes of a device in words: blocks of one attribute together.
func attributesOf(d *ctl.CongestionDevice) string {
	var parts []string
	for i, x := range d.Attributes {
		blocks := 0
		for _, y := range d.Attributes {
			if y.Name == x.Name && y.Refused == x.Refused {
				blocks++
			}
		}
		if i > 0 && d.Attributes[i-1].Name == x.Name && d.Attributes[i-1].Refused == x.Refused {
			continue
		}
		text := x.Name
		if blocks > 1 {
			text += fmt.Sprintf(" (%d blocks)", blocks)
		}
		if x.Refused {
			text += " refused"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
