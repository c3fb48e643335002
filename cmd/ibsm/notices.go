package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// childAlive is how often a supervised manager has to say that it is alive.
const childAlive = 30 * time.Second

// notices are what the children of a supervisor say of themselves, each at a socket of
// its own, and what of that is passed on.
type notices struct {
	up  *notifier
	dir string // of the sockets; "" when there are none

	mu   sync.Mutex // guards what follows
	said map[string]*notice
}

// notice is the newest that a child has said.
type notice struct {
	ready  bool // or it has ended: no reason to wait for it
	status string
	alive  time.Time // it said so; zero while it has not
}

// newNotices makes the folder of the sockets. Without one the children are not heard.
func newNotices(up *notifier) *notices {
	dir, _ := os.MkdirTemp("", "ibsm-")
	return &notices{up: up, dir: dir, said: map[string]*notice{}}
}

// close removes the sockets.
func (n *notices) close() {
	if n.dir != "" {
		os.RemoveAll(n.dir)
	}
}

// expect adds a child, and returns its environment. Its socket is read until end is
// called.
func (n *notices) expect(name string) (env []string, end func()) {
	n.mu.Lock()
	if n.said[name] == nil {
		n.said[name] = &notice{status: "starts"}
	}
	n.mu.Unlock()
	path := filepath.Join(n.dir, name)
	os.Remove(path)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if n.dir == "" || err != nil {
		n.settle(name, "runs")
		return nil, func() { n.settle(name, "has ended") }
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		var b [4096]byte
		for {
			size, err := conn.Read(b[:])
			if err != nil {
				return
			}
			n.hear(name, string(b[:size]))
		}
	})
	env = []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=" + strconv.FormatInt(childAlive.Microseconds(), 10), "WATCHDOG_PID="}
	return env, func() {
		conn.Close()
		reader.Wait()
		n.settle(name, "has ended")
	}
}

// hear takes what a child says, and passes on what it means for all.
func (n *notices) hear(name, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.said[name]
	was := *c
	for _, s := range strings.Split(text, "\n") {
		key, value, _ := strings.Cut(s, "=")
		switch key {
		case "READY":
			c.ready, c.alive = true, time.Now()
		case "STATUS":
			c.status = value
		case "WATCHDOG":
			c.alive = time.Now()
		}
	}
	n.pass(!was.ready && c.ready, c.status != was.status)
}

// settle has a child be one that nothing is to be waited for of.
func (n *notices) settle(name, status string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := *n.said[name]
	*n.said[name] = notice{ready: true, status: status}
	n.pass(!was.ready, was.status != status)
}

// forget takes a child out of what is said.
func (n *notices) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.said, name)
	if len(n.said) > 0 {
		n.pass(false, true)
	}
}

// pass tells the service manager what the children say, taken together. n.mu is held.
func (n *notices) pass(oneMore, changed bool) {
	if !oneMore && !changed {
		return
	}
	ready, names, statuses := true, []string{}, []string{}
	for name, c := range n.said {
		names = append(names, name)
		ready = ready && c.ready
	}
	slices.Sort(names)
	for _, name := range names {
		statuses = append(statuses, name+": "+n.said[name].status)
	}
	statements := []string{"STATUS=" + strings.Join(statuses, "; ")}
	if ready && oneMore {
		statements = append(statements, "READY=1")
	}
	n.up.say(statements...)
}

// hung are the children that were alive once and have not been for too long.
func (n *notices) hung(now time.Time) (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, c := range n.said {
		if !c.alive.IsZero() && now.Sub(c.alive) > childAlive {
			names = append(names, name)
			c.alive = time.Time{}
		}
	}
	return names
}
