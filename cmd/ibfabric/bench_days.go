package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/sim/baddays"
	"ibsm/topo/net"
)

// daysSpec is measured when none is given: 648 hosts.
const daysSpec = "fattree:k=36,levels=2"

// benchDays is the benchmark of bad days.
type benchDays struct {
	bench
	lasts    time.Duration
	fabcheck string
	name     string // of the only day, "" for all
	only     string // manager, "" for both
	days     []baddayRun
}

func newBenchDays() *cobra.Command {
	b := &benchDays{}
	c := &cobra.Command{Use: "bad-days [SPEC] [OPTION]...", Short: "compare OpenSM and ibsm on bad days",
		Args: cli.Args(0, 1)}
	var list strings.Builder
	for _, d := range baddays.Days {
		fmt.Fprintf(&list, "%-9s %s\n", d.Name, d.What)
	}
	c.Long = `
Compares OpenSM and ibsm on bad days of a subnet. They run one after the other, each as a client of
a server of its own of a simulated fabric.

SPEC is as for ibfabric serve; without one, a fat tree of 648 hosts in two levels.

` + list.String() + `
Each day comes twice: alone, and while a standby takes over from the master, which is killed in the
middle of the day. OpenSM's standby polls every second and gives the master up after two polls.

A host beside the manager asks for a path every 10 ms. The measurement of SMPs and of the processor
time of all managers begins with the day. It ends with the last Set: all links are Active, 10,000
data packets between random pairs arrive, and no other Set follows within two seconds. "whole" is
the time until then from the end of the day; the largest possible is a minute. "check" is what is
wrong after that.`
	b.options(c)
	c.Flags().DurationVar(&b.lasts, "for", 3*time.Second, "`TIME` that a day lasts which has no length of its own")
	c.Flags().StringVar(&b.fabcheck, "fabcheck", "", "check the fabric with the program at `PATH`, too")
	c.Flags().StringVar(&b.name, "case", "", "only the day `NAME`")
	c.Flags().StringVar(&b.only, "only", "", "only manager `NAME`: opensm or ibsm")
	c.Flags().IntVar(&b.runs, "runs", 1, "`N` runs of each day; the table has their medians")
	file := c.Flags().String("json", "", "write every run to `FILE`")
	var names []string
	for _, d := range baddays.Days {
		names = append(names, d.Name)
	}
	cli.Words(c, "case", names...)
	cli.Words(c, "only", openSM, ibsm)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		b.out = cmd.OutOrStdout()
		_, known := baddays.Find(b.name)
		switch {
		case b.lasts < time.Second:
			return cli.UsageError(fmt.Sprintf("--for %v: expected 1s or more", b.lasts), "")
		case b.runs < 1:
			return cli.UsageError(fmt.Sprintf("--runs %d: expected 1 or more", b.runs), "")
		case b.name != "" && !known:
			return cli.UsageError(fmt.Sprintf("--case %s: expected %s", b.name, strings.Join(names, ", ")), "")
		}
		specs := args
		if len(specs) == 0 {
			specs = []string{daysSpec}
		}
		err := b.each(cmd.Context(), specs, func(ctx context.Context, spec string) error {
			return b.measureDays(ctx, spec)
		})
		if err != nil || *file == "" {
			return err
		}
		return b.writeDays(*file, specs[0])
	}
	return c
}

// managers are the managers that are measured. OpenSM runs with a standby that polls often.
func (b *benchDays) managers() []manager {
	theirs, own := b.openSM("minhop"), b.ownSM("minhop")
	theirs.files = map[string]string{
		openSMConf: "force_log_flush TRUE\nsminfo_polling_timeout 1000\npolling_retry_number 2\n"}
	return slices.DeleteFunc([]manager{theirs, own}, func(m manager) bool { return b.only != "" && m.name != b.only })
}

// measureDays measures all days, or one.
func (b *benchDays) measureDays(ctx context.Context, spec string) error {
	n, err := loadNet(spec)
	if err != nil {
		return err
	}
	if countHosts(n) < len(dayPlaces)+2 {
		return fmt.Errorf("%d hosts; at least %d are needed", countHosts(n), len(dayPlaces)+2)
	}
	fmt.Fprintf(b.out, "%s: %d hosts, %d switches, days of %v\n\n", spec, countHosts(n), len(n.Nodes)-countHosts(n),
		b.lasts)
	printDaysHead(b.out)
	for _, day := range baddays.Days {
		if b.name != "" && day.Name != b.name {
			continue
		}
		for _, takeover := range []bool{false, true} {
			byManager := make([][]baddayRun, len(b.managers()))
			for run := range b.runs {
				for i, m := range b.managers() {
					r, err := b.day(ctx, n, m, day, takeover)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", m.name, r.name(), err)
					}
					r.Run = run
					byManager[i] = append(byManager[i], r)
					b.days = append(b.days, r)
				}
			}
			printDay(b.out, byManager)
		}
	}
	return nil
}

// writeDays writes all that was measured.
func (b *benchDays) writeDays(file, spec string) error {
	return writeIndented(file, struct {
		Spec string
		CPUs int
		Go   string
		Runs []baddayRun
	}{spec, runtime.NumCPU(), runtime.Version(), b.days})
}

// dayPlaces are the hosts, by number, of the manager, its standby and the host that asks.
var dayPlaces = [...]int{0, 1, 2}

// sparedEnds are their ports.
func sparedEnds(n *net.Net) (ends []net.End) {
	for _, i := range dayPlaces {
		id := hostAt(n, i)
		node := slices.IndexFunc(n.Nodes, func(nd net.Node) bool { return nd.ID == id })
		ends = append(ends, net.End{Node: int32(node), Port: 1})
	}
	return ends
}
