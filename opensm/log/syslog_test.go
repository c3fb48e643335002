package log

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// TestSyslog: lines come as OpenSM's do, also after the system's log was started anew;
// without one, or with one that reads nothing, nobody waits.
func TestSyslog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	s := NewSyslog(path)
	s.Send(time.Now(), SyslogInfo, "nobody listens")
	var stuck *net.UnixConn
	for i, severity := range []Severity{SyslogInfo, SyslogNotice} {
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("line %d\n\tgoes on", i)
		s.Send(time.Now(), severity, text)
		b := make([]byte, 1000)
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(b)
		want := fmt.Sprintf(`^<%d>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d OpenSM\[%d\]: line %d goes on$`, 8+severity,
			os.Getpid(), i)
		if err != nil || !regexp.MustCompile(want).Match(b[:n]) {
			t.Errorf("got %q, %v; want %s", b[:n], err, want)
		}
		if i == 0 {
			conn.Close()
			os.Remove(path)
		}
		stuck = conn
	}
	defer stuck.Close()
	began := time.Now()
	for s.conn != nil { // until the socket is full and the copy is given up
		s.Send(time.Now(), SyslogInfo, "nobody reads")
		if time.Since(began) > 20*time.Second {
			t.Fatal("the socket is never full")
		}
	}
}
