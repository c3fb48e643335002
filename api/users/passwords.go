package users

import (
	"context"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"ibsm/priority"
	"ibsm/rights"
)

// verdict is what is known of a pair.
type verdict uint8

const (
	unknown verdict = iota
	isRight
	isWrong
)

// byPassword is the user of a name and a password. A pair that is not known waits for its turn to be checked; then it
// is known. A wrong pair is answered as late as one that is checked.
func (a *Authenticator) byPassword(ctx context.Context, from netip.Prefix, user, password string) (
	*rights.User, error) {
	began, key := a.now(), a.pairOf(user, password)
	for {
		of := a.users().find(user)
		against := a.hashOf(of)
		done, verdict := a.look(key, against, flight{key, from})
		switch {
		case verdict == isRight && of != nil:
			return &of.User, nil
		case verdict == isWrong:
			return nil, a.fail(ctx, began, from, key, of)
		case done != nil:
			if err := a.join(ctx, from, done); err != nil {
				return nil, err
			}
			continue
		}
		if err := a.run(ctx, flight{key, from}, against, password); err != nil {
			return nil, err
		}
	}
}

// hashOf is what a password of a user is compared with.
func (a *Authenticator) hashOf(of *Account) *hash {
	if of == nil || !of.Password.IsSet() {
		return &a.nobody
	}
	return of.Password.hash()
}

// look returns what is known of a pair. Of an unknown one it returns a channel that is closed after its check by
// another goroutine; nil if the caller has to check it.
func (a *Authenticator) look(key pair, against *hash, f flight) (done <-chan struct{}, v verdict) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.right.get(key); r != nil {
		if r.hash == *against && now.Before(r.until) {
			r.until = now.Add(knownFor)
			return nil, isRight
		}
		a.right.remove(key)
	}
	if w := a.wrong.get(key); w != nil {
		if w.hash == *against {
			return nil, isWrong
		}
		a.wrong.remove(key)
	}
	if done, is := a.flights[f]; is {
		return done, unknown
	}
	a.flights[f] = make(chan struct{})
	return nil, unknown
}

// run checks a pair in its turn, and remembers the result.
func (a *Authenticator) run(ctx context.Context, f flight, against *hash, password string) error {
	defer a.land(f)
	if err := a.enter(ctx, f.from); err != nil {
		return err
	}
	began := a.now()
	is := a.inBackground(against, password)
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leave(f.from)
	a.counts.Checks++
	a.lastRun = now.Sub(began)
	if is && against != &a.nobody {
		a.right.put(f.pair, rightPair{*against, now.Add(knownFor)})
		return nil
	}
	a.wrong.put(f.pair, wrongPair{*against, rate.NewLimiter(pairRate, pairBurst)})
	n := a.networks.get(f.from)
	if n == nil {
		n = a.networks.put(f.from, network{failures: rate.NewLimiter(networkRate, networkBurst)})
	}
	n.count(now)
	return nil
}

// inBackground checks a password with a low priority.
func (a *Authenticator) inBackground(against *hash, password string) bool {
	is := make(chan bool)
	go priority.Compute(func() { is <- a.check(against, password) }) // its thread ends with it
	return <-is
}

// land ends a flight.
func (a *Authenticator) land(f flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.flights[f])
	delete(a.flights, f)
}

// fail waits for the time of a failing answer, and is its error. of is the user whose password is another one.
func (a *Authenticator) fail(ctx context.Context, began time.Time, from netip.Prefix, key pair, of *Account) error {
	now := a.now()
	a.mu.Lock()
	wait := max(shortestFail, min(a.lastRun, longestDelay)) - now.Sub(began)
	delay := a.delayOf(from, now)
	if w := a.wrong.get(key); w != nil {
		delay = max(delay, w.delay(now))
	}
	a.mu.Unlock()
	if err := a.pause(ctx, from, max(wait, 0)+delay); err != nil {
		return err
	}
	refused := &Refused{text: "wrong user or password"}
	if of != nil {
		refused.User = of.Name
	}
	return refused
}
