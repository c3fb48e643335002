package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"ibsm/ctl"
)

const sweepUsage = `Usage: ibsmctl sweep [OPTION]...

Requests a heavy sweep, which reads the subnet and writes all necessary changes. The command
does not wait for the end of the sweep: ibsmctl events --follow shows it.

Options:
      --light   request a light sweep, which only checks whether a heavy one is needed
See ibsmctl --help for the common options.
`

const rerouteUsage = `Usage: ibsmctl reroute [OPTION]...

Requests a heavy sweep that recomputes all routes instead of keeping those that work.
Routes in use may change: ibsmctl plan --reroute shows which.
See ibsmctl --help for the common options.
`

const planUsage = `Usage: ibsmctl plan [OPTION]...

Makes the manager discover the subnet and compute as in a heavy sweep, and shows each Set
that this sweep would send, in order. Nothing is written or stored.

Options:
      --reroute   plan as for a reroute
See ibsmctl --help for the common options.
`

func runSweep(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("sweep", sweepUsage)
	light := a.Bool("light", false, "")
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	kind := ctl.HeavySweep
	if *light {
		kind = ctl.LightSweep
	}
	return a.order(ctx, "/v1/sweep", string(kind), stdout)
}

func runReroute(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("reroute", rerouteUsage)
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
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
	_, err := fmt.Fprintf(stdout, "%s requested; follow it with ibsmctl events --follow --since %d\n", what, done.Events)
	return err
}

func runPlan(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("plan", planUsage)
	reroute := a.Bool("reroute", false, "")
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	q := query()
	if *reroute {
		q.Set("reroute", "1")
	}
	if a.json {
		return a.copy(ctx, http.MethodPost, "/v1/plan", q, stdout)
	}
	count := 0
	out := bufio.NewWriterSize(stdout, 1<<16)
	err := ctl.All(ctx, a.Client, http.MethodPost, "/v1/plan", q, func(step *string) error {
		count++
		_, err := fmt.Fprintln(out, printable(*step))
		return err
	})
	if err == nil {
		fmt.Fprintf(out, "%d Sets would be sent; nothing was written\n", count)
		err = out.Flush()
	}
	return a.explain(err)
}

func writeJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
