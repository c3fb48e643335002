package history

import (
	"context"
	"sync"
	"time"

	"ibsm/opensm/names"
	"ibsm/priority"
	"ibsm/registry"
	"ibsm/view"
)

// Keeper follows the views of a manager, or of several that run one after the other, and
// keeps the Log. Any number of goroutines may use it. It holds the view that was published
// last, and none besides but while it compares two.
type Keeper struct {
	names names.Map
	wake  chan struct{} // has room for one

	mu      sync.Mutex // guards the following
	log     *Log
	pending bool // next is pending
	next    Moment
	at      time.Time // when it was published
}

// NewKeeper has no views yet. given are the names of nodes in its texts; nil for none.
func NewKeeper(given names.Map) *Keeper {
	return &Keeper{names: given, wake: make(chan struct{}, 1), log: NewLog()}
}

// Put takes a view that was published, nil for none any more, and what is registered with
// it. It does not wait: of views that follow each other more quickly than they can be
// compared, the last counts.
func (k *Keeper) Put(v *view.View, reg *registry.State) {
	k.mu.Lock()
	k.next, k.at, k.pending = Moment{v, reg}, time.Now(), true
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Run compares what is put until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	var last Moment
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		}
		k.mu.Lock()
		next, at, pending := k.next, k.at, k.pending
		k.next, k.pending = Moment{}, false
		k.mu.Unlock()
		if pending {
			priority.Compute(func() { k.take(last, next, at) })
			last = next
		}
	}
}

// take compares two Moments, of which the first may be none, and notes what it finds.
func (k *Keeper) take(last, next Moment, at time.Time) {
	switch {
	case next.View == nil:
	case last.View == nil || next.View.Gen <= last.View.Gen:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.log.Begin(next.View, at)
	default:
		step, losses := Compare(k.names, last, next)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.log.Add(step, losses, at)
	}
}

// Steps are as Log.Steps.
func (k *Keeper) Steps() []Step {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Steps()
}

// Between is as Log.Between.
func (k *Keeper) Between(from, to uint64) ([]Step, []Change, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Between(from, to)
}

// Link is as Past.Link.
func (k *Keeper) Link(here End) (l LostLink, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Link(here)
}

// Lost is as Past.Lost.
func (k *Keeper) Lost() ([]GoneNode, []LostLink) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Lost()
}

// Gone is as Past.Gone.
func (k *Keeper) Gone(match func(*GoneNode) bool) (GoneNode, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Gone(match)
}
