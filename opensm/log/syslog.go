package log

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// SyslogSocket is where the system's log listens.
const SyslogSocket = "/dev/log"

// Severity is that of syslog(3).
type Severity uint8

// Severities that OpenSM uses.
const (
	SyslogNotice Severity = 5
	SyslogInfo   Severity = 6
)

// syslogUser is the facility that OpenSM logs with.
const syslogUser = 1 << 3

// syslogPatience is how long the system's log may keep a line waiting: it is a copy, and
// not worth more.
const syslogPatience = 100 * time.Millisecond

// Syslog copies lines to the system's log as OpenSM does, under OpenSM's name. A system
// without one, or one that does not take lines, goes without. One goroutine uses it.
type Syslog struct {
	path string
	conn net.Conn // nil until it is needed, and after an error
}

// NewSyslog is the log that listens at a socket.
func NewSyslog(path string) *Syslog { return &Syslog{path: path} }

// Send copies a line that was logged at a time.
func (s *Syslog) Send(at time.Time, severity Severity, text string) {
	line := fmt.Sprintf("<%d>%s OpenSM[%d]: %s", syslogUser|uint8(severity), at.Format(time.Stamp), os.Getpid(),
		strings.ReplaceAll(text, "\n\t", " "))
	for range 2 { // the log may have been started anew
		if s.conn == nil {
			conn, err := net.DialTimeout("unixgram", s.path, syslogPatience)
			if err != nil {
				return
			}
			s.conn = conn
		}
		_ = s.conn.SetWriteDeadline(time.Now().Add(syslogPatience)) // a socket takes any
		_, err := s.conn.Write([]byte(line))
		if err == nil {
			return
		}
		s.conn.Close()
		s.conn = nil
	}
}
