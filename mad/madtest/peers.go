package madtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// peerLimit bounds how long a peer runs, so that one that hangs fails a test.
const peerLimit = 10 * time.Minute

// packages are Debian's for the programs that tests take as witnesses.
var packages = map[string]string{
	"bash": "bash", "dump_fts": "infiniband-diags", "fish": "fish", "ibdmchk": "ibutils",
	"ibnetdiscover": "infiniband-diags", "ibsim": "ibsim-utils", "ibsim-run": "ibsim-utils", "ibtopodiff": "ibutils",
	"nsenter": "util-linux", "opensm": "opensm", "man": "man-db", "mandoc": "mandoc", "munged": "munge",
	"prometheus": "prometheus", "promtool": "prometheus", "scontrol": "slurm-client", "slurmctld": "slurmctld",
	"unshare": "util-linux", "zsh": "zsh",
}

// Need is the path of a program that the test takes as a witness. Without it the test
// is passed over; make test installs what is missing first.
func Need(t testing.TB, program string) (path string) {
	t.Helper()
	// where Debian puts some, off the path of most users
	for _, path := range []string{program, "/usr/sbin/" + program} {
		if path, err := exec.LookPath(path); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed: Debian's package %s has it", program, packages[program])
	return ""
}

// Peer prepares a program that uses libibumad, as if on a node of the fabric that
// is simulated behind the socket; "" is the fabric's first. What it leaves behind is in dir. It ends with the
// test, or after ten minutes.
func Peer(t testing.TB, dir, sock, node string, argv ...string) *exec.Cmd {
	t.Helper()
	argv = Patient(argv...)
	cmd := command(t, Need(t, "ibsim-run"), append([]string{Need(t, argv[0])}, argv[1:]...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+sock, "OSM_CACHE_DIR="+dir, "OSM_TMP_DIR="+dir)
	if node != "" {
		cmd.Env = append(cmd.Env, "SIM_HOST="+node)
	}
	return cmd
}

// Patient is a command line that waits for an answer as long as a busy machine may take. Programs of
// infiniband-diags wait a second otherwise; a time of the caller's own is in force.
func Patient(argv ...string) []string {
	switch argv[0] {
	case "dump_fts", "iblinkinfo", "ibnetdiscover", "ibping", "ibportstate", "ibqueryerrors", "ibroute", "ibtracert",
		"perfquery", "saquery", "sminfo", "smpquery":
		return slices.Insert(slices.Clone(argv), 1, "--timeout", "20000")
	}
	return argv
}

// command is one that ends with the test, or after peerLimit.
func command(t testing.TB, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), peerLimit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	return cmd
}

var sockets atomic.Int32

// NewSocket is a base for names of ibsim's sockets that no other test has.
func NewSocket() string { return fmt.Sprintf("ibsm-peer-%d-%d", os.Getpid(), sockets.Add(1)) }

// StartIbsim runs Debian's ibsim on a topology file, of up to 60,000 nodes, until the
// test ends. It returns when clients can attach.
func StartIbsim(t testing.TB, file string) (sock string) {
	t.Helper()
	sock = NewSocket()
	cmd := command(t, Need(t, "ibsim"), "-s", "-n", "-N", "60000", "-S", "5000", "-P", "500000", "-L", "49151", file)
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+sock)
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = cmd.Stdout
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var said bytes.Buffer
	for !strings.Contains(said.String(), "MaxMcastCap") { // the last it says before it serves
		if _, err := io.CopyN(&said, out, 1); err != nil {
			t.Fatalf("ibsim ended: %v\n%s", err, said.String())
		}
	}
	go io.Copy(io.Discard, out)
	return sock
}
