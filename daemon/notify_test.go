package daemon

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// listenAsServiceManager is the socket of a service manager, which NOTIFY_SOCKET names.
func listenAsServiceManager(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return conn
}

// TestNotifierOrder: what is said arrives in order, a statement on a line, also what was said
// last before the end.
func TestNotifierOrder(t *testing.T) {
	conn := listenAsServiceManager(t)
	var ts tasks
	n := newNotifier(&ts)
	n.ready("is open")
	n.status("two\nlines")
	n.say("STOPPING=1")
	ts.end()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"READY=1\nSTATUS=is open", "STATUS=two lines", "STOPPING=1"} {
		var b [256]byte
		size, err := conn.Read(b[:])
		if got := string(b[:size]); err != nil || got != want {
			t.Errorf("%q came (%v), want %q", got, err, want)
		}
	}
}

// TestNotifierUnread: a service manager that does not read holds up no goroutine that has something
// to say, nor the end.
func TestNotifierUnread(t *testing.T) {
	listenAsServiceManager(t)
	var ts tasks
	n := newNotifier(&ts)
	for range 10 * maxStatements {
		n.status("is up")
	}
	ts.end()
}

// TestNotifierWithout: without a service manager nothing is said.
func TestNotifierWithout(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "1000000")
	var ts tasks
	n := newNotifier(&ts)
	n.ready("is open")
	ts.end()
	if n.alive != 0 || n.interval() != time.Hour {
		t.Errorf("it would report every %v", n.interval())
	}
}
