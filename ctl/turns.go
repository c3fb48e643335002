package ctl

import (
	"context"
	"fmt"
)

// Limits of requests that take long. A plan of 11,664 hosts holds a subnet and its routes, some 60 MB, until its
// client has read it. The manager computes one at a time, with one processor, so that a sweep beside it has the
// others: the second is that of a client that reads, which may be slow.
const (
	maxPlans   = 2        // at a time
	maxOther   = 1        // of each other kind
	maxWaiting = 16       // of each kind
	shortText  = 64 << 10 // of partitions, in bytes: a longer one is not held while it waits
)

// turns lets a few requests of a kind through at a time. Others wait, in the order in which they came.
type turns struct {
	kind    string
	taken   chan struct{} // has a token for each request that has its turn
	waiting chan struct{} // and one for each that waits
	stats   *Stats
}

func newTurns(kind string, most int, stats *Stats) turns {
	return turns{kind, make(chan struct{}, most), make(chan struct{}, maxWaiting), stats}
}

// take waits for a turn, until the client leaves. Without an error, end follows.
func (t turns) take(ctx context.Context) error {
	select {
	case t.taken <- struct{}{}:
		return nil
	default:
	}
	select {
	case t.waiting <- struct{}{}:
	default:
		t.stats.NoRoom.Add(1)
		return hint(fmt.Errorf("%w: %d %s are already waiting", ErrNotNow, maxWaiting, t.kind),
			"try again later, or stop commands that are waiting")
	}
	t.stats.Waiting.Add(1)
	defer func() {
		t.stats.Waiting.Add(-1)
		<-t.waiting
	}()
	select {
	case t.taken <- struct{}{}:
		if ctx.Err() != nil { // both have come
			t.end()
		}
	case <-ctx.Done():
	}
	return ctx.Err()
}

// end gives the turn to the next one.
func (t turns) end() { <-t.taken }
