package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// manager is a subnet manager that the tests can start. The harness is written for
// any: OpenSM is the one that is known to be right.
type manager struct {
	name string
	// start starts it on a node of a simulator, with further options.
	start func(s *simulator, host string, options ...string) *process
}

// opensm is Debian's OpenSM. It writes its log at once and sweeps on traps alone.
var opensm = manager{
	name: "opensm",
	start: func(s *simulator, host string, options ...string) *process {
		s.t.Helper()
		conf := s.path("opensm.conf")
		if err := os.WriteFile(conf, []byte("force_log_flush TRUE\n"+s.conf), 0o666); err != nil {
			s.t.Fatal(err)
		}
		return s.startManager(host,
			append([]string{"ibsim-run", "opensm", "-F", conf, "-f", "stdout", "-s", "0", "-R", "minhop"},
				options...)...)
	},
}

// ibsm is the manager under test.
var ibsm = manager{
	name: "ibsm",
	start: func(s *simulator, host string, options ...string) *process {
		s.t.Helper()
		argv := []string{program(s.t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0"}
		if s.conf != "" {
			conf := s.path("ibsm.conf")
			if err := os.WriteFile(conf, []byte(s.conf), 0o666); err != nil {
				s.t.Fatal(err)
			}
			argv = append(argv, "-F", conf)
		}
		return s.startManager(host, append(argv, options...)...)
	},
}

// bringUp starts the manager and returns when it says that the subnet is up.
func (m *manager) bringUp(s *simulator, options ...string) *process {
	s.t.Helper()
	p := m.start(s, s.net.managerHost(), options...)
	p.await("SUBNET UP")
	return p
}

// programs are the commands of this module, built once.
var programs struct {
	sync.Mutex
	dir string
}

// program builds a command of this module and returns where it is.
func program(t *testing.T, name string) string {
	t.Helper()
	return built(t, "cmd/"+name)
}

// buildLimit is how long a build may take: on a busy machine minutes, where no part of it is in Go's cache.
const buildLimit = 30 * time.Minute

// built builds the program in a folder of this module and returns where it is.
func built(t *testing.T, folder string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	path := filepath.Join(programs.dir, filepath.Base(folder))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	argv := []string{"go", "build", "-o", path, "ibsm/" + folder}
	if raceDetector {
		argv = slices.Insert(argv, 2, "-race")
	}
	if r := runWithin(t, buildLimit, "", nil, argv...); r.status != 0 {
		t.Fatalf("go build %s: %s", folder, r.stderr)
	}
	return path
}

func TestMain(m *testing.M) {
	if order := os.Getenv(attackEnv); order != "" {
		os.Exit(runAttack(order))
	}
	if users := os.Getenv(listenerEnv); users != "" {
		os.Exit(runListener(users))
	}
	dir, err := os.MkdirTemp("", "ibsm-test-")
	if err != nil {
		panic(err)
	}
	programs.dir = dir
	reports := filepath.Join(dir, "race")
	os.Setenv("GORACE", "log_path="+reports) // of the programs, where the detector is in them
	status := m.Run()
	races, _ := filepath.Glob(reports + ".*")
	for _, name := range races {
		text, _ := os.ReadFile(name)
		fmt.Fprintf(os.Stderr, "%s\n", text)
		status = 1
	}
	os.RemoveAll(dir)
	os.Exit(status)
}
