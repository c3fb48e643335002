package ctl

import (
	"fmt"
	"sync/atomic"

	"ibsm/connlimit"
)

// Stats holds the counters of a Server. It is safe for concurrent reads.
type Stats struct {
	Control  connlimit.Counters // of the control socket
	Metrics  connlimit.Counters // of Listeners.Metrics
	Leader   connlimit.Counters // of Listeners.Leader
	Requests atomic.Uint64
	Errors   atomic.Uint64 // requests answered with an error
	Cut      atomic.Uint64 // replies that the client did not read completely or in time

	Waiting atomic.Int64  // requests that wait for their turn, now
	NoRoom  atomic.Uint64 // requests that were refused, because too many of their kind waited
}

// busy is the reply to a connection beyond the limits.
var busy = func() []byte {
	const text = `{"error":"too many connections","hint":"close some, or try again later"}`
	return fmt.Appendf(nil,
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
}()
