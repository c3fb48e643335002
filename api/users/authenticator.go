package users

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"ibsm/priority"
	"ibsm/rights"
)

// Refused is the error of a credential that is no user's: the answer has status 401. It contains no secret and nothing
// of the header.
type Refused struct {
	// User is a user whose password another one was sent for, "" where there is none. The client must not learn it.
	User string
	text string
}

// Error is the sentence for the client.
func (r *Refused) Error() string { return r.text }

// Busy is the error of a password that was not checked, as others wait for that already: the answer has status 429.
type Busy struct {
	RetryAfter time.Duration // whole seconds
}

// Error is the sentence for the client.
func (b *Busy) Error() string {
	return fmt.Sprintf("too many passwords wait for their check: try again in %v", b.RetryAfter)
}

// Limits of the checks of passwords. No number of failures keeps a right password out: failures delay failures.
const (
	knownFor  = 5 * time.Minute // a right pair, after its last use
	mostKnown = 4096            // right pairs, wrong pairs, and networks
)

// pair is a keyed hash of a user's name and a password.
type pair [sha256.Size]byte

// rightPair is what is known of a right pair.
type rightPair struct {
	hash  hash // of the user's password that it was compared with
	until time.Time
}

// wrongPair is what is known of a wrong pair.
type wrongPair struct {
	hash    hash // of the user's password that it was compared with; zero without one
	answers *rate.Limiter
}

// Authenticator checks credentials. Any goroutine may call its methods.
type Authenticator struct {
	users func() *Set
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	check func(*hash, string) bool // hash.is, but in tests

	turns  int            // of argon2id
	key    hidden[[]byte] // of pairs
	nobody hash           // for the password of a user who has none, or is none

	mu       sync.Mutex
	right    recent[pair, rightPair]
	wrong    recent[pair, wrongPair]
	networks recent[netip.Prefix, network]
	flights  map[flight]chan struct{}
	waiting  []*waiter
	running  []netip.Prefix // networks for which argon2id runs
	lastRun  time.Duration  // of argon2id
	late     crowd          // failing answers that are delayed
	joined   crowd          // requests that wait for flights of others
	counts   Counts
}

// flight is a pair that is being checked for a network: others with the same pair wait for the result.
type flight struct {
	pair pair
	from netip.Prefix
}

// Counts are numbers since the start.
type Counts struct {
	Right   uint64 // credentials of users
	Refused uint64 // errors of type Refused
	Busy    uint64 // errors of type Busy
	Checks  uint64 // runs of argon2id

	// Entries that left full tables: of right pairs, of wrong ones, and of networks.
	RightEvicted, WrongEvicted, NetworksEvicted uint64
}

// NewAuthenticator returns an Authenticator for the users that a function returns, such as Keeper.Users. now is the
// time; sleep returns after a duration, or earlier with the error of its context.
func NewAuthenticator(users func() *Set, now func() time.Time,
	sleep func(context.Context, time.Duration) error) *Authenticator {
	a := &Authenticator{users: users, now: now, sleep: sleep, check: (*hash).is, turns: turnsOn(priority.Processors()),
		right: newRecent[pair, rightPair](mostKnown), wrong: newRecent[pair, wrongPair](mostKnown),
		networks: newRecent[netip.Prefix, network](mostKnown),
		flights:  map[flight]chan struct{}{}, late: crowd{of: map[netip.Prefix]int{}},
		joined: crowd{of: map[netip.Prefix]int{}}}
	key := make([]byte, 32)
	rand.Read(key)
	a.key = hide(key)
	rand.Read(a.nobody.salt[:])
	rand.Read(a.nobody.sum[:])
	return a
}

// Format hides the key and what is known, whatever the verb.
func (a *Authenticator) Format(f fmt.State, _ rune) { io.WriteString(f, "authenticator") }

// Counts are the numbers by now.
func (a *Authenticator) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counts
	c.RightEvicted, c.WrongEvicted, c.NetworksEvicted = a.right.evicted, a.wrong.evicted, a.networks.evicted
	return c
}

// Authenticate returns the user whose credential it is. The error is a *Refused, a *Busy, or that of the context.
func (a *Authenticator) Authenticate(ctx context.Context, c Credential) (*rights.User, error) {
	u, err := a.authenticate(ctx, c)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch err.(type) {
	case nil:
		a.counts.Right++
	case *Refused:
		a.counts.Refused++
	case *Busy:
		a.counts.Busy++
	}
	return u, err
}

func (a *Authenticator) authenticate(ctx context.Context, c Credential) (*rights.User, error) {
	h := parseHeader(c.Authorization)
	switch h.kind {
	case noHeader:
		return a.byCertificate(c.Names)
	case withToken:
		return a.byToken(h.token)
	case withPassword:
		return a.byPassword(ctx, networkOf(c.From), h.user, h.password)
	}
	return nil, &Refused{text: "the header Authorization has none of the forms Basic base64(USER:PASSWORD), Basic TOKEN, " +
		"Basic base64(TOKEN:) and Bearer TOKEN"}
}

// byCertificate is the user of a certificate.
func (a *Authenticator) byCertificate(names []string) (*rights.User, error) {
	if names == nil {
		return nil, &Refused{text: "no client certificate, and no header Authorization"}
	}
	var found *Account
	set := a.users()
	for _, name := range names {
		of := set.certificate(name)
		switch {
		case of == nil || of == found:
		case found != nil:
			return nil, &Refused{text: fmt.Sprintf("the client certificate has names of the users %s and %s", found.Name, of.Name)}
		default:
			found = of
		}
	}
	switch {
	case found != nil:
		return &found.User, nil
	case len(names) == 0:
		return nil, &Refused{text: "the client certificate has no DNS name and no URI"}
	}
	return nil, &Refused{text: "no user has the name " + shown(names[0])}
}

// shown is a name of a certificate in a sentence.
func shown(name string) string {
	if checkCertificates([]string{name}) == nil {
		return name
	}
	return fmt.Sprintf("%.100q", name)
}

func (a *Authenticator) byToken(text string) (*rights.User, error) {
	of, is := a.users().token(sha256.Sum256([]byte(text)))
	switch {
	case !is:
		return nil, &Refused{text: "unknown token"}
	case !a.now().Before(of.token.Until):
		return nil, &Refused{text: "the token has ended", User: of.user.Name}
	}
	u := of.user.User
	u.Until = of.token.Until
	return &u, nil
}

// pairOf is the keyed hash of a user's name and a password. A name of a user has no byte 0.
func (a *Authenticator) pairOf(user, password string) pair {
	mac := hmac.New(sha256.New, a.key())
	io.WriteString(mac, user+"\x00"+password)
	return pair(mac.Sum(nil))
}

// networkOf is the part of an address that a client cannot choose.
func networkOf(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	prefix, _ := addr.Prefix(bits) // no error but for the zero address, which is a network of its own
	return prefix
}
