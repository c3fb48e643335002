package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

func newSweep(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "sweep [OPTION]...", Short: "request a sweep", Args: cli.Args(0, 0), Long: `
Requests a heavy sweep, which reads the subnet and writes all necessary changes. The command
does not wait for the sweep to end: ibsmctl events --follow shows when it does.`}
	light := c.Flags().Bool("light", false, "request a light sweep, which only checks whether a heavy one is needed")
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		kind := ctl.HeavySweep
		if *light {
			kind = ctl.LightSweep
		}
		return a.order(ctx, "/v1/sweep", string(kind), stdout)
	})
	return c
}

func newReroute(a *asker) *cobra.Command {
	return &cobra.Command{Use: "reroute [OPTION]...", Short: "recompute all routes", Args: cli.Args(0, 0),
		RunE: a.asking(a.reroute), Long: `
Requests a heavy sweep that recomputes all routes, including working ones.
Routes in use may change: ibsmctl plan --reroute shows which.`}
}

func (a *asker) reroute(ctx context.Context, _ []string, stdout io.Writer) error {
	return a.order(ctx, "/v1/reroute", "", stdout)
}

func (a *asker) order(ctx context.Context, path, kind string, stdout io.Writer) error {
	done := &ctl.Accepted{}
	if err := a.Post(ctx, path, query("kind", kind), done); err != nil {
		return a.explain(err)
	}
	if a.json {
		return writeJSON(stdout, done)
	}
	what := string(done.Order)
	if done.Order != ctl.Reroute {
		what += " sweep"
	}
	_, err := fmt.Fprintf(stdout, "%s requested; follow it with ibsmctl events --follow --since %d\n", what,
		done.Events)
	return err
}

func newPlan(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "plan [OPTION]...", Short: "show what a heavy sweep would write", Args: cli.Args(0, 0),
		Long: `
Makes the manager discover the subnet and compute routes as in a heavy sweep, and shows in order
each Set that such a sweep would send. Nothing is written or stored. With --reroute, --engine or
--without it also compares the quality of the routes; ibsmctl routes quality explains the figures.
With --without it lists the hosts that would be cut off, and the number of host pairs that would
be disconnected. LIDs that a switch could not reach are counted and listed by reason: routes lost,
no path of cables, or no route that the engine permits.
Sweeps are not delayed; plans queue behind one another. The plan describes the subnet as it was
when read. The last line says whether the subnet may have changed since.`}
	reroute := c.Flags().Bool("reroute", false, "plan a reroute")
	without := c.Flags().StringSlice("without", nil,
		"plan for the failure of a `SWITCH`, a line card, or the cable at SWITCH:PORT; may be repeated")
	list := c.Flags().String("engine", "",
		"plan a reroute with the routing engines in `LIST` instead of the configured ones; other settings and files stay the same")
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		q := query("engine", *list)
		for _, arg := range *without {
			q.Add("without", a.names.resolvePort(arg))
		}
		if *reroute {
			q.Set("reroute", "1")
		}
		return a.plan(ctx, q, stdout)
	})
	return c
}

// plan prints a plan.
func (a *asker) plan(ctx context.Context, q url.Values, stdout io.Writer) error {
	if a.json {
		return a.copy(ctx, http.MethodPost, "/v1/plan", q, stdout)
	}
	count := 0
	out := bufio.NewWriterSize(stdout, 1<<16)
	head, err := a.Client.Plan(ctx, q, func(step *string) error {
		count++
		_, err := fmt.Fprintln(out, printable(a.names.inStep(*step)))
		return err
	})
	if err == nil {
		for _, s := range head.Settings {
			fmt.Fprintf(out, "setting %s: %s -> %s\n", printable(s.Key), printable(s.Before), printable(s.After))
		}
		fmt.Fprintf(out, "%s would be sent; nothing was written\n", plural.Of(count, "Set"))
		fmt.Fprintf(out, "routes: %s\n", printable(head.Routes))
		if head.Unrouted != nil {
			a.printUnrouted(out, head.Unrouted)
		}
		if head.Change != nil {
			printChange(out, head.Change)
		}
		if head.Outdated {
			fmt.Fprintln(out, "the subnet may have changed since it was read for this plan: run the command again")
		}
		err = out.Flush()
	}
	return a.explain(err)
}

// printUnrouted prints the pairs of switch and LID to which the routes of a plan do not lead, by reason.
func (a *asker) printUnrouted(w io.Writer, u *ctl.Unrouted) {
	for _, of := range []struct {
		text  string
		pairs *ctl.Pairs
	}{
		{plural.With(u.Lost.Count, "pair of switch and LID is", "pairs of switch and LID are") +
			" connected by cables but would have no working route", &u.Lost},
		{plural.With(u.Cut.Count, "pair of switch and LID is", "pairs of switch and LID are") +
			" not connected by cables", &u.Cut},
		{u.ByRules, &u.Forbidden},
	} {
		if of.pairs.Count == 0 {
			continue
		}
		fmt.Fprintln(w, printable(of.text))
		for _, p := range of.pairs.Listed {
			to := fmt.Sprintf("LID %v", p.LID)
			if p.To.Node != "" {
				to += fmt.Sprintf(" of %q", a.names.of(p.To.Node, p.To.Desc))
			}
			if of.pairs == &u.Lost {
				to += ": " + p.Reason
			}
			fmt.Fprintf(w, "  from switch %s %q to %s\n", p.From.Node, printable(a.names.of(p.From.Node, p.From.Desc)),
				printable(to))
		}
		if more := of.pairs.Count - len(of.pairs.Listed); more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
	}
}

// printChange compares the routes in force with those of a plan.
func printChange(w io.Writer, c *ctl.PlanChange) {
	line := func(name, format string, before, after any) {
		fmt.Fprintf(w, "  %-30s %12s %12s\n", name, printable(fmt.Sprintf(format, before)),
			printable(fmt.Sprintf(format, after)))
	}
	b, a := &c.Before, &c.After
	line("routes", "%s", "in force", "planned")
	line("routing engine", "%s", b.Engine, a.Engine)
	line("service levels of paths", "%d", b.SLs, a.SLs)
	line("unused link directions", "%d", b.Unused, a.Unused)
	line("routes on the busiest link", "%d", b.Fullest, a.Fullest)
	line("flows on the busiest link, shifts: mean", "%.2f", b.Shift, a.Shift)
	line("  worst shift", "%d", b.Worst, a.Worst)
	if b.RailShift > 0 || a.RailShift > 0 {
		line("  shifts within rails: mean", "%.2f", b.RailShift, a.RailShift)
	}
	line("share of bandwidth in bisections", "%.3f", b.Bisection, a.Bisection)
	if b.Several > 0 || a.Several > 0 {
		line("hosts unreachable if one switch fails", "%.1f %%", b.Cut*100, a.Cut*100)
	}
	for _, note := range a.Notes {
		fmt.Fprintf(w, "%s: %s\n", printable(a.Engine), printable(note))
	}
	for _, r := range a.Refused {
		fmt.Fprintf(w, "%s failed: %s\n", printable(r.Engine), printable(r.Reason))
	}
	if len(c.CutOff) > 0 {
		const most = 16
		names, more := c.CutOff, ""
		if len(names) > most {
			names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
		}
		fmt.Fprintf(w, "%s cut off: %s%s\n", plural.With(len(c.CutOff), "host is", "hosts are"),
			printable(strings.Join(names, ", ")), more)
	}
	if c.PairsCut > 0 {
		fmt.Fprintf(w, "%s would be disconnected\n", plural.With(c.PairsCut, "host pair", "host pairs"))
	}
	fmt.Fprintf(w, "%s in %s of forwarding tables %s, on %s\n", plural.With(c.Entries, "entry", "entries"),
		plural.Of(c.Blocks, "block"), plural.Word(c.Entries, "changes", "change"),
		plural.With(c.Switches, "switch", "switches"))
	fmt.Fprintf(w, "proof: %s\ntransition: %s\n", printable(c.Proof), printable(c.Transition))
}

func writeJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
