package main_test

import (
	"ibsm/topo/net/nettest"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serviceManager is the socket that a service manager listens at.
type serviceManager struct {
	t    *testing.T
	path string
	conn *net.UnixConn
	said []string
}

func newServiceManager(t *testing.T) *serviceManager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &serviceManager{t: t, path: path, conn: conn}
}

// await reads until a statement comes that begins with want.
func (m *serviceManager) await(want string) {
	m.t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(patience())); err != nil {
		m.t.Fatal(err)
	}
	for b := make([]byte, 4096); ; {
		n, err := m.conn.Read(b)
		if err != nil {
			m.t.Fatalf("nothing like %q came, but %q: %v", want, m.said[:min(len(m.said), 30)], err)
		}
		statements := strings.Split(string(b[:n]), "\n")
		m.said = append(m.said, statements...)
		if slices.ContainsFunc(statements, func(s string) bool { return strings.HasPrefix(s, want) }) {
			return
		}
	}
}

// heard reports whether something has come already.
func (m *serviceManager) heard(want string) bool {
	return slices.ContainsFunc(m.said, func(s string) bool { return strings.HasPrefix(s, want) })
}

// TestNotify: the service manager hears when the port is open and when it is waited for,
// what the manager is, that it is alive, and that it ends.
func TestNotify(t *testing.T) {
	t.Parallel()
	m := newServiceManager(t)
	env := append(caches(t), "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=300000")
	// not in the background, though
	p := start(t, nil, t.TempDir(), env, program(t, "ibsm"), "--fabric", "fattree:k=4,levels=2", "-f", "sm.log", "-s",
		"0", "-B")
	m.await("READY=1")
	m.await("STATUS=Entering MASTER state")
	m.await("STATUS=SUBNET UP")
	for range 3 {
		m.await("WATCHDOG=1")
	}
	p.signal(syscall.SIGTERM)
	m.await("STOPPING=1")

	m = newServiceManager(t)
	env = append(caches(t), "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=300000", "IBSIM_SOCKNAME="+newSocket())
	start(t, nil, t.TempDir(), env, program(t, "ibsm"), "--ibsim", "-f", "sm.log")
	m.await("READY=1")
	m.await("WATCHDOG=1")
	if !m.heard("STATUS=waiting for the port") {
		t.Errorf("it does not say that it waits: %q", m.said)
	}
}

// TestNotifyAll: a supervisor is ready when all its managers are, but for one that cannot
// start, and says how they are.
func TestNotifyAll(t *testing.T) {
	t.Parallel()
	spec := nettest.Spec(t, "fattree:k=4,levels=2")
	guids := hostPorts(t, spec)
	if r := run(t, "", nil, "unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/etc"); r.status != 0 {
		t.Skip("this system gives no mount namespace: " + r.stderr)
	}
	m, dir := newServiceManager(t), t.TempDir()
	inside := "mount -t tmpfs none /etc; mkdir /etc/default; echo 'PORTS=\"0x1 " + strings.Join(guids, " ") +
		"\"' >/etc/default/opensm; exec " +
		program(t, "ibsm") + " --launch --fabric " + spec + " -f " + dir + "/sm.log --dump_files_dir " + dir
	env := append(caches(t), "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=300000")
	p := start(t, nil, dir, env, "unshare", "-Urm", "sh", "-c", inside)
	m.await("READY=1")
	// The status may have come before READY=1.
	if status := "STATUS=0x0000000000000001: has ended; " + guids[0] + ": SUBNET UP; " + guids[1] +
		": SUBNET UP"; !m.heard(status) {
		m.await(status)
	}
	m.await("WATCHDOG=1")
	p.stop()
	m.await("STOPPING=1")
}
