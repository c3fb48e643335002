package main_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ibsm/mad/madtest"
)

// prompt is what ibsim's console prints when it is ready for a command.
const prompt = "sim> "

// simulator is Debian's ibsim with a fabric.
type simulator struct {
	t      *testing.T
	dir    string // where its clients run: they leave files
	socket string
	conf   string // lines of opensm.conf for managers that are started
	net    *netFile
	proc   *process
	stdin  io.Writer
}

var sockets atomic.Int32

// newSocket is a name for ibsim's sockets that no one else has.
func newSocket() string {
	return fmt.Sprintf("ibsm-test-%d-%d", os.Getpid(), sockets.Add(1))
}

// startIbsim serves the fabric of a net file. It returns when clients can attach.
func startIbsim(t *testing.T, file string) *simulator {
	t.Helper()
	return startIbsimAt(t, file, newSocket())
}

func startIbsimAt(t *testing.T, file, socket string) *simulator {
	t.Helper()
	s := &simulator{t: t, dir: t.TempDir(), socket: socket, net: readNet(t, file)}
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	t.Cleanup(func() { w.Close() })
	s.stdin = w
	s.proc = start(t, stdin, s.dir, s.env(""), "ibsim", "-s", "-N", "60000", "-S", "5000", "-P", "500000", "-L",
		"30720", file)
	s.proc.await(prompt)
	s.console("") // it prompts before it listens to clients, and answers after
	return s
}

// env are the variables that lead a client to this simulator, at a node.
func (s *simulator) env(host string) []string {
	return []string{"IBSIM_SOCKNAME=" + s.socket, "SIM_HOST=" + host}
}

// console runs a command of ibsim's console, such as Unlink "H1"[1].
func (s *simulator) console(format string, args ...any) {
	s.t.Helper()
	line := fmt.Sprintf(format, args...)
	s.proc.skip()
	if _, err := fmt.Fprintln(s.stdin, line); err != nil {
		s.t.Fatalf("ibsim console: %v", err)
	}
	said := s.proc.await(prompt)
	if strings.Contains(said, "# ") || strings.Contains(said, "unknown") { // what it says besides are warnings
		s.t.Fatalf("ibsim console: %s: %s", line, said)
	}
}

// run runs a program that uses libibumad as if on the node host.
func (s *simulator) run(host string, argv ...string) result {
	s.t.Helper()
	return run(s.t, s.dir, s.env(host), append([]string{"ibsim-run"}, madtest.Patient(argv...)...)...)
}

// startManager starts a manager at the node host, with caches of its own.
func (s *simulator) startManager(host string, argv ...string) *process {
	s.t.Helper()
	return start(s.t, nil, s.dir, append(s.env(host), caches(s.t)...), argv...)
}

// caches are the variables that give a manager a place for its files that no other
// has.
func caches(t *testing.T) []string {
	dir := t.TempDir()
	return []string{"OSM_CACHE_DIR=" + dir, "OSM_TMP_DIR=" + dir, "IBSM_SOCKET=none"}
}

// path is a file in the simulator's folder.
func (s *simulator) path(name string) string { return filepath.Join(s.dir, name) }
