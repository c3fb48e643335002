package console

import (
	"sync/atomic"

	"ibsm/connlimit"
)

// Limits of servers of clients.
const (
	MaxClients = 8 // at a time; a further client gets a message and is disconnected
)

// Counters is what became of clients. Any number of goroutines may use it.
type Counters struct {
	connlimit.Counters
	Lines   atomic.Uint64 // command lines
	TooLong atomic.Uint64 // lines beyond MaxLine
	Cut     atomic.Uint64 // clients that said nothing for too long, or did not take answers in time
}
