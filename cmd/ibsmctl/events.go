package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newEvents(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "events [OPTION]...", Short: "past and new events", Args: cli.Args(0, 0), Long: `
Shows the stored events since the start of the manager, independent of its log level.`}
	follow := c.Flags().BoolP("follow", "F", false, "continue with new events, until interrupted")
	since := c.Flags().String("since", "0", "only events after `WHEN`: an event number; -1 for new events only; or "+
		timesHelp)
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		from, at, err := a.start(ctx, *since)
		if err != nil {
			return a.explain(err)
		}
		p := &eventPrinter{json: a.json, last: from, at: at, out: stdout}
		if !*follow {
			return a.explain(a.Events(ctx, from, p.print))
		}
		return a.follow(ctx, p)
	})
	return c
}

// eventPrinter prints events.
type eventPrinter struct {
	json   bool
	last   uint64    // the number of the last event
	at     time.Time // earlier events are left out
	newest time.Time // of an event
	out    io.Writer
	failed error // of out
}

func (p *eventPrinter) print(e *ctl.Event) error {
	if p.last > 0 && e.Seq > p.last+1 && !p.json {
		fmt.Fprintf(p.out, "... %d events are no longer stored\n", e.Seq-p.last-1)
	}
	p.last = e.Seq
	if e.Time.Before(p.at) {
		return nil
	}
	if e.Time.After(p.newest) {
		p.newest = e.Time
	}
	if p.json {
		p.failed = writeJSON(p.out, e)
	} else {
		_, p.failed = fmt.Fprintln(p.out, eventLine(e))
	}
	return p.failed
}

// follow prints events until ctx is done or the manager exits. Of several managers of a subnet it follows the one that
// is master, from the time of the last event on.
func (a *asker) follow(ctx context.Context, p *eventPrinter) error {
	for {
		err := a.followMaster(ctx, p)
		f := (*ctl.Failure)(nil)
		switch {
		case ctx.Err() != nil:
			return nil
		case p.failed != nil:
			return p.failed
		case len(a.servers) > 1 && (!errors.As(err, &f) || f.Status == 0):
			if err := a.awaitMaster(ctx); err != nil {
				return err
			}
			p.last, p.at = 0, p.newest.Add(1) // numbers are a manager's own
		case err == nil:
			return errors.New("the manager has exited")
		default:
			return a.explain(err)
		}
	}
}

// followMaster prints events until another manager is master.
func (a *asker) followMaster(ctx context.Context, p *eventPrinter) error {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if len(a.servers) > 1 {
		tasks.Go(func() {
			tick := time.NewTicker(leaderPoll)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					if a.successor(ctx) != nil {
						cancel()
						return
					}
				}
			}
		})
	}
	return a.Follow(ctx, p.last, p.print)
}

// start is the number of the event to begin after, and the time of the earliest event; zero for any.
func (a *asker) start(ctx context.Context, since string) (from uint64, at time.Time, err error) {
	n, err := strconv.ParseInt(since, 10, 64)
	switch {
	case err != nil:
		at, err = parseTime(since, time.Now())
		return 0, at, err
	case n >= 0:
		return uint64(n), at, nil
	}
	st := &ctl.Status{}
	err = a.Get(ctx, "/v1/status", nil, st)
	return st.Events, at, err
}

func eventLine(e *ctl.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %-5s %s", e.Seq, e.Time.Local().Format("2006-01-02 15:04:05.000"), e.Level, e.Text)
	for _, key := range slices.Sorted(maps.Keys(e.Attrs)) {
		value := fmt.Sprint(e.Attrs[key])
		if strings.ContainsAny(value, " \"=") {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&b, " %s=%s", key, value)
	}
	return printable(strings.NewReplacer("\n", " ", "\t", "").Replace(b.String()))
}
