package ibsim

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/smi"
	"ibsm/mad/txn"
)

var _ mad.Port = (*Port)(nil)

// smallNet: H1 - S1 - S2 - H3, and H2 at S1.
const smallNet = `Switch	8 "S1"
[1]	"H1"[1]
[2]	"H2"[1]
[3]	"S2"[1]

Switch	8 "S2"
[1]	"S1"[3]
[2]	"H3"[1]

Hca	1 "H1"
[1]	"S1"[1]

Hca	1 "H2"
[1]	"S1"[2]

Hca	1 "H3"
[1]	"S2"[2]
`

// simulators counts those of this process, for their names.
var simulators atomic.Int32

// simulator is a running ibsim of Debian's ibsim-utils, or a Server of ours.
type simulator struct {
	Config
	kill    func()
	server  *Server // ours
	cmd     *exec.Cmd
	console io.Writer
	prompts *bufio.Reader
}

// startSimulator runs ibsim on a net until the test ends.
func startSimulator(t testing.TB, topology string, args ...string) *simulator {
	t.Helper()
	s := launchSimulator(t, topology, args...)
	s.command(t, "Start")
	return s
}

// launchSimulator runs ibsim but does not start its network.
func launchSimulator(t testing.TB, topology string, args ...string) *simulator {
	t.Helper()
	path := madtest.Need(t, "ibsim")
	file := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(file, []byte(topology), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &simulator{
		Config: Config{Node: "H1", SockName: fmt.Sprintf("ibsm-test-%d-%d", os.Getpid(), simulators.Add(1))},
	}
	s.cmd = exec.Command(path, append(args, file)...)
	s.cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+s.SockName)
	s.cmd.Stderr = io.Discard
	var err error
	s.console, err = s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.kill = sync.OnceFunc(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	})
	t.Cleanup(s.kill)
	s.prompts = bufio.NewReader(out)
	s.waitFor(t, "sim (inactive)>")
	// Its first prompt comes before its sockets; it obeys when they are there.
	fmt.Fprintln(s.console, "Verbose 0")
	s.waitFor(t, "sim (inactive)>")
	return s
}

// command types a line and waits until it is obeyed.
func (s *simulator) command(t testing.TB, line string) {
	t.Helper()
	fmt.Fprintln(s.console, line)
	s.waitFor(t, "sim>")
}

func (s *simulator) waitFor(t testing.TB, prompt string) {
	t.Helper()
	var seen bytes.Buffer
	for !strings.HasSuffix(seen.String(), prompt) {
		b, err := s.prompts.ReadByte()
		if err != nil {
			t.Fatalf("ibsim ended before its prompt: %v\n%s", err, seen.String())
		}
		seen.WriteByte(b)
	}
}

// dial attaches and runs an smi.Port on the port until the test ends.
func dial(t testing.TB, cfg Config) (*Port, *smi.Port) {
	t.Helper()
	p, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	e := smi.New(p)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return p, e
}

func nodeInfo(ports ...uint8) txn.Request {
	return txn.Request{Route: mad.MakeRoute(ports...), Method: mad.MethodGet, Attr: 0x11}
}
