package daemon

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// childAlive is how often a supervised manager has to say that it is alive.
const childAlive = 30 * time.Second

// notices are what the children of a supervisor report of themselves, in the words of
// sd_notify(3). The supervisor's goroutine owns them.
type notices map[string]*notice

// notice is the newest that a child has reported.
type notice struct {
	ready  bool // or it has ended: no reason to wait for it
	status string
	alive  time.Time // it said so; zero while it has not
}

// heard is a report of a child, or about it.
type heard struct {
	name   string
	text   string // of the child
	status string // of a child that is waited for no longer; then there is no text
}

// expect adds a child that starts.
func (n notices) expect(name string) {
	if n[name] == nil {
		n[name] = &notice{status: "starts"}
	}
}

// hear takes a report, and returns the statements that it means for all children; nil for
// none.
func (n notices) hear(h heard, now time.Time) (statements []string) {
	c := n[h.name]
	if c == nil {
		return nil
	}
	was := *c
	if h.status != "" {
		*c = notice{ready: true, status: h.status}
	}
	for s := range strings.SplitSeq(h.text, "\n") {
		key, value, _ := strings.Cut(s, "=")
		switch key {
		case "READY":
			c.ready, c.alive = true, now
		case "STATUS":
			c.status = value
		case "WATCHDOG":
			c.alive = now
		}
	}
	return n.together(!was.ready && c.ready, c.status != was.status)
}

// forget takes a child out of what is reported.
func (n notices) forget(name string) (statements []string) {
	delete(n, name)
	return n.together(false, len(n) > 0)
}

// together are the statements about all children if one more is ready, or a status has
// changed.
func (n notices) together(oneMore, changed bool) (statements []string) {
	if !oneMore && !changed {
		return nil
	}
	ready, names, statuses := true, []string{}, []string{}
	for name, c := range n {
		names = append(names, name)
		ready = ready && c.ready
	}
	slices.Sort(names)
	for _, name := range names {
		statuses = append(statuses, name+": "+n[name].status)
	}
	statements = []string{"STATUS=" + strings.Join(statuses, "; ")}
	if ready && oneMore {
		statements = append(statements, sd.SdNotifyReady)
	}
	return statements
}

// hung are the children that were alive once and have not been for too long.
func (n notices) hung(now time.Time) (names []string) {
	for name, c := range n {
		if !c.alive.IsZero() && now.Sub(c.alive) > childAlive {
			names = append(names, name)
			c.alive = time.Time{}
		}
	}
	return names
}

// hearChild reads what a child reports at a socket of its own in a folder, until end is
// called, and passes it on. env names the socket for the child.
func hearChild(dir, name string, reports chan<- heard) (env []string, end func()) {
	path := filepath.Join(dir, name)
	os.Remove(path)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if dir == "" || err != nil {
		reports <- heard{name: name, status: "runs"}
		return []string{"NOTIFY_SOCKET="}, func() { reports <- heard{name: name, status: "has ended"} }
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		var b [4096]byte
		for {
			size, err := conn.Read(b[:])
			if err != nil {
				return
			}
			reports <- heard{name: name, text: string(b[:size])}
		}
	})
	env = []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=" + strconv.FormatInt(childAlive.Microseconds(), 10),
		"WATCHDOG_PID="}
	return env, func() {
		conn.Close()
		reader.Wait()
		reports <- heard{name: name, status: "has ended"}
	}
}
