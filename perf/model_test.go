package perf

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad/pma"
)

// modelCounter is a counter that knows the truth: what it has counted in all, and what it
// shows. It knows nothing of the rules.
type modelCounter struct {
	truth       uint64 // since the beginning
	zero        uint64 // truth when it was last zero
	top         uint64 // at which it stays, 0 for none
	read        uint64 // truth at the reading before
	sum         uint64 // of counts that were reported, from the first reading on
	begun       uint64 // truth at the first reading
	hidden      bool   // reset by others since, perhaps without a trace
	unconfirmed bool   // a bad value was shown since the last count
}

func (m *modelCounter) shown() uint64 {
	v := m.truth - m.zero
	if m.top != 0 {
		v = min(v, m.top)
	}
	return v
}

// model is a port with a few counters. Its random life: traffic up to what the link carries,
// resets by others and by us with requests and responses lost, reboots, and single readings
// with a value that no rule allows.
type model struct {
	rng      *rand.Rand
	words    uint64
	short    bool
	counters map[pma.Counter]*modelCounter
	track    track
	now      time.Duration
	log      []string
	reset    bool // by others, since the reading before
}

// modelled are its counters.
var modelled = []pma.Counter{xmit, pkts, symbol, local}

func newModel(seed uint64, words uint64, short bool) *model {
	m := &model{rng: rand.New(rand.NewPCG(seed, 21)), words: words, short: short,
		counters: map[pma.Counter]*modelCounter{}}
	for _, c := range modelled {
		m.counters[c] = &modelCounter{}
		if short {
			m.counters[c].top = pma.MaxShort(c)
		}
	}
	return m
}

func (m *model) note(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

// live lets a time pass.
func (m *model) live(t *testing.T) (rebooted bool) {
	span := time.Duration(1+m.rng.IntN(90)) * time.Second
	m.now += span
	event := m.rng.IntN(12)
	reset := m.rng.Float64() // when, within the time
	for _, c := range modelled {
		x := m.counters[c]
		most := float64(m.words) * span.Seconds()
		switch c {
		case pkts:
			most /= 6
		case symbol:
			most = 100
		case local:
			most = 3
		}
		n := uint64(m.rng.Float64() * most)
		switch {
		case event == 0, event == 1 && m.rng.IntN(2) == 0: // a reset by others, of all or of some
			x.truth += uint64(float64(n) * reset)
			x.zero, x.hidden, m.reset = x.truth, true, true
			x.truth += n - uint64(float64(n)*reset)
			m.note("%v: %v reset by others", m.now, c)
		case event == 2: // a reboot
			x.truth += uint64(float64(n) * reset)
			x.zero = x.truth
			x.truth += n - uint64(float64(n)*reset)
			rebooted = true
		default:
			x.truth += n
		}
	}
	return rebooted
}

// read gives a reading to the rules, and compares what they say with the truth.
func (m *model) read(t *testing.T) {
	if m.live(t) {
		m.track.reboot = true
		m.note("%v: reboot", m.now)
	}
	if m.rng.IntN(10) == 0 {
		return // nobody answers
	}
	r := reading{at: m.now}
	bad := map[pma.Counter]bool{}
	for _, c := range modelled {
		x := m.counters[c]
		r.has |= 1 << c
		r.raw[c] = x.shown()
		if base := m.track.base[c]; m.track.has.Has(c) && base > 100 && m.rng.IntN(20) == 0 && !m.track.reboot &&
			!x.unconfirmed && !m.reset {
			if m.rng.IntN(2) == 0 && !m.short {
				r.raw[c] = 1<<63 + m.rng.Uint64N(1<<40)
			} else {
				r.raw[c] = base - base/16 - 1
			}
			if !m.short || r.raw[c] < m.counters[c].shown() && !m.track.resets.Has(c) {
				bad[c] = true
				m.note("%v: %v shows %d, which is wrong", m.now, c, r.raw[c])
			} else {
				r.raw[c] = x.shown()
			}
		}
	}
	if m.short {
		r.short = r.has
	}
	first := m.track.has == 0
	var d Delta
	m.track.judge(&r, m.words, &d)
	m.note("%v: %v: %v known %#x at least %#x", m.now, r.raw[:16], d.Note, d.Has, d.AtLeast)
	for _, c := range modelled {
		x := m.counters[c]
		m.check(t, c, x, &d, first, bad[c])
	}
	m.reset = false
	m.maybeReset(&r)
}

// check: what is exact is the truth, and nothing is reported that was not counted.
func (m *model) check(t *testing.T, c pma.Counter, x *modelCounter, d *Delta, first, bad bool) {
	if first {
		x.begun = x.truth
	}
	switch n, true := d.N[c], x.truth-x.read; {
	case first && d.Has != 0, !d.Has.Has(c) && n != 0, bad && d.Has.Has(c) && !d.AtLeast.Has(c):
		t.Errorf("%v: %v counted %d where nothing is known", m.now, c, n)
	case d.Has.Has(c) && !d.AtLeast.Has(c) && n != true && !x.hidden && !x.unconfirmed:
		t.Errorf("%v: %v counted %d, in truth %d", m.now, c, n, true)
	}
	x.sum += d.N[c]
	if x.sum > x.truth-x.begun {
		t.Errorf("%v: %v reported %d in all, in truth %d", m.now, c, x.sum, x.truth-x.begun)
		x.sum = x.truth - x.begun
	}
	if most := limit(c, m.words, d.Span); d.N[c] > most {
		t.Errorf("%v: %v has a spike of %d, the link carries %d", m.now, c, d.N[c], most)
	}
	if d.Has.Has(c) {
		x.hidden = false
	}
	x.read, x.unconfirmed = x.truth, bad || !d.Has.Has(c) && !first
}

// maybeReset does what the machine does at three quarters of the largest value. Traffic between
// the reading and the reset is lost.
func (m *model) maybeReset(r *reading) {
	due := r.toReset()
	if due == 0 {
		return
	}
	lost := m.rng.IntN(6) // 0: the request, 1: the response
	var after pma.PortCounters
	for _, c := range modelled {
		x := m.counters[c]
		x.truth += m.rng.Uint64N(5)
		if lost != 0 && due.Has(c) {
			x.zero = x.truth
		}
		after.SetCounter(c, x.shown())
	}
	m.note("%v: we reset %#x", m.now, due)
	if lost <= 1 {
		m.track.wasReset(due, nil)
	} else {
		m.track.wasReset(due, &after)
	}
}

// TestModel: random lives of a port, on links of every kind.
func TestModel(t *testing.T) {
	for seed := range uint64(2000) {
		words := []uint64{slow / 100, slow, fast}[seed%3]
		m := newModel(seed, words, seed/3%2 == 0)
		for range 60 {
			m.read(t)
		}
		if t.Failed() {
			for _, line := range m.log {
				t.Log(line)
			}
			t.Fatalf("seed %d, %d words a second, short %t", seed, words, m.short)
		}
	}
}
