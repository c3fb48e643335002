package api

import (
	"sync"

	"golang.org/x/time/rate"
)

// limits are those of users, and of refusals in the audit. It is safe for concurrent use.
type limits struct {
	refusals *rate.Limiter

	mu      *sync.Mutex
	users   map[string]*userLimit // that were authenticated; "" is whoever needs no credential
	handled int                   // requests of all
}

// userLimit is what a user uses of its limits.
type userLimit struct {
	requests *rate.Limiter
	handled  int // requests now
}

// Refusals that an audit has.
const (
	refusalRate  = 5 // a second
	refusalBurst = 100
)

func newLimits() limits {
	return limits{refusals: rate.NewLimiter(refusalRate, refusalBurst), mu: new(sync.Mutex),
		users: map[string]*userLimit{}}
}

// listed reports whether the audit has room for a refusal.
func (l *limits) listed() bool { return l.refusals.Allow() }

// maxUsers bounds how many users have a limit; the file has no more.
const maxUsers = 10_000

// verdict is whether a request may be handled now.
type verdict uint8

const (
	admitted verdict = iota
	full             // all users have too many requests
	crowded          // the user has
	hasty            // the user has sent too many in the last second
)

// enter reports whether a user may have one more request handled now. After admitted, leave ends it.
func (l *limits) enter(user string) (leave func(), v verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.users[user]
	if of == nil {
		if len(l.users) >= maxUsers { // names of users that are no more
			clear(l.users)
		}
		of = &userLimit{requests: rate.NewLimiter(userRequests, 2*userRequests)}
		l.users[user] = of
	}
	switch {
	case l.handled >= maxRequests:
		return nil, full
	case of.handled >= maxRequests-l.handled: // so that there is room for others, however many users have many
		return nil, crowded
	case user != "" && !of.requests.Allow():
		return nil, hasty
	}
	l.handled++
	of.handled++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.handled--
		of.handled--
	}, admitted
}
