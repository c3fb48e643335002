package manager

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/elect"
)

// TestKeyRead: a request with another M_Key than was read last has the port read again, and waits for that, others of
// the time with it; but it is not read again at once, later after a read that the port refused, and after one that
// shows the M_Key of before not until the lease of the port can have run out, as each ends the countdown. One for an
// M_Key that was made of our own secret does not wait for reads with others.
func TestKeyRead(t *testing.T) {
	const sent, waits, passes = 1, true, false
	answer := func(key mad.MKey, lease uint16) (o txn.Outcome) {
		o.Result = txn.Replied
		(*smp.PortInfo)(&o.Data).SetMKey(key)
		(*smp.PortInfo)(&o.Data).SetMKeyLeasePeriod(lease)
		return o
	}
	hidden := answer(0, 0)
	(*smp.PortInfo)(&hidden.Data).SetMKeyProtectBits(1)
	type request struct {
		shown    shownKey
		waits    bool
		requests int
	}
	try, made := request{triedKey, waits, sent}, request{madeKey, waits, sent}
	joins, leftOut, leftMade := request{triedKey, waits, 0}, request{triedKey, passes, 0}, request{madeKey, passes, 0}
	type step struct {
		at     time.Duration
		do     any
		state  keyReadState
		tries  int
		waited int
	}
	for name, steps := range map[string][]step{
		"one read for all that wait": {{0, try, keyReading, 0, 0}, {0, joins, keyReading, 0, 0},
			{0, request{madeKey, waits, 0}, keyReading, 0, 0}, {1, answer(9, 0), keyIdle, 0, 3}},
		"a pause": {{0, try, keyReading, 0, 0}, {5, answer(9, 60), keyIdle, 0, 1},
			{4 + readPause, leftOut, keyIdle, 0, 0}, {5 + readPause, try, keyReading, 0, 0}},
		"the lease": {{0, try, keyReading, 0, 0}, {0, answer(7, 60), keyIdle, 0, 1},
			{2*time.Minute - 1, leftOut, keyIdle, 0, 0}, {2 * time.Minute, try, keyReading, 0, 0}},
		"no lease": {{0, try, keyReading, 0, 0}, {0, answer(7, 0), keyIdle, 0, 1},
			{readPause - 1, leftOut, keyIdle, 0, 0}, {readPause, try, keyReading, 0, 0}},
		"the lease, of our own": {{0, made, keyReading, 0, 0}, {0, answer(7, 60), keyIdle, 0, 1},
			{readPause - 1, leftMade, keyIdle, 0, 0}, {readPause, made, keyReading, 0, 0}},
		"no answer": {{0, try, keyReading, 0, 0}, {0, txn.Outcome{Result: txn.TimedOut}, keyIdle, 1, 1},
			{refusedPause - 1, leftOut, keyIdle, 1, 0},
			{refusedPause - 1, made, keyReading, 1, 0}, {refusedPause, joins, keyReading, 1, 0}},
		"another key is asked about": {{0, try, keyReading, 0, 0}, {0, hidden, keyIdle, 1, 1},
			{refusedPause, try, keyReading, 1, 0}, {refusedPause, hidden, keyIdle, 2, 1}},
		"no answer to one of our own": {{0, made, keyReading, 0, 0},
			{0, txn.Outcome{Result: txn.TimedOut}, keyIdle, 0, 1}, {1, leftMade, keyIdle, 0, 0},
			{1, try, keyReading, 0, 0}},
		"its request is cancelled": {{0, try, keyReading, 0, 0}, {1, "stop", keyIdle, 0, 0},
			{2, try, keyReading, 0, 0}, {3, answer(9, 0), keyIdle, 0, 1}},
	} {
		var r keyRead
		for i, s := range steps {
			fx := newEffects(s.at)
			var waited []mad.Datagram
			switch do := s.do.(type) {
			case request:
				got := r.wait(fx, &mad.Datagram{}, do.shown, func() mad.MKey { return 9 })
				if out := fx.sent(); got != do.waits || len(out) != do.requests {
					t.Errorf("%s, %d: it waits: %t, and %d requests are sent, want %t, %d", name, i, got, len(out),
						do.waits, do.requests)
				} else if len(out) > 0 && (out[0].Packet.MKey() != 9 || out[0].Packet.AttrID() != smp.AttrPortInfo ||
					out[0].Packet.HopCount() != 0) {
					t.Errorf("%s, %d: sent %v", name, i, out)
				}
			case txn.Outcome:
				do.Tag = uint64(steps[0].do.(request).shown)
				var shows bool
				if waited, shows = r.done(fx.now, &do, 7); shows != (do.Result == txn.Replied &&
					!smp.HidesMKey((*smp.PortInfo)(&do.Data))) {
					t.Errorf("%s, %d: it shows its M_Key: %t", name, i, shows)
				}
			default:
				r.stop()
			}
			if r.state != s.state || r.tries != s.tries || len(waited) != s.waited || s.state == keyIdle &&
				r.waiting != nil {
				t.Errorf("%s, %d: state %d, %d tries, %d have waited, want %d, %d, %d", name, i, r.state, r.tries,
					len(waited), s.state, s.tries, s.waited)
			}
		}
	}
}

// TestKeyReadIsBounded: no more requests wait than there is room for, and none where the read cannot be sent.
func TestKeyReadIsBounded(t *testing.T) {
	var r keyRead
	fx, waiting := newEffects(0), 0
	for range 2 * maxEarly {
		if r.wait(fx, &mad.Datagram{}, triedKey, func() mad.MKey { return 9 }) {
			waiting++
		}
	}
	if waiting != maxEarly || len(fx.sent()) != 1 {
		t.Errorf("%d wait", waiting)
	}
	r.stop()
	for full := true; full; {
		full = fx.request(directed(ownerSweep, 0, mad.MakeRoute(1), mad.MethodGet, smp.AttrNodeInfo, 0, 0))
	}
	if r.wait(fx, &mad.Datagram{}, triedKey, func() mad.MKey { return 9 }) || r.state != keyIdle || r.waiting != nil {
		t.Errorf("without room: state %d", r.state)
	}
}

// TestOutdatedRequest: a Set(SMInfo) with another M_Key than was read last is taken after the read that shows this
// M_Key, and not after one that shows the same.
func TestOutdatedRequest(t *testing.T) {
	for key, answers := range map[mad.MKey]int{7: 0, 9: 1} {
		c := NewCore(Config{Elect: elect.Config{GUID: 5}})
		c.port.setGUID(5)
		c.port.mkey, c.port.protect = 7, 2
		c.fx.begin(time.Second)
		var d mad.Datagram
		d.Packet.SetDirected(&mad.Route{}, mad.MethodSet, smp.AttrSMInfo, 0)
		d.Packet.SetMKey(9)
		if c.request(&d); len(c.fx.send) != 0 || c.port.reread.state != keyReading {
			t.Fatalf("state %d, sent %v", c.port.reread.state, c.fx.send)
		}
		o := txn.Outcome{Owner: ownerKeyRead, Result: txn.Replied}
		(*smp.PortInfo)(&o.Data).SetMKey(key)
		(*smp.PortInfo)(&o.Data).SetMKeyProtectBits(2)
		if c.outcome(&o); len(c.fx.send) != answers || c.port.mkey != key {
			t.Errorf("M_Key %v: %d answers, want %d", key, len(c.fx.send), answers)
		}
	}
}
