package api

import (
	"sync"

	"golang.org/x/time/rate"
)

// limits are those of users, and of refusals in the audit. It is safe for concurrent use.
type limits struct {
	refusals *rate.Limiter

	mu    *sync.Mutex
	users map[string]*rate.Limiter // of users that were authenticated
}

// Refusals that an audit has.
const (
	refusalRate  = 5 // a second
	refusalBurst = 100
)

func newLimits() limits {
	return limits{rate.NewLimiter(refusalRate, refusalBurst), new(sync.Mutex), map[string]*rate.Limiter{}}
}

// listed reports whether the audit has room for a refusal.
func (l *limits) listed() bool { return l.refusals.Allow() }

// maxUsers bounds how many users have a limit; the file has no more.
const maxUsers = 10_000

// allow reports whether a user may send a request now.
func (l *limits) allow(user string) bool {
	l.mu.Lock()
	of := l.users[user]
	if of == nil {
		if len(l.users) >= maxUsers { // names of users that are no more
			clear(l.users)
		}
		of = rate.NewLimiter(userRequests, 2*userRequests)
		l.users[user] = of
	}
	l.mu.Unlock()
	return of.Allow()
}
