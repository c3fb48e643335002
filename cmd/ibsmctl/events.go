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
		last := from
		each := func(e *ctl.Event) error {
			if last > 0 && e.Seq > last+1 && !a.json {
				fmt.Fprintf(stdout, "... %d events are no longer stored\n", e.Seq-last-1)
			}
			last = e.Seq
			if e.Time.Before(at) {
				return nil
			}
			if a.json {
				return writeJSON(stdout, e)
			}
			_, err := fmt.Fprintln(stdout, eventLine(e))
			return err
		}
		if !*follow {
			return a.explain(a.Events(ctx, from, each))
		}
		err = a.Follow(ctx, from, each)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			return errors.New("the manager has exited")
		}
		return a.explain(err)
	})
	return c
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
