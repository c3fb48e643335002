package main

import (
	"bytes"
	"context"
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

// How long children are waited for.
const (
	restartSoonest = time.Second      // after the first failure; doubled with each one that follows
	restartLatest  = time.Minute      // and no later; who has run so long has not failed
	stopPatience   = 20 * time.Second // for a child that was told to end
	lookForPorts   = 5 * time.Second  // --all-ports: how often
)

// supervisor runs children, each until it ends by itself with status 0.
type supervisor struct {
	program  string                   // path of this program
	find     func(again bool) []child // who is to run; again when the files that say so are to be read again
	soonest  time.Duration            // after a failure, before it is started again
	patience time.Duration            // with a child that was told to end
	once     bool                     // a child that fails is not started again
	notices  *notices
	out      io.Writer
	tasks    map[string]*task // by name; those that have ended for good, too
	left     int              // tasks that have not
	ended    chan *task

	mu      sync.Mutex // guards the following, and out
	running map[string]*os.Process
	status  int // the highest of those that ended for good
}

// task keeps one child running.
type task struct {
	child  child
	cancel context.CancelFunc
	again  chan struct{} // a child that waits to be started again waits no longer
	over   bool          // it has ended for good
	ending bool          // it was told to end
	next   *child        // runs in its place then
}

// supervise runs the managers that are wanted, now and later, until all have ended or
// this process is told to.
func (la *launcher) supervise() int {
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
	heard := newNotices(newNotifier())
	defer heard.close()
	s := newSupervisor(la.program, la.find, heard, la.stdout)
	s.once = l.Once || l.DryRun
	hurry, passed := make(chan os.Signal, 1), make(chan os.Signal, 4)
	context.AfterFunc(ctx, func() { signal.Notify(hurry, syscall.SIGINT, syscall.SIGTERM) })
	signal.Notify(passed, syscall.SIGHUP, syscall.SIGCONT, syscall.SIGUSR1)
	defer signal.Stop(passed)
	return s.run(ctx, passed, hurry)
}

func newSupervisor(program string, find func(bool) []child, heard *notices, out io.Writer) *supervisor {
	return &supervisor{program: program, find: find, soonest: restartSoonest, patience: stopPatience, notices: heard, out: out,
		tasks: map[string]*task{}, ended: make(chan *task), running: map[string]*os.Process{}}
}

// run keeps children running. Signals that come on passed are theirs. One on hurry, while they are
// told to end, kills them.
func (s *supervisor) run(ctx context.Context, passed, hurry <-chan os.Signal) int {
	look := time.NewTicker(lookForPorts)
	defer look.Stop()
	alive := time.NewTicker(s.notices.up.interval())
	defer alive.Stop()
	s.startNew(ctx, s.find(false))
	if s.left == 0 {
		s.notices.up.ready("waiting for a port")
	}
	done := ctx.Done()
	for s.left > 0 || done != nil && len(s.tasks) == 0 {
		select {
		case t := <-s.ended:
			s.hasEnded(ctx, t)
		case <-look.C:
			s.endHung(s.notices.hung(time.Now()))
			if done != nil {
				s.startNew(ctx, s.find(false))
			}
		case <-alive.C:
			s.notices.up.say("WATCHDOG=1")
		case sig := <-passed:
			if sig == syscall.SIGUSR1 {
				s.signal(sig)
			} else if done != nil {
				s.reload(ctx, s.find(true), sig)
			}
		case <-done:
			done = nil
			s.notices.up.say("STOPPING=1")
		case <-hurry:
			s.signal(syscall.SIGKILL)
		}
	}
	return s.status
}

// startNew starts the children that are not known yet.
func (s *supervisor) startNew(ctx context.Context, wanted []child) {
	for _, c := range wanted {
		if s.tasks[c.name] == nil {
			s.start(ctx, c)
		}
	}
}

func (s *supervisor) start(ctx context.Context, c child) {
	ctx, cancel := context.WithCancel(ctx)
	t := &task{child: c, cancel: cancel, again: make(chan struct{}, 1)}
	s.tasks[c.name] = t
	s.left++
	go func() {
		s.keep(ctx, t)
		s.ended <- t
	}()
}

// reload has those run that are wanted now: who is no longer, or is another one, ends; the
// others are passed the signal. One that was stopped stays so.
func (s *supervisor) reload(ctx context.Context, wanted []child, sig os.Signal) {
	for name, t := range s.tasks {
		at := slices.IndexFunc(wanted, func(c child) bool { return c.name == name })
		switch {
		case at < 0:
			s.replace(ctx, t, nil)
		case t.ending || !t.child.same(&wanted[at]):
			s.replace(ctx, t, &wanted[at])
		default:
			s.signalOne(name, sig)
			select {
			case t.again <- struct{}{}:
			default:
			}
		}
	}
	s.startNew(ctx, wanted)
	if len(s.tasks) == 0 {
		s.notices.up.status("no manager is to run")
	}
}

// replace ends a child, and runs another in its place; nil for none.
func (s *supervisor) replace(ctx context.Context, t *task, next *child) {
	t.next = next
	switch {
	case t.over:
		s.remove(ctx, t)
	case !t.ending:
		t.ending = true
		s.say("instance %s is told to end: %s", t.child.name, map[bool]string{true: "no file names it any more", false: "its port or options are others now"}[next == nil])
		t.cancel()
	}
}

// remove forgets a child that has ended, and runs the one that takes its place.
func (s *supervisor) remove(ctx context.Context, t *task) {
	delete(s.tasks, t.child.name)
	s.notices.forget(t.child.name)
	if t.next != nil {
		s.start(ctx, *t.next)
	}
}

// hasEnded takes note of the end of a task.
func (s *supervisor) hasEnded(ctx context.Context, t *task) {
	s.left--
	t.over = true
	t.cancel()
	if t.ending && ctx.Err() == nil {
		s.remove(ctx, t)
	}
}

// keep runs a child, again and again if it fails.
func (s *supervisor) keep(ctx context.Context, t *task) {
	name := t.child.name
	for wait := s.soonest; ; {
		began := time.Now()
		status, err := s.runOnce(ctx, t.child)
		if ctx.Err() != nil || status == 0 || s.once {
			s.mu.Lock()
			s.status = max(s.status, status)
			s.mu.Unlock()
			if ctx.Err() == nil {
				s.say("instance %s has ended with status %d", name, status)
			}
			return
		}
		if time.Since(began) >= restartLatest {
			wait = s.soonest
		}
		s.say("instance %s has ended: %v; it is started again in %v", name, err, wait)
		select {
		case <-ctx.Done():
			return
		case <-t.again:
		case <-time.After(wait):
		}
		wait = min(2*wait, restartLatest)
	}
}

// runOnce runs a child to its end, which it is told when ctx ends.
func (s *supervisor) runOnce(ctx context.Context, c child) (status int, err error) {
	cmd := exec.CommandContext(ctx, s.program, c.args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = s.patience
	env, end := s.notices.expect(c.name)
	defer end()
	cmd.Env = slices.Concat(os.Environ(), []string{daemonMark + "=1"}, c.env, env) // it stays in the foreground
	out, errs := &lineWriter{s: s, name: c.name}, &lineWriter{s: s, name: c.name}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for us, who pass it on
	s.mu.Lock()
	if err = cmd.Start(); err == nil {
		s.running[c.name] = cmd.Process
	}
	s.mu.Unlock()
	if ctx.Err() != nil {
		return 0, nil // no time to begin
	} else if err != nil {
		return exitFailed, err
	}
	s.say("instance %s runs as process %d", c.name, cmd.Process.Pid)
	err = cmd.Wait()
	s.mu.Lock()
	delete(s.running, c.name)
	s.mu.Unlock()
	out.flush()
	errs.flush()
	if status = cmd.ProcessState.ExitCode(); status < 0 {
		status = exitFailed // a signal has ended it
		if ctx.Err() != nil {
			s.say("instance %s has ended: %v", c.name, err)
		}
	}
	return status, err
}

// endHung kills children that do not answer; they are started again.
func (s *supervisor) endHung(names []string) {
	for _, name := range names {
		s.say("instance %s has not said that it is alive for %v: it is killed", name, childAlive)
		s.signalOne(name, syscall.SIGKILL)
	}
}

// signal passes a signal on to all that run.
func (s *supervisor) signal(sig os.Signal) {
	for name := range s.tasks {
		s.signalOne(name, sig)
	}
}

func (s *supervisor) signalOne(name string, sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.running[name]; p != nil {
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
