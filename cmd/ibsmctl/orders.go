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

Has the manager look for changes now, and write what is then to be written. It does not
wait for the end of the sweep: ibsmctl events --follow shows it.

Options:
      --light   only ask whether a heavy sweep is needed, as the clock does
ibsmctl --help describes the others.
`

const rerouteUsage = `Usage: ibsmctl reroute [OPTION]...

Has the manager sweep, and compute all routes afresh instead of keeping those that work.
Routes in use may move: ibsmctl plan --reroute shows which.
ibsmctl --help describes the options.
`

const planUsage = `Usage: ibsmctl plan [OPTION]...

Has the manager walk the subnet and compute as for a heavy sweep, and shows each Set that
this sweep would send, in order. Nothing is written, and nothing is remembered.

Options:
      --reroute   as for a reroute
ibsmctl --help describes the others.
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
	_, err := fmt.Fprintf(stdout, "asked for (%s); ibsmctl events --since %d shows what comes of it\n", done.Order, done.Events)
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
