package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newRoutes(a *asker) *cobra.Command {
	cmd := &cobra.Command{Use: "routes VERB [OPTION]...", Short: "quality of the routes", Long: `
Shows the quality of the routes in use. See ibsmctl dump routes for the routes themselves.`}
	q := &cobra.Command{Use: "quality [OPTION]...", Short: "load of links, and flows that meet on them",
		Args: cli.Args(0, 0), RunE: a.asking(a.quality), Long: `
Shows how evenly the routes between hosts use the links between switches, and the number of flows
on the busiest link for two traffic patterns. In a shift each host sends to the host a fixed distance
after it in the order of LIDs, like a step of MPI_Alltoall. In a bisection two random halves send to
each other. For hosts with several ports or LIDs it shows how many of them become unreachable from a
leaf if one upper switch fails. If the subnet has rails, it adds shifts within all rails at once. The
same figures follow for flows within each partition. The best values are 1 flow in a shift and 1.000
in a bisection. docs/quality.md has advice.`}
	cmd.AddCommand(q)
	return cmd
}

func (a *asker) quality(ctx context.Context, _ []string, stdout io.Writer) error {
	q := &ctl.Quality{}
	if shown, err := a.value(ctx, "/v1/quality", nil, q, stdout); err != nil || shown {
		return err
	}
	fmt.Fprintf(stdout,
		"load        %[2]d of %[1]d link directions between switches are unused; routes between hosts per direction: mean %.1[3]f, maximum %[4]d\n", q.Links, q.Unused, q.Mean, q.Fullest)
	if q.Several > 0 {
		fmt.Fprintf(stdout,
			"hosts       %d have several ports or LIDs; if one upper switch fails, on average %.1f %% of them become unreachable from a leaf\n", q.Several, q.Cut*100)
	}
	t := &table{columns: []column{{head: "FLOWS BETWEEN", yields: true}, {head: "HOSTS", right: true},
		{head: "SHIFTS", right: true}, {head: "MEAN", right: true}, {head: "WORST", right: true},
		{head: "BISECTION", right: true}}}
	add := func(name string, p *ctl.Pattern) {
		t.add(printable(name), strconv.Itoa(p.Hosts), strconv.Itoa(p.Shifts), strconv.FormatFloat(p.Shift, 'f', 2, 64),
			strconv.FormatUint(uint64(p.Worst), 10), strconv.FormatFloat(p.Bisection, 'f', 3, 64))
	}
	add("all hosts", &q.All)
	if r := q.Rails; r != nil {
		t.add(fmt.Sprintf("hosts of each of %d rails", r.Rails), strconv.Itoa(r.Hosts), strconv.Itoa(r.Shifts),
			strconv.FormatFloat(r.Shift, 'f', 2, 64), strconv.FormatUint(uint64(r.Worst), 10), "-")
	}
	for i := range q.Partitions {
		p := &q.Partitions[i]
		name := p.PKey
		if p.Name != "" {
			name += " (" + p.Name + ")"
		}
		add(name, &p.Pattern)
	}
	return t.print(stdout, terminalWidth(stdout))
}
