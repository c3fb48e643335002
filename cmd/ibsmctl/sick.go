package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newSick(a *asker) *cobra.Command {
	return &cobra.Command{Use: "sick [OPTION]...", Short: "links whose ports count too many errors", Args: cli.Args(0, 0), RunE: a.asking(a.sick), Long: `
Shows the links that are beyond a limit for errors, by the rules of sick_rules_file, with the port
that receives badly, and whether there is another way around it. It is a report: no link is
changed. A link is shown until it has been within all limits for 126 minutes, and longer each time
it relapses. perfmgr must be on; docs/health.md says what to do with the cable.`}
}

func (a *asker) sick(ctx context.Context, _ []string, stdout io.Writer) error {
	s := &ctl.SickLinks{}
	if shown, err := a.value(ctx, "/v1/links/sick", nil, s, stdout); err != nil || shown {
		return err
	}
	if s.Age < 0 {
		return cli.WithHint(fmt.Errorf("no reading of counters has been judged yet"), "see ibsmctl counters")
	}
	rules := map[string]*ctl.SickRule{}
	for i := range s.Rules {
		rules[s.Rules[i].Name] = &s.Rules[i]
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s by %s, of counters read %s ago\n", several(len(s.Links)+s.More, "sick link"), several(len(s.Rules), "rule"), ago(s.Age))
	for i := range s.Links {
		l := &s.Links[i]
		r := cmp.Or(rules[l.Rule], &ctl.SickRule{})
		fmt.Fprintf(&text, "\n%s%s: %s\n  %s %d in %s, more than %d (%s)\n", a.endOf(l.Node, l.Desc, l.Port), a.peerOf(&l.PortOf, " receives badly from "), printable(l.Rule), strings.Join(r.Counters, ", "), l.Counted, ago(r.Window), l.Most, r.Limit)
		fmt.Fprintf(&text, "  since %s", l.Since.Local().Format(time.DateTime))
		if l.Relapses > 0 {
			fmt.Fprintf(&text, ", %s", several(l.Relapses, "relapse"))
		}
		way := "there is another way: ibsmctl drain takes it out of use"
		if l.Only {
			way = "there is no other way"
		}
		fmt.Fprintf(&text, "; %s\n", way)
	}
	if s.More > 0 {
		fmt.Fprintf(&text, "\n%s: not listed\n", several(s.More, "more sick link"))
	}
	_, err := stdout.Write(text.Bytes())
	return err
}
