package users

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// Delays of failing answers.
const (
	shortestFail = 50 * time.Millisecond // a run of argon2id takes less on an idle processor
	longestDelay = 2 * time.Second       // beyond that time
	leastDelay   = 100 * time.Millisecond

	networkBurst = 20                  // distinct wrong pairs of a network that cause no delay,
	networkRate  = rate.Limit(1. / 10) // and how many more in a second
	pairBurst    = 20                  // answers to a wrong pair that cause no delay
	pairRate     = rate.Limit(5)

	mostLate          = 1024 // failing answers that are delayed at a time
	mostLateOfNetwork = 64

	mostJoined          = 1024 // requests that wait for the check of a pair by another one, at a time
	mostJoinedOfNetwork = 256
)

// Bounds of argon2id at a time.
const (
	mostRunning          = 2 // and no more than half of the processors: see turnsOn
	mostWaiting          = 64
	mostWaitingOfNetwork = 8
)

// turnsOn is how often argon2id runs at a time. It leaves processors to those that answer hosts.
func turnsOn(processors int) int { return min(mostRunning, max(processors/2, 1)) }

// network is what is known of an address, of IPv6 of its network of 64 bits.
type network struct {
	failures *rate.Limiter // distinct wrong pairs
	over     int           // those beyond the limit, less those within it: 0 to mostOver
}

// mostOver is the number with which the delay is the longest.
const mostOver = 6

// count counts a wrong pair that was not known.
func (n *network) count(now time.Time) {
	if n.failures.AllowN(now, 1) {
		n.over = max(n.over-1, 0)
	} else {
		n.over = min(n.over+1, mostOver)
	}
}

// delay is the delay of failing answers: 0 within the limit, beyond it twice as long with each further wrong pair.
func (n *network) delay(now time.Time) time.Duration {
	if n.over == 0 || n.failures.TokensAt(now) >= 1 {
		return 0
	}
	return min(leastDelay<<(n.over-1), longestDelay)
}

// delay is the delay of one more answer to the same wrong pair.
func (w *wrongPair) delay(now time.Time) time.Duration {
	r := w.answers.ReserveN(now, 1)
	d := r.DelayFrom(now)
	if d > longestDelay {
		r.CancelAt(now)
		return longestDelay
	}
	return d
}

// delayOf is the delay of failing answers of a network. The caller holds the lock.
func (a *Authenticator) delayOf(from netip.Prefix, now time.Time) time.Duration {
	if n := a.networks.get(from); n != nil {
		return n.delay(now)
	}
	return 0
}

// busy is the error of what waits for too many.
func busy() error { return &Busy{RetryAfter: longestDelay} }

// crowd is what waits at a time, in all and by network.
type crowd struct {
	all int
	of  map[netip.Prefix]int
}

// enter reports whether one more may wait.
func (c *crowd) enter(from netip.Prefix, most, mostOfNetwork int) bool {
	if c.all >= most || c.of[from] >= mostOfNetwork {
		return false
	}
	c.all++
	c.of[from]++
	return true
}

// leave ends what enter began.
func (c *crowd) leave(from netip.Prefix) {
	c.all--
	if c.of[from]--; c.of[from] == 0 {
		delete(c.of, from)
	}
}

// pause delays a failing answer. The error is a *Busy at once where too many are delayed, or that of the context.
func (a *Authenticator) pause(ctx context.Context, from netip.Prefix, d time.Duration) error {
	return a.waitIn(&a.late, from, mostLate, mostLateOfNetwork, func() error { return a.sleep(ctx, d) })
}

// join waits until another goroutine has checked a pair. The error is likewise.
func (a *Authenticator) join(ctx context.Context, from netip.Prefix, done <-chan struct{}) error {
	return a.waitIn(&a.joined, from, mostJoined, mostJoinedOfNetwork, func() error {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// waitIn waits as one of a crowd, unless it is too large.
func (a *Authenticator) waitIn(c *crowd, from netip.Prefix, most, mostOfNetwork int, wait func() error) error {
	a.mu.Lock()
	enters := c.enter(from, most, mostOfNetwork)
	a.mu.Unlock()
	if !enters {
		return busy()
	}
	err := wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	c.leave(from)
	return err
}

// waiter is a password that waits for its check.
type waiter struct {
	from netip.Prefix
	turn chan struct{} // closed when its turn has come
}

// enter waits for the turn of a password. The error is a *Busy where too many wait, or that of the context.
func (a *Authenticator) enter(ctx context.Context, from netip.Prefix) error {
	w := &waiter{from, make(chan struct{})}
	a.mu.Lock()
	ofNetwork := 0
	for _, other := range a.waiting {
		if other.from == from {
			ofNetwork++
		}
	}
	if len(a.waiting) >= mostWaiting || ofNetwork >= mostWaitingOfNetwork {
		delay := a.delayOf(from, a.now())
		a.mu.Unlock()
		if err := a.pause(ctx, from, delay); err != nil {
			return err
		}
		return busy()
	}
	a.waiting = append(a.waiting, w)
	a.next()
	a.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.waiting, w); i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	} else {
		a.leave(from) // its turn came meanwhile
	}
	return ctx.Err()
}

// leave ends a turn. The caller holds the lock.
func (a *Authenticator) leave(from netip.Prefix) {
	i := slices.Index(a.running, from)
	a.running = slices.Delete(a.running, i, i+1)
	a.next()
}

// next begins the turns that are free: first of networks within their limit of failures, then of others, one at a time
// of each of them. The caller holds the lock.
func (a *Authenticator) next() {
	now := a.now()
	for len(a.running) < a.turns {
		i := slices.IndexFunc(a.waiting, func(w *waiter) bool { return a.delayOf(w.from, now) == 0 })
		if i < 0 {
			i = slices.IndexFunc(a.waiting, func(w *waiter) bool { return !slices.Contains(a.running, w.from) })
		}
		if i < 0 {
			return
		}
		w := a.waiting[i]
		a.waiting = slices.Delete(a.waiting, i, i+1)
		a.running = append(a.running, w.from)
		close(w.turn)
	}
}
