package ctl

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Stats counts what a Server has done. Any number of goroutines may read it.
type Stats struct {
	Accepted atomic.Uint64 // connections
	Refused  atomic.Uint64 // connections beyond the limit
	Open     atomic.Int64  // connections now
	Requests atomic.Uint64
	Errors   atomic.Uint64 // requests answered with an error
	Cut      atomic.Uint64 // replies that were not taken in time, or not to the end
}

// limited is a listener that refuses connections beyond a limit at once, so that they
// neither wait nor take up anything.
type limited struct {
	net.Listener
	limit int64
	stats *Stats
}

// busy is what a connection beyond the limit is told.
var busy = func() []byte {
	const text = `{"error":"too many connections","hint":"end some, or try again later"}`
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
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
		c.SetDeadline(time.Now().Add(time.Second)) // of which it needs nothing: the buffer of a new socket takes it
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
