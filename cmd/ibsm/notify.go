package main

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ibsm/manager"
)

// notifier tells the service manager how this process is, in the words of sd_notify(3).
// Without a service manager it does nothing. It is safe for concurrent use.
type notifier struct {
	conn  net.Conn
	alive time.Duration // it wants to hear from us so often; 0 for never
}

// newNotifier takes the service manager's socket out of the environment: what this
// process starts is not to speak for it.
func newNotifier() *notifier {
	path, every := os.Getenv("NOTIFY_SOCKET"), os.Getenv("WATCHDOG_USEC")
	pid := os.Getenv("WATCHDOG_PID")
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		os.Unsetenv(name)
	}
	n := &notifier{}
	if path == "" {
		return n
	}
	conn, err := net.Dial("unixgram", path) // Go takes @ for an abstract socket, too
	if err != nil {
		return n
	}
	n.conn = conn
	if usec, err := strconv.ParseInt(every, 10, 64); err == nil && usec > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.alive = time.Duration(min(usec, int64(time.Hour/time.Microsecond))) * time.Microsecond
	}
	return n
}

// notifyPatience is how long a service manager that does not read is waited for.
const notifyPatience = 100 * time.Millisecond

// say sends what is so now. A line feed would begin another statement.
func (n *notifier) say(statements ...string) {
	if n.conn == nil {
		return
	}
	for i, s := range statements {
		statements[i] = strings.ReplaceAll(s, "\n", " ")
	}
	_ = n.conn.SetWriteDeadline(time.Now().Add(notifyPatience)) // a socket takes any
	_, _ = n.conn.Write([]byte(strings.Join(statements, "\n"))) // nobody is there to be told of an error
}

// interval is how often to say that this process is alive.
func (n *notifier) interval() time.Duration {
	if n.alive == 0 {
		return time.Hour // nobody listens
	}
	return max(n.alive/3, time.Millisecond)
}

// ready says that the service is up: it runs at its port, or waits for it.
func (n *notifier) ready(status string) { n.say("READY=1", "STATUS="+status) }

func (n *notifier) status(text string) { n.say("STATUS=" + text) }

// watchdog says that this process is alive, until the context ends. While a manager
// runs, it has to take an event for that.
func (n *notifier) watchdog(ctx context.Context, running *atomic.Bool, asks chan<- manager.Sweep) {
	if n.alive == 0 {
		return
	}
	tick := time.NewTicker(n.interval())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !running.Load() {
			n.say("WATCHDOG=1")
			continue
		}
		select {
		case <-ctx.Done():
			return
		case asks <- manager.NoSweep:
			n.say("WATCHDOG=1")
		case <-tick.C: // the next round looks whether it still runs
		}
	}
}
