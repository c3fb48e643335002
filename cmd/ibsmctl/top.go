package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

// leastInterval is the shortest time between two looks, and lookPatience how long one may take over the network.
const (
	leastInterval = 500 * time.Millisecond
	lookPatience  = 10 * time.Second
)

func newTop(a *asker) *cobra.Command {
	c := &cobra.Command{Use: "top [OPTION]...", Short: "live activity of a manager, full screen", Args: cli.Args(0, 0),
		Long: `
Shows live activity of a manager: its state, sweeps and the duration of their phases, SMPs,
SA responses and response times (median and 99th percentile), SA clients, subnet changes,
warnings, and the manager that takes over if the master dies.

Keys: q quits; p or the space bar pauses; s sorts lists by rate, total or name; 1 to 6 and Tab
choose the page.

If the output is not a capable terminal, it prints its first page repeatedly.`}
	interval := c.Flags().Duration("interval", 2*time.Second, "refresh interval: a `TIME` of at least 500ms")
	once := c.Flags().Bool("once", false, "print once, after one interval")
	batch := c.Flags().Bool("batch", false, "print repeatedly, as if the output were not a terminal")
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		if *interval < leastInterval {
			return cli.UsageError(fmt.Sprintf("--interval %v is too short", *interval),
				fmt.Sprintf("the minimum is %v", leastInterval))
		}
		w := &watcher{asker: a, view: topView{names: a.names}, interval: *interval, out: stdout}
		if err := w.look(ctx); err != nil {
			return a.explain(err)
		}
		if out, is := stdout.(*os.File); is && !*once && !*batch && !a.json {
			if t := openTerminal(os.Stdin, out); t != nil {
				defer t.close()
				return w.onScreen(ctx, t)
			}
		}
		return a.explain(w.inLines(ctx, *once))
	})
	return c
}

// watcher looks at a manager again and again.
type watcher struct {
	*asker
	view     topView
	interval time.Duration
	out      io.Writer
	raw      []byte // the manager's reply, with --json
}

// look asks the manager, or of several managers another one that has become master.
func (w *watcher) look(ctx context.Context) error {
	now, err := w.activity(ctx)
	if len(w.servers) > 1 && (err != nil || now.Status.State != "MASTER") {
		if next := w.successor(ctx); next != nil {
			w.view.takeover = time.Now().Format(time.TimeOnly) + " " + w.ask(next)
			w.view.events = nil
			if w.json {
				fmt.Fprintln(w.stderr, "ibsmctl:", w.view.takeover)
			}
			now, err = w.activity(ctx)
		}
	}
	if err != nil || w.json {
		return err
	}
	return w.lookAt(ctx, now)
}

// activity asks for the counters, and with --json keeps the reply.
func (w *watcher) activity(ctx context.Context) (*ctl.Activity, error) {
	if w.Remote() { // a host that is gone must not hold up the screen
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lookPatience)
		defer cancel()
	}
	now := &ctl.Activity{}
	if !w.json {
		return now, w.Get(ctx, "/v1/activity", nil, now)
	}
	body, err := w.Open(ctx, http.MethodGet, "/v1/activity", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if w.raw, err = io.ReadAll(body); err != nil {
		return nil, err
	}
	return now, json.Unmarshal(w.raw, now)
}

// lookAt asks for what belongs to the counters.
func (w *watcher) lookAt(ctx context.Context, now *ctl.Activity) error {
	var generations []ctl.Generation
	err := ctl.All(ctx, w.Client, http.MethodGet, "/v1/generations", nil, func(g *ctl.Generation) error {
		generations = append(generations, *g)
		return nil
	})
	if err != nil {
		return err
	}
	since := w.view.since()
	if since > now.Status.Events {
		since = 0 // another process
	}
	var events []ctl.Event
	err = w.Events(ctx, since, func(e *ctl.Event) error {
		events = append(events, *e)
		return nil
	})
	if err != nil {
		return err
	}
	w.view.take(now, generations, events)
	return nil
}

// inLines prints what it sees, once or until ctx is done or the manager ends.
func (w *watcher) inLines(ctx context.Context, once bool) error {
	for first := true; ; first = false {
		if first && w.json || !first {
			if err := w.print(); err != nil {
				return err
			}
			if once {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.interval):
		}
		if err := w.lookThrough(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// lookThrough is look, but of several managers waits until one is master.
func (w *watcher) lookThrough(ctx context.Context) error {
	for began := time.Now(); ; {
		err := w.look(ctx)
		f := (*ctl.Failure)(nil)
		if err == nil || len(w.servers) < 2 || time.Since(began) > takeoverPatience ||
			errors.As(err, &f) && f.Status != 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(takeoverPoll):
		}
	}
}

func (w *watcher) print() error {
	if w.json {
		_, err := w.out.Write(w.raw)
		return err
	}
	width := terminalWidth(w.out)
	if width == 0 {
		width = 132
	}
	var b strings.Builder
	for _, l := range render(&w.view, width, 0) {
		b.WriteString(strings.TrimRight(l.text, " ") + "\n")
	}
	_, err := io.WriteString(w.out, b.String()+"\n")
	return err
}

// resizes is how often it is seen whether the terminal has another size.
const resizes = 250 * time.Millisecond

// onScreen shows what it sees on a terminal, until a key ends it. A manager that does not
// answer is asked again.
func (w *watcher) onScreen(ctx context.Context, t *terminal) error {
	looks, sizes := time.NewTicker(w.interval), time.NewTicker(resizes)
	defer looks.Stop()
	defer sizes.Stop()
	width, height := t.size()
	for changed := true; ; {
		if changed {
			if err := t.show(render(&w.view, width, height)); err != nil {
				return err
			}
		}
		changed = true
		select {
		case <-ctx.Done():
			return nil
		case key, open := <-t.keys:
			if !open || w.view.press(key) {
				return nil
			}
		case <-looks.C:
			if changed = !w.view.paused; changed {
				w.lookAgain(ctx)
			}
		case <-sizes.C:
			x, y := t.size()
			changed = x != width || y != height
			width, height = x, y
		}
	}
}

// lookAgain is look, but goes on when the manager does not answer.
func (w *watcher) lookAgain(ctx context.Context) {
	if err := w.look(ctx); err != nil {
		w.view.trouble = err.Error()
	}
}
