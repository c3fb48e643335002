package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

func newSick(a *asker) *cobra.Command {
	return &cobra.Command{Use: "sick [OPTION]...", Short: "links whose ports count too many errors",
		Args: cli.Args(0, 0), RunE: a.asking(a.sick), Long: `
Shows the links that exceed an error limit of sick_rules_file, with the port that receives the
errors and the action, and the links that are out of use. With sick_links report, the default, no
link is changed, and the action is only proposed. A link returns to use, and leaves the list, when
it has been within all limits for 126 minutes, or longer after each relapse.
perfmgr must be on; docs/health.md has advice about the cable.`}
}

func newIsolate(a *asker) *cobra.Command {
	var last time.Duration
	c := &cobra.Command{Use: "isolate [OPTION]... SWITCH:PORT", Short: "make routes avoid a link that you suspect",
		Args:              cli.Args(1, 1),
		ValidArgsFunction: a.completeNodes(1), Long: `
Makes routes avoid a link between switches if another path exists, as for sick links. The link
stays up and its counters are still read. This lasts until ibsmctl links heal or the end of --for,
even if the manager restarts or another one takes over. To unplug the link, use ibsmctl drain.`,
		Example: `  ibsmctl links isolate leaf-03:7 --for 12h
  ibsmctl links heal leaf-03:7
`}
	c.Flags().DurationVar(&last, "for", 0, "return the link to use after `TIME`")
	c.RunE = a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
		if last < 0 || last > 0 && last < time.Second {
			return cli.UsageError("--for is at least 1s", cli.See(c))
		}
		return a.changeLink(ctx, "/v1/links/isolate",
			query("port", a.names.resolve(args[0]), "seconds", strconv.Itoa(int(last/time.Second))), "routes avoid",
			stdout)
	})
	return c
}

func newHeal(a *asker) *cobra.Command {
	return &cobra.Command{Use: "heal [OPTION]... SWITCH:PORT", Short: "make routes use a repaired link again",
		Args:              cli.Args(1, 1),
		ValidArgsFunction: a.completeNodes(1),
		RunE: a.asking(func(ctx context.Context, args []string, stdout io.Writer) error {
			return a.changeLink(ctx, "/v1/links/heal", query("port", a.names.resolve(args[0])), "routes may use",
				stdout)
		}), Long: `
Returns a link to use, and forgets its errors and the number of its relapses.
If it exceeds a limit again, it is reported again.`}
}

// changeLink gives an order about a link, and says what it does.
func (a *asker) changeLink(ctx context.Context, path string, q url.Values, does string, stdout io.Writer) error {
	l := &ctl.IsolatedLink{}
	if err := a.Post(ctx, path, q, l); err != nil {
		return a.explain(err)
	}
	until := ""
	if !l.Until.IsZero() {
		until = " until " + l.Until.Local().Format(time.DateTime)
	}
	_, err := fmt.Fprintf(stdout, "%s %s%s%s\n", does, a.endOf(l.Node, l.Desc, l.Port), a.peerOf(&l.PortOf, " to "),
		until)
	return err
}

func (a *asker) sick(ctx context.Context, _ []string, stdout io.Writer) error {
	s := &ctl.SickLinks{}
	if shown, err := a.value(ctx, "/v1/links/sick", nil, s, stdout); err != nil || shown {
		return err
	}
	if s.Age < 0 && len(s.Excluded) == 0 {
		return cli.WithHint(fmt.Errorf("the rules have not been applied to any counters yet"), "see ibsmctl counters")
	}
	rules := map[string]*ctl.SickRule{}
	for i := range s.Rules {
		rules[s.Rules[i].Name] = &s.Rules[i]
	}
	var text bytes.Buffer
	if s.Age < 0 {
		fmt.Fprintln(&text, "the rules have not been applied to any counters yet")
	} else {
		fmt.Fprintf(&text, "%s by %s, from counters read %s ago\n", plural.Of(len(s.Links)+s.More, "sick link"),
			plural.Of(len(s.Rules), "rule"), ago(s.Age))
	}
	for i := range s.Links {
		l := &s.Links[i]
		r := cmp.Or(rules[l.Rule], &ctl.SickRule{})
		fmt.Fprintf(&text, "\n%s%s: %s\n  %s %d in %s, more than %d (%s)\n", a.endOf(l.Node, l.Desc, l.Port),
			a.peerOf(&l.PortOf, " receives errors from "), printable(l.Rule), strings.Join(r.Counters, ", "), l.Counted,
			ago(r.Window), l.Most, r.Limit)
		fmt.Fprintf(&text, "  since %s", l.Since.Local().Format(time.DateTime))
		if l.Relapses > 0 {
			fmt.Fprintf(&text, ", %s", plural.Of(l.Relapses, "relapse"))
		}
		fmt.Fprintf(&text, "; %s\n", whatIsDone(l))
	}
	if len(s.Excluded) > 0 {
		fmt.Fprintf(&text, "\n%s out of use\n", plural.Of(len(s.Excluded), "link"))
	}
	for i := range s.Excluded {
		e := &s.Excluded[i]
		fmt.Fprintf(&text, "  %s%s: %s\n", a.endOf(e.Node, e.Desc, e.Port), a.peerOf(&e.PortOf, " to "), outOfUse(e))
	}
	if s.More > 0 {
		fmt.Fprintf(&text, "\n%s: not listed\n", plural.Of(s.More, "more sick link"))
	}
	_, err := stdout.Write(text.Bytes())
	return err
}

// whatIsDone is what is done about a finding, and if it is less than the rule asks for, why.
func whatIsDone(l *ctl.SickLink) string {
	switch {
	case l.Action == "avoid":
		return "routes avoid it"
	case l.Action == "disable":
		return "it is disabled"
	case l.Obstacle != "":
		return "kept in use: " + l.Obstacle
	case l.Would == "avoid":
		return "routes would avoid it with sick_links avoid"
	case l.Would == "disable":
		return "it would be disabled with sick_links disable"
	}
	return "reported only"
}

// outOfUse says since when a link is out of use, by whom, and until when, if that is known.
func outOfUse(e *ctl.ExcludedLink) string {
	text := "routes avoid it"
	switch {
	case e.State == "returning":
		return "returning: routes use it when it is ACTIVE"
	case e.Action == "disable":
		text = "it is disabled"
	case e.Routes == "":
		text = "routes avoid it from the next sweep on,"
	case e.Routes == "absent":
		text = "down and out of use"
	case e.Routes == "still needed":
		text = "routes still use it, because they need it"
	}
	text += " since " + e.Since.Local().Format(time.DateTime)
	if e.ByHand {
		text += ", by hand"
	}
	switch {
	case !e.Returns.IsZero():
		text += ", returns at " + e.Returns.Local().Format(time.DateTime) + " at the earliest"
	case e.ByHand:
		text += ", until ibsmctl links heal"
	}
	return text
}
