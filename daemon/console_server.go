package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"ibsm/connlimit"
	"ibsm/opensm/console"
)

// How long a client of the console may say nothing, and how long it may take for a part
// of an answer.
const (
	consoleReadPatience  = time.Hour
	consoleWritePatience = 10 * time.Second
)

// consoleServer serves the clients of OpenSM's console.
type consoleServer struct {
	daemon   *console.Daemon
	counters *console.Counters
	logger   *slog.Logger

	perAddress                  int // clients at a time
	readPatience, writePatience time.Duration
}

// busyConsole is the answer to a client while there are too many.
const busyConsole = "OpenSM Console connection already in use\n"

// serve takes clients until ctx is done, and returns when all have ended.
func (c *consoleServer) serve(ctx context.Context, inner net.Listener) {
	limits := connlimit.Limits{Total: console.MaxClients, Peer: c.perAddress}
	l := connlimit.New(inner, limits, []byte(busyConsole), &c.counters.Counters)
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return
		case err != nil: // too many open files, or a client that is gone already
			c.logger.Warn("console connection not accepted", "reason", err)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		clients.Go(func() { c.client(ctx, conn) })
	}
}

// client serves one client.
func (c *consoleServer) client(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	from := conn.RemoteAddr().String()
	c.logger.Debug("Console connection accepted", "from", from)
	daemon := *c.daemon
	daemon.Acted = func(line string) { c.logger.Info("console command", "from", from, "command", line) }
	patient := &patientConn{conn, c.readPatience, c.writePatience}
	err := c.converse(ctx, console.New(&daemon, patient, false), patient)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.counters.Cut.Add(1)
		c.logger.Info("console connection closed: the client was idle or did not read its output", "from", from)
	}
	if errors.Is(err, errHTTP) {
		c.logger.Warn("console connection closed: the client speaks HTTP, as a browser does", "from", from)
	}
	c.logger.Debug("Console connection closed", "from", from)
}

// terminal serves the terminal that the manager was started from. Where that ends, the
// manager goes on without.
func (c *consoleServer) terminal(ctx context.Context, in io.Reader, out io.Writer) {
	signal.Ignore(syscall.SIGTTIN) // in the background of a shell reading fails, rather than stop the manager
	if err := c.converse(ctx, console.New(c.daemon, out, true), in); err != nil {
		c.logger.Info("the console at the terminal has ended", "reason", err)
	}
}

// readLine is what reading a command line came to.
type readLine struct {
	text string
	err  error
}

// converse serves a session until its client leaves or ctx is done. The error is that of reading or writing.
func (c *consoleServer) converse(ctx context.Context, s *console.Session, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan readLine)
	go func() { // ends when reading does, for which the caller provides
		defer close(lines)
		for l := console.NewLines(in); ; {
			text, err := l.Next()
			select {
			case lines <- readLine{text, err}:
			case <-ctx.Done():
				return
			}
			if err != nil && !errors.Is(err, console.ErrTooLong) {
				return
			}
		}
	}()
	again := time.NewTicker(console.LoopEvery)
	defer again.Stop()
	for more, err := true, s.Greet(); ; {
		if err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
			err = s.Tick()
		case line := <-lines:
			more, err = c.line(s, line)
		}
	}
}

// line hands a command line on.
func (c *consoleServer) line(s *console.Session, line readLine) (more bool, err error) {
	switch {
	case errors.Is(line.err, console.ErrTooLong):
		c.counters.TooLong.Add(1)
		return true, s.TooLong()
	case errors.Is(line.err, io.EOF):
		return false, nil
	case line.err != nil:
		return false, line.err
	}
	c.counters.Lines.Add(1)
	if isHTTP(line.text) {
		return false, errHTTP
	}
	return s.Line(line.text)
}

// errHTTP ends a connection whose client speaks HTTP: a web page can have a browser post command lines to the console.
var errHTTP = errors.New("the client speaks HTTP")

// isHTTP reports whether a line is a request line or a header of HTTP. No command is: none has a colon in its first
// word.
func isHTTP(line string) bool {
	words := strings.Fields(line)
	return len(words) > 0 &&
		(strings.Contains(words[0], ":") || strings.HasPrefix(strings.ToUpper(words[len(words)-1]), "HTTP/"))
}

// patientConn is a connection whose reads and writes end in time. The other end may
// take no answers.
type patientConn struct {
	net.Conn
	read, write time.Duration
}

func (p *patientConn) Read(b []byte) (int, error) {
	p.Conn.SetReadDeadline(time.Now().Add(p.read))
	return p.Conn.Read(b)
}

func (p *patientConn) Write(b []byte) (int, error) {
	p.Conn.SetWriteDeadline(time.Now().Add(p.write))
	p.Conn.SetReadDeadline(time.Now().Add(p.read))
	return p.Conn.Write(b)
}
