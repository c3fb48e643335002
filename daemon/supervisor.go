package daemon

import (
	"bytes"
	"context"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// Times of a supervisor.
const (
	restartSoonest = time.Second      // after the first failure; doubled with each one that follows
	restartLatest  = time.Minute      // the longest delay; a child that ran this long has not failed
	stopPatience   = 20 * time.Second // from stopping a child to killing it
	lookForPorts   = 5 * time.Second  // --all-ports: interval between searches
)

// supervisor runs children, each until it exits by itself with status 0. The goroutine of run
// owns it. Each child has its own goroutine, that of keep, which uses constant fields, its
// task, and the channels reports and ended.
type supervisor struct {
	program  string                   // path of this program
	find     func(again bool) []child // wanted children; with again it reads the files that name them
	soonest  time.Duration            // from the first failure of a child to its restart
	patience time.Duration            // from stopping a child to killing it
	once     bool                     // a child that fails is not restarted
	notify   *notifier
	sockets  string // folder of the sockets at which children report; "" for none
	out      *log.Logger

	children map[string]*running // by name, including those that have ended for good
	left     int                 // children that have not ended for good
	notices  notices
	reports  chan heard
	ended    chan *running
	status   int // the highest of those that ended for good
}

// running is a child that is kept running.
type running struct {
	child   child
	cancel  context.CancelFunc
	signals chan os.Signal // to the child; a signal ends the delay before a restart
	status  int            // with which it ended for good
	state   childState
	next    *child // that replaces it; nil for none
}

// childState is the state of a child, for the goroutine of run.
type childState uint8

const (
	runs     childState = iota // or waits for a restart
	stopping                   // it is being stopped, to be removed or replaced
	ended                      // for good
)

// supervise runs the wanted managers until all have ended or a signal ends this process.
func (la *launcher) supervise() int {
	l := la.given
	if inBackground(l) {
		if parent, err := daemonize(); parent || err != nil {
			return ExitStatus(err, la.stderr)
		}
		removePID, err := writePID(l.PIDFile)
		if err != nil {
			return ExitStatus(err, la.stderr)
		}
		defer removePID()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fileReader.Stop(ctx.Done())
	var t tasks
	defer t.end()
	s := newSupervisor(la.program, la.find, la.stdout)
	s.notify = newNotifier(&t)
	s.once = l.Once || l.DryRun
	if dir, err := os.MkdirTemp("", "ibsm-"); err == nil {
		s.sockets = dir
		t.atEnd(func() { os.RemoveAll(dir) })
	}
	kill, passed := make(chan os.Signal, 1), make(chan os.Signal, 4)
	context.AfterFunc(ctx, func() { signal.Notify(kill, syscall.SIGINT, syscall.SIGTERM) })
	signal.Notify(passed, syscall.SIGHUP, syscall.SIGCONT, syscall.SIGUSR1) // to the end of the process
	return s.run(ctx, passed, kill)
}

func newSupervisor(program string, find func(bool) []child, out io.Writer) *supervisor {
	return &supervisor{program: program, find: find, soonest: restartSoonest, patience: stopPatience,
		notify: &notifier{}, out: log.New(out, "", 0),
		children: map[string]*running{}, notices: notices{}, reports: make(chan heard), ended: make(chan *running)}
}

// run keeps children running. It forwards the signals from passed to them. A signal on kill,
// while they are being stopped, kills them.
func (s *supervisor) run(ctx context.Context, passed, kill <-chan os.Signal) int {
	look := time.NewTicker(lookForPorts)
	defer look.Stop()
	alive := time.NewTicker(s.notify.interval())
	defer alive.Stop()
	s.startNew(ctx, s.find(false))
	if s.left == 0 {
		s.notify.ready("waiting for a port")
	}
	done := ctx.Done()
	for s.left > 0 || done != nil && len(s.children) == 0 {
		select {
		case h := <-s.reports:
			s.pass(s.notices.hear(h, time.Now()))
		case r := <-s.ended:
			s.hasEnded(ctx, r)
		case <-look.C:
			s.killHung(s.notices.hung(time.Now()))
			if done != nil {
				s.startNew(ctx, s.find(false))
			}
		case <-alive.C:
			s.notify.say(sd.SdNotifyWatchdog)
		case sig := <-passed:
			if sig == syscall.SIGUSR1 {
				s.signal(sig)
			} else if done != nil {
				s.reload(ctx, s.find(true), sig)
			}
		case <-done:
			done = nil
			s.notify.say(sd.SdNotifyStopping)
		case <-kill:
			s.signal(syscall.SIGKILL)
		}
	}
	return s.status
}

// pass sends statements to the service manager, if there are any.
func (s *supervisor) pass(statements []string) {
	if statements != nil {
		s.notify.say(statements...)
	}
}

// startNew starts the children that are not known yet.
func (s *supervisor) startNew(ctx context.Context, wanted []child) {
	for _, c := range wanted {
		if s.children[c.name] == nil {
			s.start(ctx, c)
		}
	}
}

func (s *supervisor) start(ctx context.Context, c child) {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{child: c, cancel: cancel, signals: make(chan os.Signal, 4)}
	s.children[c.name] = r
	s.left++
	s.notices.expect(c.name)
	go func() {
		s.keep(ctx, r)
		s.ended <- r
	}()
}

// reload runs the children that are wanted now: it stops those that are no longer wanted or
// have changed, and forwards the signal to the others. One that was stopped stays stopped.
func (s *supervisor) reload(ctx context.Context, wanted []child, sig os.Signal) {
	for name, r := range s.children {
		at := slices.IndexFunc(wanted, func(c child) bool { return c.name == name })
		switch {
		case at < 0:
			s.replace(ctx, r, nil)
		case r.state == stopping || !r.child.same(&wanted[at]):
			s.replace(ctx, r, &wanted[at])
		default:
			r.signal(sig)
		}
	}
	s.startNew(ctx, wanted)
	if len(s.children) == 0 {
		s.notify.status("no manager is configured")
	}
}

// replace stops a child, and runs another in its place; nil for none.
func (s *supervisor) replace(ctx context.Context, r *running, next *child) {
	r.next = next
	switch r.state {
	case ended:
		s.remove(ctx, r)
	case runs:
		r.state = stopping
		reason := "its port or options have changed"
		if next == nil {
			reason = "it is no longer configured"
		}
		s.out.Printf("ibsm: instance %s is stopped: %s", r.child.name, reason)
		r.cancel()
	}
}

// remove forgets a child that has ended, and runs the one that takes its place.
func (s *supervisor) remove(ctx context.Context, r *running) {
	delete(s.children, r.child.name)
	s.pass(s.notices.forget(r.child.name))
	if r.next != nil {
		s.start(ctx, *r.next)
	}
}

// hasEnded notes that a child has ended for good.
func (s *supervisor) hasEnded(ctx context.Context, r *running) {
	s.left--
	was := r.state
	r.state = ended
	r.cancel()
	s.status = max(s.status, r.status)
	if was == stopping && ctx.Err() == nil {
		s.remove(ctx, r)
	}
}

// killHung kills children that have stopped reporting; they are restarted.
func (s *supervisor) killHung(names []string) {
	for _, name := range names {
		s.out.Printf("ibsm: instance %s has not responded for %v: killing it", name, childAlive)
		s.children[name].signal(syscall.SIGKILL)
	}
}

// signal passes a signal on to all that run.
func (s *supervisor) signal(sig os.Signal) {
	for _, r := range s.children {
		r.signal(sig)
	}
}

func (r *running) signal(sig os.Signal) {
	select {
	case r.signals <- sig:
	default: // it does not run
	}
}

// keep runs a child, again and again if it fails.
func (s *supervisor) keep(ctx context.Context, r *running) {
	name := r.child.name
	for wait := s.soonest; ; {
		began := time.Now()
		status, err := s.runOnce(ctx, r)
		if ctx.Err() != nil || status == 0 || s.once {
			r.status = status
			if ctx.Err() == nil {
				s.out.Printf("ibsm: instance %s has ended with status %d", name, status)
			}
			return
		}
		if time.Since(began) >= restartLatest {
			wait = s.soonest
		}
		s.out.Printf("ibsm: instance %s has ended: %v; restarting it in %v", name, err, wait)
		if !r.pause(ctx, wait) {
			return
		}
		wait = min(2*wait, restartLatest)
	}
}

// pause waits before the restart of a child, until the delay is over or a reload asks for it.
// It returns false if the child is not restarted.
func (r *running) pause(ctx context.Context, wait time.Duration) bool {
	over := time.After(wait)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-over:
			return true
		case sig := <-r.signals:
			if sig == syscall.SIGHUP || sig == syscall.SIGCONT {
				return true
			}
		}
	}
}

// runOnce runs a child until it ends. When ctx ends it stops the child.
func (s *supervisor) runOnce(ctx context.Context, r *running) (status int, err error) {
	c := &r.child
	cmd := exec.CommandContext(ctx, s.program, c.args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = s.patience
	env, end := hearChild(s.sockets, c.name, s.reports)
	defer end()
	cmd.Env = slices.Concat(os.Environ(), []string{daemonMark + "=1"}, c.env, env) // it stays in the foreground
	out, errs := &lineWriter{out: s.out, name: c.name}, &lineWriter{out: s.out, name: c.name}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for this process, which passes it on
	err = cmd.Start()
	if ctx.Err() != nil && err != nil {
		return 0, nil // no time to begin
	} else if err != nil {
		return ExitFailed, err
	}
	s.out.Printf("ibsm: instance %s runs as process %d", c.name, cmd.Process.Pid)
	err = r.wait(cmd)
	out.flush()
	errs.flush()
	if status = cmd.ProcessState.ExitCode(); status < 0 {
		status = ExitFailed // a signal has ended it
		if ctx.Err() != nil {
			s.out.Printf("ibsm: instance %s has ended: %v", c.name, err)
		}
	}
	return status, err
}

// wait waits for the end of a child, and passes signals on to it meanwhile.
func (r *running) wait(cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-r.signals:
			_ = cmd.Process.Signal(sig) // an error means that it has ended
		case err := <-ended:
			return err
		}
	}
}

// maxLine is the longest line of a child that is held back for its end.
const maxLine = 64 << 10

// lineWriter passes on what a child prints, line by line with its name.
type lineWriter struct {
	out  *log.Logger
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
		w.out.Printf("%s: %s", w.name, line)
		w.rest = w.rest[min(len(line)+1, len(w.rest)):]
	}
}

// flush passes on a last line without an end.
func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.out.Printf("%s: %s", w.name, w.rest)
		w.rest = nil
	}
}
