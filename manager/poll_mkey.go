package manager

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
)

// pollMKey finds the M_Key of the port of the polled manager, which may have changed since a walk. Polls show the M_Key
// that was last answered, until two polls in a row are lost, and again after all others. The zero value knows none.
type pollMKey struct {
	port       mad.GUID // of the manager
	key        mad.MKey // that the port is known to have, or the first to try
	guess      mad.MKey // that the last poll has shown instead
	unanswered int      // polls in a row without an answer
	single     bool     // there are no others to try
}

// sureUnanswered is how many polls in a row may be lost before another M_Key is tried: a lost packet is no wrong M_Key.
const sureUnanswered = 2

// keysOf gives the nth M_Key to try at a port, and begins again after the last: see sweep.Sweeper.Key.
type keysOf func(port mad.GUID, n int) mad.MKey

// known is the M_Key of all requests but polls. Before the port has answered to one, it is the first to try.
func (k *pollMKey) known(port mad.GUID, keys keysOf) mad.MKey {
	first := keys(port, 0)
	if k.port != port {
		*k = pollMKey{port: port, key: first}
	}
	if k.single = first == keys(port, 1); k.single {
		k.key = first
	}
	return k.key
}

// guesses reports whether the next poll shows another M_Key than the one that the port is known to have. Then it is
// asked less often: each wrong one is a violation.
func (k *pollMKey) guesses() bool { return !k.single && k.unanswered >= sureUnanswered }

// toPoll is the M_Key of the next poll, and whether it is another one than known.
func (k *pollMKey) toPoll(port mad.GUID, keys keysOf) (key mad.MKey, guesses bool) {
	key, n := k.known(port, keys), k.unanswered-sureUnanswered
	if n < 0 || k.single {
		return key, false
	}
	k.guess = keys(port, n)
	for i := 0; i <= n; i++ {
		if keys(port, i) == k.key { // it has been shown
			k.guess = keys(port, n+1)
			break
		}
	}
	return k.guess, true
}

// heard takes the outcome of a poll. guess is the tag of polls that show another M_Key.
func (k *pollMKey) heard(o *txn.Outcome, guess uint64) {
	switch {
	case o.Result == txn.TimedOut:
		k.unanswered++
	case o.Result == txn.Replied:
		if k.unanswered = 0; o.Tag == guess {
			k.key = k.guess
		}
	}
}

// refused notes that the last poll was answered as one with a wrong M_Key is. No packet was lost, so the next one shows
// another M_Key.
func (k *pollMKey) refused() { k.unanswered = max(k.unanswered+1, sureUnanswered) }

// isWrong reports whether an agent was shown an M_Key that is not its own: it hides it.
func (k *pollMKey) isWrong(info *smp.PortInfo) bool {
	return !k.single && smp.HidesMKey(info)
}
