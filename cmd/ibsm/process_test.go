package main_test

import (
	"bytes"
	"context"
	"ibsm/topo/net/nettest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for one event. It is long because the machine
// may be busy with other tests, and it costs nothing where the event comes.
func patience() time.Duration {
	if proof() {
		return 10 * time.Minute
	}
	return 3 * time.Minute
}

// proof reports whether the tests run in their full sizes.
func proof() bool { return os.Getenv("IBSM_PROOF") != "" }

// process is a program that runs beside the test, with all that it wrote so far. It
// dies with the test, however the test ends.
type process struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it ended
	err  error         // of its end; read after done

	mu      sync.Mutex
	output  []byte
	read    int           // what await has passed
	written chan struct{} // closed and replaced with every write
}

// start runs argv in dir with the variables env on top of the test's own. A nil
// stdin is empty.
func start(t *testing.T, stdin *os.File, dir string, env []string, argv ...string) *process {
	t.Helper()
	p := &process{t: t, name: argv[0], done: make(chan struct{}), written: make(chan struct{})}
	if p.name == "ibsim-run" {
		p.name = argv[1]
	}
	p.cmd = command(t.Context(), dir, env, profiled(t, argv)...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if stdin != nil {
		p.cmd.Stdin = stdin
	}
	started := make(chan error)
	go func() {
		// Until the process ends, its thread cannot: the kernel would kill it (see command).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", p.name, tail(p.text()))
		}
	})
	return p
}

// command is argv, ready to run. The kernel kills it when the thread ends that started it, and so
// when the test process does.
func command(ctx context.Context, dir string, env []string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Write takes what the process prints.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output = append(p.output, b...)
	close(p.written)
	p.written = make(chan struct{})
	return len(b), nil
}

// text is all that the process has printed.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.output)
}

// await returns what the process prints up to and with the next occurrence of want,
// and goes on behind it the next time.
func (p *process) await(want string) string {
	p.t.Helper()
	late := time.NewTimer(patience())
	defer late.Stop()
	for ended := false; ; {
		text, written, ok := p.next(want)
		if ok {
			return text
		}
		if ended {
			p.t.Fatalf("%s ended (%v) before it said %q", p.name, p.err, want)
		}
		select {
		case <-written:
		case <-p.done:
			ended = true // what it wrote last is looked at below
		case <-late.C:
			p.t.Fatalf("%s has not said %q within %v", p.name, want, patience())
		}
	}
}

// next is one look for want; without it, written says when to look again.
func (p *process) next(want string) (text string, written <-chan struct{}, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := bytes.Index(p.output[p.read:], []byte(want))
	if at < 0 {
		return "", p.written, false
	}
	from := p.read
	p.read += at + len(want)
	return string(p.output[from:p.read]), nil, true
}

// skip forgets what has been printed so far: the next await looks at what follows.
func (p *process) skip() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read = len(p.output)
}

// rewind has the next await look at all that was printed.
func (p *process) rewind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read = 0
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %s: %v", p.name, err)
	}
}

// stop ends the process as an operator would, with SIGTERM.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience()):
		p.t.Fatalf("%s does not end on SIGTERM", p.name)
	}
}

// kill ends the process at once and waits for its end.
func (p *process) kill() {
	p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

// result is a program that has ended.
type result struct {
	stdout, stderr string
	status         int // exit status, -1 when a signal ended it
}

// profiled has the fabric inside a program made of the devices that the tests run on.
func profiled(t *testing.T, argv []string) []string {
	argv = slices.Clone(argv)
	for i := range argv {
		if i > 0 && argv[i-1] == "--fabric" {
			argv[i] = nettest.Spec(t, argv[i])
		}
	}
	return argv
}

// run runs argv to its end.
func run(t *testing.T, dir string, env []string, argv ...string) result {
	t.Helper()
	return runWithin(t, patience(), dir, env, argv...)
}

// runWithin runs argv to its end, which must come within a time.
func runWithin(t *testing.T, limit time.Duration, dir string, env []string, argv ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := command(ctx, dir, env, profiled(t, argv)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	runtime.LockOSThread()
	err := cmd.Run()
	runtime.UnlockOSThread()
	if ctx.Err() != nil {
		t.Fatalf("%s has not ended within %v; it wrote:\n%s%s", argv, limit, tail(out.String()),
			tail(errs.String()))
	}
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", argv, err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// tail is the end of a long text.
func tail(text string) string {
	const most = 4000
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	return "[...]" + text[strings.IndexByte(text, '\n')+1:]
}
