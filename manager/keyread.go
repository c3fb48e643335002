package manager

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
)

// keyRead is the state machine that reads the M_Key of our own port again, because a request shows another one than the
// port had when it was read last. The master may have changed the M_Key since, and a standby gets no report of that.
// Such requests wait for the answer.
type keyRead struct {
	state   keyReadState
	waiting []mad.Datagram             // in keyReading
	after   [madeKey + 1]time.Duration // no read is begun before, by what it shows
	// reads with a triedKey that the port did not answer: the number of the M_Key to show, in the order in which they
	// are tried
	tries int
}

// keyReadState says whether a read is out.
type keyReadState uint8

const (
	keyIdle keyReadState = iota
	keyReading
)

// shownKey is the M_Key that a read of our own port shows. It is the tag of its request.
type shownKey uint8

const (
	triedKey shownKey = iota // the next of those that it may have
	madeKey                  // one that a request showed and that was made of our own secret
)

// readPause is the least time between two reads, and refusedPause after one that the port did not answer: each of these
// counts as a violation there. After one that shows the M_Key of before it is twice its lease: a read with the right
// M_Key ends the countdown of the lease, and a master that does not know this M_Key takes the port when that has run
// out (IBA 14.2.4.2).
const (
	readPause    = time.Second
	refusedPause = 10 * time.Second
)

// wait makes a request wait for a read, starts the read if none is pending, and reports whether the request waits. key
// is the M_Key that the read shows to the port.
func (r *keyRead) wait(fx *effects, d *mad.Datagram, shown shownKey, key func() mad.MKey) bool {
	if len(r.waiting) == maxEarly || r.state == keyIdle && fx.now < r.after[shown] {
		return false
	}
	if r.state == keyIdle &&
		!fx.request(directed(ownerKeyRead, uint64(shown), mad.Route{}, mad.MethodGet, smp.AttrPortInfo, 0, key())) {
		return false
	}
	r.state, r.waiting = keyReading, append(r.waiting, *d)
	return true
}

// done takes the outcome of a read. was is the M_Key that the port had before. It returns the requests that have
// waited, and reports whether the port shows its M_Key.
func (r *keyRead) done(now time.Duration, o *txn.Outcome, was mad.MKey) (waited []mad.Datagram, shows bool) {
	info, shown, pause := (*smp.PortInfo)(&o.Data), shownKey(o.Tag), refusedPause
	switch shows = isOK(o) && !smp.HidesMKey(info); {
	case shows && shown == triedKey && info.MKey() == was:
		pause = max(readPause, 2*time.Duration(info.MKeyLeasePeriod())*time.Second)
	case shows:
		pause = readPause
	case shown == triedKey:
		r.tries++ // it may have the next M_Key
	}
	waited, r.state, r.waiting, r.after[shown] = r.waiting, keyIdle, nil, now+pause
	return waited, shows
}

// stop forgets a read whose request was cancelled, and what waits for it.
func (r *keyRead) stop() { r.state, r.waiting = keyIdle, nil }

// readAgain takes the outcome of a read, and releases the requests that have waited for it.
func (c *Core) readAgain(o *txn.Outcome) {
	waited, shows := c.port.reread.done(c.fx.now, o, c.port.mkey)
	if shows {
		c.port.holds((*smp.PortInfo)(&o.Data))
	}
	for i := range waited {
		c.request(&waited[i])
	}
}

// isOutdated reports whether a request waits until our own port has been read again. An M_Key that was made of our own
// secret is shown to the port itself: it knows whether it is the right one.
func (c *Core) isOutdated(d *mad.Datagram) bool {
	switch read := &c.port.reread; {
	case d.Packet.MKey() == c.port.mkey:
		return false
	case c.isMade(d):
		return read.wait(&c.fx, d, madeKey, d.Packet.MKey)
	default:
		return read.wait(&c.fx, d, triedKey, func() mad.MKey { return c.sweeps.sweeper.Key(c.port.guid, read.tries) })
	}
}

// isMade reports whether a request shows an M_Key of our own port of the present number, the one before or the next. It
// does not pass that on: a stack that is printed has arguments of functions.
func (c *Core) isMade(d *mad.Datagram) bool {
	ports := &c.cfg.Sweep.Settings.PortMKeys
	if !ports.On() {
		return false
	}
	for number := max(ports.Number(), 2) - 1; number <= ports.Number()+1; number++ {
		if mad.MKey(ports.With(number, uint64(c.port.guid))) == d.Packet.MKey() {
			return true
		}
	}
	return false
}
