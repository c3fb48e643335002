package perf

import (
	"testing"
	"time"

	"ibsm/mad/pma"
)

// Words a second of a link of 4x SDR (8 Gb/s of data), which takes 17 s for 2^32, and of 4x NDR.
const (
	slow = 250_000_000
	fast = 12_500_000_000
)

const (
	xmit   = pma.PortXmitData
	pkts   = pma.PortXmitPkts
	symbol = pma.SymbolErrorCounter
	local  = pma.LocalLinkIntegrityErrors // of 4 bits
)

type values map[pma.Counter]uint64

// step is a reading and what it should be judged as.
type step struct {
	seconds      int // since the one before
	short        bool
	slim         pma.Counters // of values, those of PortCounters
	values       values
	reset        pma.Counters // we reset these before
	after        values       // and the response showed this
	unresponsive bool         // the reset got no response
	reboot       bool         // before it
	want         values       // counts that are known
	atLeast      []pma.Counter
	note         Note
	anything     bool // is not compared
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name  string
		words uint64
		steps []step
	}{
		{"the first reading counts nothing", fast, []step{
			{values: values{xmit: 1 << 50, symbol: 9}, note: First},
		}},
		{"what comes later counts from the reading before", fast, []step{
			{values: values{xmit: 1000, symbol: 2}, anything: true},
			{seconds: 60, values: values{xmit: 1500, symbol: 2}, want: values{xmit: 500, symbol: 0}},
			{seconds: 60, values: values{xmit: 1500, symbol: 3}, want: values{xmit: 0, symbol: 1}},
		}},
		{"a counter that is new counts from its first value", fast, []step{
			{values: values{xmit: 1000}, anything: true},
			{seconds: 60, values: values{xmit: 1001, symbol: 500}, want: values{xmit: 1}},
			{seconds: 60, values: values{xmit: 1001, symbol: 501}, want: values{xmit: 0, symbol: 1}},
		}},
		{"a counter that was missing once counts from when it was there", fast, []step{
			{values: values{xmit: 1000, symbol: 5}, anything: true},
			{seconds: 60, values: values{xmit: 1001}, want: values{xmit: 1}},
			{seconds: 60, values: values{xmit: 1002, symbol: 7}, want: values{xmit: 1, symbol: 2}},
		}},
		{"somebody reset it: what it shows is the least", fast, []step{
			{values: values{xmit: 1 << 40, symbol: 50}, anything: true},
			{seconds: 60, values: values{xmit: 1 << 30, symbol: 0}, want: values{xmit: 1 << 30, symbol: 0},
				atLeast: []pma.Counter{xmit, symbol}, note: ResetByOther},
			{seconds: 60, values: values{xmit: 1<<30 + 5, symbol: 0}, want: values{xmit: 5, symbol: 0}},
		}},
		{"somebody reset some: the others may have been, too", fast, []step{
			{values: values{xmit: 1 << 40, symbol: 50}, anything: true},
			{seconds: 60, values: values{xmit: 1 << 30, symbol: 51}, want: values{xmit: 1 << 30, symbol: 1},
				atLeast: []pma.Counter{xmit, symbol}, note: ResetByOther},
		}},
		{"a value that the link cannot have reached since zero is no reset", slow, []step{
			{values: values{xmit: 1 << 50}, anything: true},
			{seconds: 60, values: values{xmit: 1 << 40}, note: Backwards},
		}},
		{"a node that rebooted", fast, []step{
			{values: values{xmit: 1 << 40, symbol: 50}, anything: true},
			{seconds: 60, reboot: true, values: values{xmit: 1 << 30, symbol: 1},
				want: values{xmit: 1 << 30, symbol: 1}, atLeast: []pma.Counter{xmit, symbol}, note: AfterReboot},
			{seconds: 60, values: values{xmit: 1<<30 + 7, symbol: 1}, want: values{xmit: 7, symbol: 0}},
		}},
		{"a node whose link was down, or that rebooted and has counted more since", fast, []step{
			{values: values{xmit: 100}, anything: true},
			{seconds: 60, reboot: true, values: values{xmit: 500}, want: values{xmit: 400},
				atLeast: []pma.Counter{xmit}},
		}},
		{"a reboot explains any fall", fast, []step{
			{values: values{xmit: 1000}, anything: true},
			{seconds: 60, reboot: true, values: values{xmit: 999}, want: values{xmit: 999},
				atLeast: []pma.Counter{xmit}, note: AfterReboot},
		}},
		{"backwards by a bit: nothing counts, then it goes on where it was", fast, []step{
			{values: values{xmit: 1000000, symbol: 10}, anything: true},
			{seconds: 60, values: values{xmit: 990000, symbol: 9}, note: Backwards},
			{seconds: 60, values: values{xmit: 1000010, symbol: 10}, want: values{xmit: 10, symbol: 0}},
		}},
		{"backwards for good: it goes on from there, less one interval", fast, []step{
			{values: values{xmit: 1000000}, anything: true},
			{seconds: 60, values: values{xmit: 900000}, note: Backwards},
			{seconds: 60, values: values{xmit: 900500}, want: values{xmit: 500}, atLeast: []pma.Counter{xmit},
				note: Rebased},
			{seconds: 60, values: values{xmit: 900600}, want: values{xmit: 100}},
		}},
		{"another program resets it every minute, too", fast, []step{
			{values: values{xmit: 1000000, symbol: 0}, anything: true},
			{seconds: 60, values: values{xmit: 800000, symbol: 0}, want: values{xmit: 800000, symbol: 0},
				atLeast: []pma.Counter{xmit, symbol}, note: ResetByOther},
		}},
		{"a fall by a bit beside a reset is one, too", fast, []step{
			{values: values{xmit: 1000000, symbol: 100}, anything: true},
			{seconds: 60, values: values{xmit: 990000, symbol: 0}, want: values{xmit: 990000, symbol: 0},
				atLeast: []pma.Counter{xmit, symbol}, note: ResetByOther},
		}},
		{"backwards for good, and nothing more is counted", fast, []step{
			{values: values{xmit: 1000000}, anything: true},
			{seconds: 60, values: values{xmit: 900000}, note: Backwards},
			{seconds: 60, values: values{xmit: 900000}, want: values{xmit: 0}, atLeast: []pma.Counter{xmit},
				note: Rebased},
		}},
		{"a fall by a bit beside a value that is no reset", slow, []step{
			{values: values{xmit: 1 << 50, symbol: 100}, anything: true},
			{seconds: 60, values: values{xmit: 1 << 40, symbol: 95}, note: Backwards},
		}},
		{"up and down again", slow, []step{
			{values: values{xmit: 1000}, anything: true},
			{seconds: 60, values: values{xmit: 1 << 62}, note: Implausible},
			{seconds: 60, values: values{xmit: 2000}, want: values{xmit: 1000}},
		}},
		{"up for good: it goes on from there", slow, []step{
			{values: values{xmit: 1000}, anything: true},
			{seconds: 60, values: values{xmit: 1 << 62}, note: Implausible},
			{seconds: 60, values: values{xmit: 1<<62 + 3}, want: values{xmit: 3}, atLeast: []pma.Counter{xmit},
				note: Rebased},
		}},
		{"noise: nothing counts", slow, []step{
			{values: values{xmit: 1 << 60}, anything: true},
			{seconds: 60, values: values{xmit: 1 << 50}, note: Backwards},
			{seconds: 60, values: values{xmit: 1 << 62}, note: Implausible},
			{seconds: 60, values: values{xmit: 1 << 55}, note: Backwards},
			{seconds: 60, values: values{xmit: 1<<60 + 1}, want: values{xmit: 1}},
		}},
		{"what counted for two intervals is no spike in one", slow, []step{
			{values: values{xmit: 1 << 50}, anything: true},
			{seconds: 10, values: values{xmit: 1 << 40}, note: Backwards},
			{seconds: 10, values: values{xmit: 1<<50 + 20*slow}, want: values{xmit: slow*11*11/10 + 16},
				atLeast: []pma.Counter{xmit}},
		}},
		{"more packets than fit on the link", slow, []step{
			{values: values{pkts: 0, symbol: 0}, anything: true},
			{seconds: 9, values: values{pkts: 10 * slow, symbol: 40 * slow}, want: values{symbol: 40 * slow},
				note: Implausible},
		}},
		{"more errors than octets", slow, []step{
			{values: values{symbol: 0}, anything: true},
			{seconds: 9, values: values{symbol: 50 * slow}, note: Implausible},
		}},
		{"what was missing once counts for two intervals, and is no spike in one", slow, []step{
			{values: values{xmit: 0, symbol: 0}, slim: 1 << symbol, anything: true},
			{seconds: 60, values: values{xmit: 60 * slow}, want: values{xmit: 60 * slow}},
			{seconds: 60, values: values{xmit: 120 * slow, symbol: 70000}, slim: 1 << symbol,
				want: values{xmit: 60 * slow, symbol: 70000}},
			{seconds: 60, values: values{symbol: 70001}, slim: 1 << symbol, want: values{symbol: 1}},
			{seconds: 60, values: values{xmit: 235 * slow, symbol: 70001}, slim: 1 << symbol,
				want: values{xmit: slow*61*11/10 + 16, symbol: 0}, atLeast: []pma.Counter{xmit}},
			{seconds: 60, values: values{xmit: 236 * slow, symbol: 70001}, slim: 1 << symbol,
				want: values{xmit: slow, symbol: 0}},
		}},
		{"a link of unknown speed: every rise is plausible, less than half is a reset", 0, []step{
			{values: values{xmit: 1000}, anything: true},
			{seconds: 1, values: values{xmit: 1 << 62}, want: values{xmit: 1<<62 - 1000}},
			{seconds: 1, values: values{xmit: 1 << 61}, note: Backwards},
			{seconds: 1, values: values{xmit: 1 << 60}, want: values{xmit: 1 << 60}, atLeast: []pma.Counter{xmit},
				note: ResetByOther},
		}},
		{"32 bits on a slow link are complete while they cannot overflow", slow, []step{
			{short: true, values: values{xmit: 0, symbol: 0}, anything: true},
			{seconds: 10, short: true, values: values{xmit: 10 * slow, symbol: 1},
				want: values{xmit: 10 * slow, symbol: 1}},
			{seconds: 10, short: true, values: values{xmit: 11 * slow, symbol: 1}, want: values{xmit: slow, symbol: 0},
				atLeast: []pma.Counter{xmit}, note: MayOverflow},
		}},
		{"32 bits on a fast link are never complete", fast, []step{
			{short: true, values: values{xmit: 0, pkts: 0}, anything: true},
			{seconds: 1, short: true, values: values{xmit: 5, pkts: 1}, want: values{xmit: 5, pkts: 1},
				atLeast: []pma.Counter{xmit, pkts}, note: MayOverflow},
		}},
		{"32 bits on a link of unknown speed are never complete", 0, []step{
			{short: true, values: values{xmit: 0}, anything: true},
			{seconds: 1, short: true, values: values{xmit: 5}, want: values{xmit: 5}, atLeast: []pma.Counter{xmit},
				note: MayOverflow},
		}},
		{"a counter at its largest value", slow, []step{
			{short: true, values: values{local: 3}, anything: true},
			{seconds: 10, short: true, values: values{local: 15}, want: values{local: 12},
				atLeast: []pma.Counter{local}, note: Saturated},
			{seconds: 10, short: true, values: values{local: 15}, want: values{local: 0}, atLeast: []pma.Counter{local},
				note: Saturated},
		}},
		{"the first reading has it at its largest value", slow, []step{
			{short: true, values: values{local: 15}, note: First | Saturated},
		}},
		{"64 bits have no largest value", fast, []step{
			{values: values{local: 3}, anything: true},
			{seconds: 10, values: values{local: 15}, want: values{local: 12}},
		}},
		{"we reset it, and the response shows what it counts from", slow, []step{
			{short: true, values: values{symbol: 60000}, anything: true},
			{seconds: 10, reset: 1 << symbol, after: values{symbol: 2}, short: true, values: values{symbol: 5},
				want: values{symbol: 3}, atLeast: []pma.Counter{symbol}, note: ResetByUs},
			{seconds: 10, short: true, values: values{symbol: 7}, want: values{symbol: 2}},
		}},
		{"we reset it, and the response was lost", slow, []step{
			{short: true, values: values{symbol: 60000}, anything: true},
			{seconds: 10, reset: 1 << symbol, unresponsive: true, short: true, values: values{symbol: 59999},
				want: values{symbol: 59999}, atLeast: []pma.Counter{symbol}, note: ResetByUs},
		}},
		{"we reset it, and the request was lost", slow, []step{
			{short: true, values: values{symbol: 60000}, anything: true},
			{seconds: 10, reset: 1 << symbol, unresponsive: true, short: true, values: values{symbol: 60001},
				want: values{symbol: 1}, atLeast: []pma.Counter{symbol}, note: ResetByUs},
		}},
		{"the device ignores the reset", slow, []step{
			{short: true, values: values{symbol: 60000}, anything: true},
			{seconds: 10, reset: 1 << symbol, after: values{symbol: 60000}, short: true, values: values{symbol: 60001},
				want: values{symbol: 1}, atLeast: []pma.Counter{symbol}, note: ResetByUs},
		}},
		{"another attribute has counters of its own", fast, []step{
			{values: values{xmit: 1 << 40}, anything: true},
			{seconds: 10, short: true, values: values{xmit: 1 << 20}},
			{seconds: 10, values: values{xmit: 1<<40 + 1}},
			{seconds: 10, values: values{xmit: 1<<40 + 3}, want: values{xmit: 2}},
		}},
		{"a long silence is one long interval", slow, []step{
			{values: values{xmit: 0}, anything: true},
			{seconds: 3600, values: values{xmit: 3600 * slow}, want: values{xmit: 3600 * slow}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tr track
			now := time.Hour
			for i, s := range tt.steps {
				now += time.Duration(s.seconds) * time.Second
				if s.reset != 0 {
					var after pma.PortCounters
					for c, v := range s.after {
						after.SetCounter(c, v)
					}
					if s.unresponsive {
						tr.wasReset(s.reset, nil)
					} else {
						tr.wasReset(s.reset, &after)
					}
				}
				tr.reboot = s.reboot
				r := reading{at: now}
				for c, v := range s.values {
					r.has |= 1 << c
					r.raw[c] = v
				}
				if r.short = s.slim; s.short {
					r.short = r.has
				}
				var d Delta
				tr.judge(&r, tt.words, &d)
				if !s.anything {
					checkDelta(t, i, s, &d)
				}
			}
		})
	}
}

func checkDelta(t *testing.T, i int, s step, d *Delta) {
	t.Helper()
	has := pma.Counters(0)
	for c, n := range s.want {
		has |= 1 << c
		if d.N[c] != n {
			t.Errorf("reading %d: %v counted %d, want %d", i, c, d.N[c], n)
		}
	}
	if d.Has != has || d.AtLeast != pma.Of(s.atLeast...) {
		t.Errorf("reading %d: known %#x, at least %#x; want %#x, %#x", i, d.Has, d.AtLeast, has, pma.Of(s.atLeast...))
	}
	if d.Note != s.note {
		t.Errorf("reading %d: %v, want %v", i, d.Note, s.note)
	}
	if want := time.Duration(s.seconds) * time.Second; d.Span != want {
		t.Errorf("reading %d: since %v, want %v", i, d.Span, want)
	}
}

func TestToReset(t *testing.T) {
	for _, tt := range []struct {
		c    pma.Counter
		v    uint64
		want bool
	}{
		{xmit, 3 << 30, true}, {xmit, 3<<30 - 1, false}, {symbol, 49152, true}, {symbol, 49151, false},
		{pma.LinkDownedCounter, 192, true}, {pma.LinkDownedCounter, 191, false}, {local, 12, true}, {local, 11, false},
	} {
		r := reading{has: 1 << tt.c, short: 1 << tt.c}
		r.raw[tt.c] = tt.v
		if got := r.toReset() != 0; got != tt.want {
			t.Errorf("%v at %d is due for a reset: %t, want %t", tt.c, tt.v, got, tt.want)
		}
		r.short = 0
		if r.toReset() != 0 {
			t.Errorf("%v of 64 bits is due for a reset", tt.c)
		}
	}
}

func TestFell(t *testing.T) {
	read := func(v values) *reading {
		r := &reading{}
		for c, n := range v {
			r.has |= 1 << c
			r.raw[c] = n
		}
		return r
	}
	for _, tt := range []struct {
		name          string
		before, after values
		resets        pma.Counters
		want          bool
	}{
		{"all that had counted", values{xmit: 5, symbol: 3, pkts: 0}, values{xmit: 0, symbol: 0, pkts: 9}, 0, true},
		{"not all", values{xmit: 5, symbol: 3}, values{xmit: 0, symbol: 3}, 0, false},
		{"nothing had counted", values{xmit: 0}, values{xmit: 0}, 0, false},
		{"another counter than before", values{xmit: 5}, values{symbol: 0}, 0, false},
		{"we reset it", values{symbol: 3}, values{symbol: 0}, 1 << symbol, false},
	} {
		var tr track
		var d Delta
		tr.judge(read(tt.before), fast, &d)
		tr.resets = tt.resets
		if got := tr.fell(read(tt.after)); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

func TestNote(t *testing.T) {
	if got := (ResetByUs | Saturated).String(); got != "reset by this manager, saturated" {
		t.Error(got)
	}
	if got := Note(0).String(); got != "sound" {
		t.Error(got)
	}
	for i := range 12 {
		if Note(1<<i).String() == "sound" {
			t.Errorf("bit %d has no name", i)
		}
	}
}
