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

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newEvents(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "events [OPTION]...", Short: "past and new events", Args: cli.Args(0, 0), Long: `
Shows the events since the manager was started, as far back as they are stored, independent
of its log level.`}
	follow := c.Flags().BoolP("follow", "F", false, "continue with new events, until interrupted")
	since := c.Flags().Int64("since", 0, "only events after number `N`; -1 for new ones only")
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		from, err := a.start(ctx, *since)
		if err != nil {
			return a.explain(err)
		}
		last := from
		each := func(e *ctl.Event) error {
			if last > 0 && e.Seq > last+1 && !a.json {
				fmt.Fprintf(stdout, "... %d events are no longer stored\n", e.Seq-last-1)
			}
			last = e.Seq
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

// start is the number of the event to begin after.
func (a *asker) start(ctx context.Context, since int64) (uint64, error) {
	if since >= 0 {
		return uint64(since), nil
	}
	st := &ctl.Status{}
	err := a.Get(ctx, "/v1/status", nil, st)
	return st.Events, err
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
