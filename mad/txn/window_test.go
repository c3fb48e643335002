package txn

import (
	"testing"
	"time"

	"ibsm/mad"
)

// load keeps a table full for one round trip of 1 ms in which lost names the
// packets stay unanswered, and returns how many were sent.
func load(tab *Table, now *time.Duration, node func(i int) int32, lost func(d *mad.Datagram, i int) bool) int {
	for i := 0; tab.Room() > 0; i++ {
		r := request(1)
		if n := node(i); n >= 0 {
			r.Route = mad.MakeRoute(uint8(n))
		} else {
			r.Class = mad.ClassLIDRouted
		}
		tab.Submit(r)
	}
	tab.Expire(*now, nil)
	out := tab.Output(*now, nil)
	*now += ms
	for i := range out {
		if !lost(&out[i], i) {
			r := reply(out[i])
			tab.Match(*now, &r)
		}
	}
	return len(out)
}

func anyNode(int) int32                  { return -1 } // without a limit of its own
func nothing(*mad.Datagram, int) bool    { return false }
func everything(*mad.Datagram, int) bool { return true }

func TestWindowGrows(t *testing.T) {
	var now time.Duration
	tab := New(Config{})
	for _, want := range []int{16, 32, 64, 128, 128} {
		if n := load(tab, &now, anyNode, nothing); n != want {
			t.Fatalf("sent %d in a round trip, want %d", n, want)
		}
	}
	tab = New(Config{})
	for range 100 {
		r := reply(submit(t, tab, now, request(1))[0])
		tab.Match(now, &r)
	}
	if w := tab.Stats().Window; w != startWindow {
		t.Errorf("one request at a time grew the window to %d", w)
	}
}

func TestWindowHasACap(t *testing.T) {
	var now time.Duration
	tab := New(Config{MaxWindow: 2})
	for range 300 {
		if n := load(tab, &now, anyNode, func(_ *mad.Datagram, i int) bool { return i == 0 }); n > 2 {
			t.Fatalf("sent %d", n)
		}
	}
}

func TestWindowHalvesOncePerLoss(t *testing.T) {
	var now time.Duration
	tab := New(Config{MaxWindow: 512})
	for range 5 {
		load(tab, &now, anyNode, nothing)
	}
	if w := tab.Stats().Window; w != 512 {
		t.Fatalf("window %d", w)
	}
	// Half of one round trip is lost: that is one loss, known when the retries
	// are answered.
	load(tab, &now, anyNode, func(_ *mad.Datagram, i int) bool { return i%2 == 0 })
	now += 200 * ms
	load(tab, &now, anyNode, nothing)
	if s := tab.Stats(); s.Cuts != 1 || s.Window < 256 || s.Window > 258 {
		t.Fatalf("cut %d times to %d", s.Cuts, s.Window)
	}
	// From here it grows by one each round trip.
	w := tab.Stats().Window
	for range 10 {
		load(tab, &now, anyNode, nothing)
	}
	if got := tab.Stats().Window - w; got < 8 || got > 11 {
		t.Errorf("grew by %d in 10 round trips", got)
	}
}

func TestWindowHasAFloor(t *testing.T) {
	var now time.Duration
	tab := New(Config{})
	for i := range 4000 {
		load(tab, &now, anyNode, func(*mad.Datagram, int) bool { return i%3 != 0 })
		now += 30 * ms
	}
	if s := tab.Stats(); s.Window < minWindow || s.Window > startWindow {
		t.Errorf("window %d after %d cuts", s.Window, s.Cuts)
	}
}

// A switch with all its hosts is gone: many nodes never answer. The others are asked with the
// whole window again as soon as the first attempts have left it.
func TestDeadNodesLeaveTheWindow(t *testing.T) {
	var now time.Duration
	tab := New(Config{MaxWindow: 2048})
	for range 5 {
		load(tab, &now, anyNode, nothing)
	}
	before := tab.Stats().Window
	dead := func(i int) int32 { return int32(i % 400) }
	load(tab, &now, dead, everything)
	now += leastPatience
	tab.Expire(now, nil)
	n := load(tab, &now, anyNode, everything)
	if s := tab.Stats(); s.Cuts != 0 || s.Window != before || n < before {
		t.Fatalf("window %d after %d cuts, %d sent: want %d", s.Window, s.Cuts, n, before)
	}
}

// A cap that falls counts at once, and one that rises is grown into.
func TestSetMaxWindow(t *testing.T) {
	var now time.Duration
	tab := New(Config{})
	for range 3 {
		load(tab, &now, anyNode, nothing)
	}
	for _, c := range []struct{ limit, sent, window int }{{5, 5, 5}, {64, 5, 10}, {64, 10, 20}, {24, 20, 24},
		{0, 24, 48}} {
		tab.SetMaxWindow(c.limit, false)
		if n := load(tab, &now, anyNode, nothing); n != c.sent || tab.Stats().Window != c.window {
			t.Errorf("with a cap of %d: %d sent, a window of %d; want %d and %d", c.limit, n, tab.Stats().Window,
				c.sent, c.window)
		}
	}
}
