package daemon

import (
	"context"
	"os"
	"strings"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"ibsm/manager"
)

// notifier reports the state of this process to the service manager by sd_notify(3).
// Without a service manager it does nothing. It is safe for concurrent use.
type notifier struct {
	statements chan string   // to send; nil without a service manager
	alive      time.Duration // the service manager expects a watchdog notification this often; 0 for never
}

const (
	// maxStatements is how many statements wait for a service manager that does not read. More
	// are dropped.
	maxStatements = 64
	// notifyPatience is how long the end waits for such a service manager.
	notifyPatience = 100 * time.Millisecond
)

// newNotifier starts the task that sends. A service manager that does not read blocks only that
// task.
func newNotifier(t *tasks) *notifier {
	n := &notifier{}
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return n
	}
	n.statements = make(chan string, maxStatements)
	if alive, err := sd.SdWatchdogEnabled(false); err == nil {
		n.alive = min(alive, time.Hour)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.run(ctx)
	}()
	t.atEnd(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(notifyPatience):
		}
	})
	return n
}

// run sends until ctx is done, and then what is left.
func (n *notifier) run(ctx context.Context) {
	for {
		select {
		case s := <-n.statements:
			_, _ = sd.SdNotify(false, s) // there is nobody to report an error to
			continue
		case <-ctx.Done():
		}
		select {
		case s := <-n.statements:
			_, _ = sd.SdNotify(false, s)
		default:
			return
		}
	}
}

// say queues statements to be sent together. A line feed would begin another statement.
func (n *notifier) say(statements ...string) {
	for i, s := range statements {
		statements[i] = strings.ReplaceAll(s, "\n", " ")
	}
	select {
	case n.statements <- strings.Join(statements, "\n"):
	default:
	}
}

// interval is how often to say that this process is alive.
func (n *notifier) interval() time.Duration {
	if n.alive == 0 {
		return time.Hour // nobody listens
	}
	return max(n.alive/3, time.Millisecond)
}

// ready reports that the service is up: it runs at its port, or waits for it.
func (n *notifier) ready(status string) { n.say(sd.SdNotifyReady, "STATUS="+status) }

func (n *notifier) status(text string) { n.say("STATUS=" + text) }

// watchdog reports that this process is alive, until the context ends. While a manager runs,
// that requires that it takes a request.
func (d *daemon) watchdog(ctx context.Context) {
	if d.notify.alive == 0 {
		return
	}
	tick := time.NewTicker(d.notify.interval())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !d.running.Load() {
			d.notify.say(sd.SdNotifyWatchdog)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case d.requests <- manager.SweepRequested{Sweep: manager.NoSweep}:
			d.notify.say(sd.SdNotifyWatchdog)
		case <-tick.C: // the next round looks whether it still runs
		}
	}
}
