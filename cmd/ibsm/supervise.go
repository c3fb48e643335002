package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// child is a manager in a process of its own.
type child struct {
	name string
	args []string
	env  []string // besides that of this process
}

// How long children are waited for.
const (
	restartSoonest = time.Second      // after the first failure; doubled with each one that follows
	restartLatest  = time.Minute      // and no later; who has run so long has not failed
	stopPatience   = 20 * time.Second // for a child that was told to end
	lookForPorts   = 5 * time.Second  // --all-ports: how often
)

// supervisor runs children, each until it ends by itself with status 0.
type supervisor struct {
	program string        // path of this program
	soonest time.Duration // after a failure, before it is started again
	once    bool          // a child that fails is not started again
	notices *notices
	out     io.Writer

	mu      sync.Mutex // guards the following, and out
	running map[string]*os.Process
	status  int // the highest of those that ended for good
}

// supervise runs the children that find returns, now and later, until all have ended or
// this process is told to.
func (la *launcher) supervise(find func() []child) int {
	l := la.given
	if inBackground(l) {
		if parent, err := daemonize(); parent || err != nil {
			return exitStatus(err, la.stderr)
		}
		removePID, err := writePID(l.PIDFile)
		if err != nil {
			return exitStatus(err, la.stderr)
		}
		defer removePID()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	up := newNotifier()
	heard := newNotices(up)
	defer heard.close()
	s := &supervisor{notices: heard, program: la.program, soonest: restartSoonest, once: l.Once || l.DryRun, out: la.stdout, running: map[string]*os.Process{}}
	hurry := make(chan os.Signal, 1)
	context.AfterFunc(ctx, func() { signal.Notify(hurry, syscall.SIGINT, syscall.SIGTERM) })
	return s.run(ctx, find, hurry)
}

// run keeps children running. A signal on hurry, while they are told to end, kills them.
func (s *supervisor) run(ctx context.Context, find func() []child, hurry <-chan os.Signal) int {
	passed := make(chan os.Signal, 4)
	signal.Notify(passed, syscall.SIGHUP, syscall.SIGCONT, syscall.SIGUSR1)
	defer signal.Stop(passed)
	look := time.NewTicker(lookForPorts)
	defer look.Stop()
	alive := time.NewTicker(s.notices.up.interval())
	defer alive.Stop()
	var all sync.WaitGroup
	known, left := map[string]bool{}, 0
	ended := make(chan struct{})
	start := func() {
		for _, c := range find() {
			if known[c.name] {
				continue
			}
			known[c.name] = true
			left++
			all.Go(func() {
				s.keep(ctx, c)
				ended <- struct{}{}
			})
		}
	}
	start()
	if left == 0 {
		s.notices.up.ready("waiting for a port")
	}
	var killed <-chan time.Time
	done := ctx.Done()
	for left > 0 || done != nil && len(known) == 0 {
		select {
		case <-ended:
			left--
		case <-look.C:
			s.endHung(s.notices.hung(time.Now()))
			if done != nil {
				start()
			}
		case <-alive.C:
			s.notices.up.say("WATCHDOG=1")
		case sig := <-passed:
			s.signal(sig)
		case <-done:
			done, killed = nil, time.After(stopPatience)
			s.notices.up.say("STOPPING=1")
			s.signal(syscall.SIGTERM)
		case <-hurry:
			s.signal(syscall.SIGKILL)
		case <-killed:
			s.say("not all managers have ended in %v: they are killed", stopPatience)
			s.signal(syscall.SIGKILL)
		}
	}
	all.Wait()
	return s.status
}

// keep runs a child, again and again if it fails.
func (s *supervisor) keep(ctx context.Context, c child) {
	for wait := s.soonest; ; {
		began := time.Now()
		err := s.runOnce(ctx, c)
		status := exitFailed
		var exit *exec.ExitError
		if err == nil {
			status = 0
		} else if errors.As(err, &exit) && exit.Exited() {
			status = exit.ExitCode()
		}
		if ctx.Err() != nil || status == 0 || s.once {
			s.mu.Lock()
			s.status = max(s.status, status)
			s.mu.Unlock()
			if ctx.Err() == nil {
				s.say("instance %s has ended with status %d", c.name, status)
			}
			return
		}
		if time.Since(began) >= restartLatest {
			wait = s.soonest
		}
		s.say("instance %s has ended: %v; it is started again in %v", c.name, err, wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, restartLatest)
	}
}

// runOnce runs a child to its end.
func (s *supervisor) runOnce(ctx context.Context, c child) error {
	cmd := exec.Command(s.program, c.args...)
	env, end := s.notices.expect(c.name)
	defer end()
	cmd.Env = slices.Concat(os.Environ(), []string{daemonMark + "=1"}, c.env, env) // it stays in the foreground
	out, errs := &lineWriter{s: s, name: c.name}, &lineWriter{s: s, name: c.name}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for us, who pass it on
	s.mu.Lock()
	if ctx.Err() != nil {
		s.mu.Unlock()
		return ctx.Err()
	}
	err := cmd.Start()
	if err == nil {
		s.running[c.name] = cmd.Process
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.say("instance %s runs as process %d", c.name, cmd.Process.Pid)
	err = cmd.Wait()
	s.mu.Lock()
	delete(s.running, c.name)
	s.mu.Unlock()
	out.flush()
	errs.flush()
	return err
}

// endHung kills children that do not answer; they are started again.
func (s *supervisor) endHung(names []string) {
	for _, name := range names {
		s.say("instance %s has not said that it is alive for %v: it is killed", name, childAlive)
		s.mu.Lock()
		if p := s.running[name]; p != nil {
			_ = p.Kill() // an error means that it has ended
		}
		s.mu.Unlock()
	}
}

// signal passes a signal on to all that run.
func (s *supervisor) signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.running {
		_ = p.Signal(sig) // an error means that it has ended
	}
}

func (s *supervisor) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "ibsm: "+format+"\n", args...)
}

// maxLine is the longest line of a child that is held back for its end.
const maxLine = 64 << 10

// lineWriter passes on what a child prints, line by line with its name.
type lineWriter struct {
	s    *supervisor
	name string
	rest []byte // of a line without its end
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		end := bytes.IndexByte(w.rest, '\n')
		if end < 0 && len(w.rest) < maxLine {
			return len(b), nil
		}
		line := w.rest
		if end >= 0 {
			line = w.rest[:end]
		}
		w.s.print(w.name, line)
		w.rest = w.rest[min(len(line)+1, len(w.rest)):]
	}
}

// flush passes on a last line without an end.
func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.s.print(w.name, w.rest)
		w.rest = nil
	}
}

func (s *supervisor) print(name string, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%s: %s\n", name, line)
}
