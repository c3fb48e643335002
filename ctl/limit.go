package ctl

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Stats holds the counters of a Server. It is safe for concurrent reads.
type Stats struct {
	Accepted atomic.Uint64 // connections
	Refused  atomic.Uint64 // connections beyond the limit
	Open     atomic.Int64  // connections now
	Requests atomic.Uint64
	Errors   atomic.Uint64 // requests answered with an error
	Cut      atomic.Uint64 // replies that the client did not read completely or in time

	Waiting atomic.Int64  // requests that wait for their turn, now
	NoRoom  atomic.Uint64 // requests that were refused, because too many of their kind waited
}

// limited is a listener that refuses connections beyond a limit at once, so that they use
// no resources.
type limited struct {
	net.Listener
	limit int64
	stats *Stats
}

// busy is the reply to a connection beyond the limit.
var busy = func() []byte {
	const text = `{"error":"too many connections","hint":"close some, or try again later"}`
	return fmt.Appendf(nil,
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
}()

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.stats.Open.Add(1) <= l.limit {
			l.stats.Accepted.Add(1)
			return &countedConn{Conn: c, stats: l.stats}, nil
		}
		l.stats.Open.Add(-1)
		l.stats.Refused.Add(1)
		// not needed in practice: the reply fits into the buffer of a new socket
		c.SetDeadline(time.Now().Add(time.Second))
		c.Write(busy)
		c.Close()
	}
}

type countedConn struct {
	net.Conn
	stats *Stats
	once  sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.stats.Open.Add(-1) })
	return c.Conn.Close()
}
