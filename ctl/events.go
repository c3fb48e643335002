package ctl

import (
	"context"
	"sync"
	"time"
)

// Event is a log event. Seq counts from 1 since the start of the process, without gaps.
type Event struct {
	Seq   uint64         `json:"seq"`
	Time  time.Time      `json:"time"`
	Level string         `json:"level"` // debug, info, warn, error
	Text  string         `json:"text"`
	Attrs map[string]any `json:"attrs,omitempty"`
}

// Ring is a ring buffer of the latest events. It is safe for concurrent use.
type Ring struct {
	mu     sync.Mutex // guards the following
	events []Event    // event n is at n modulo its length
	last   uint64     // Seq of the newest; 0 none
	added  chan struct{}
}

// NewRing returns a ring for size events, at least one.
func NewRing(size int) *Ring {
	return &Ring{events: make([]Event, max(size, 1)), added: make(chan struct{})}
}

// Add numbers and stores an event. It does not block on readers.
func (r *Ring) Add(e Event) {
	added := make(chan struct{})
	r.mu.Lock()
	r.last++
	e.Seq = r.last
	r.events[e.Seq%uint64(len(r.events))] = e
	added, r.added = r.added, added
	r.mu.Unlock()
	close(added)
}

// Last is the number of the newest event, 0 before the first.
func (r *Ring) Last() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Since appends to into the stored events after number since, oldest first. added is
// closed when there are more.
func (r *Ring) Since(since uint64, into []Event) (events []Event, added <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if oldest := r.last - min(r.last, uint64(len(r.events))); since < oldest {
		since = oldest
	}
	for n := since + 1; n <= r.last; n++ {
		into = append(into, r.events[n%uint64(len(r.events))])
	}
	return into, r.added
}

// follow passes each event after number since to each, and waits for more until ctx is
// done or each fails. Events that are no longer stored appear as a gap in the numbers.
func (r *Ring) follow(ctx context.Context, since uint64, each func([]Event) error) error {
	var batch []Event
	for {
		var added <-chan struct{}
		batch, added = r.Since(since, batch[:0])
		if len(batch) > 0 {
			since = batch[len(batch)-1].Seq
			if err := each(batch); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-added:
		}
	}
}
