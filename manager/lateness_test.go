package manager

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/sweep"
)

// TestLateness: how long a phase waits for late devices alone depends on what else waits, and on what earlier sweeps
// have left out.
func TestLateness(t *testing.T) {
	const request = 800 * time.Millisecond
	walk := sweep.New(sweep.Config{}).Walk(true, sweep.Full)
	if _, ok := walk.Next(); !ok {
		t.Fatal("the walk asks nothing")
	}
	for _, c := range []struct {
		name string
		s    scheduler
		want time.Duration
	}{
		{"a walk", scheduler{phase: walk}, 4 * request},
		{"a program", scheduler{phase: &sweep.Program{}}, 2 * request},
		{"a light sweep", scheduler{phase: &sweep.Look{}}, 2 * request},
		{"something was left out", scheduler{phase: walk, late: lateness{extended: 2}}, 16 * request},
		{"so were Sets", scheduler{phase: &sweep.Program{}, late: lateness{extended: 1}}, 4 * request},
		{"another sweep waits", scheduler{phase: walk, wanted: wishQuick, late: lateness{extended: 2}}, request},
		{"a link changes", scheduler{phase: &sweep.Program{}, wanted: wishLink}, request},
		{"the walk is because of a link", scheduler{phase: walk, late: lateness{linkChanged: true}}, request},
	} {
		if got := c.s.limit(request); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLatenessCounts: only the time counts in which a phase waits for nothing but late devices, and a phase does not
// inherit that of another one.
func TestLatenessCounts(t *testing.T) {
	table := txn.New(txn.Config{})
	s := scheduler{phase: &sweep.Program{}}
	submit := func(port uint8) []mad.Datagram {
		table.Submit(&txn.Request{Owner: ownerSweep, Route: mad.MakeRoute(port), Method: mad.MethodGet, Attr: 0x11})
		return table.Output(0, nil)
	}
	submit(1)
	now := time.Duration(0)
	pass := func(d time.Duration) (ended int) {
		if ended = len(s.late.outOfTime(now+d, s.limit(table.RequestTime()), table, nil)); ended > 0 {
			return ended
		}
		now += d
		table.Expire(now, nil)
		table.Output(now, nil)
		s.waitForLate(now, table)
		return 0
	}
	pass(0)
	if _, waits := s.late.until(s.limit(table.RequestTime())); waits {
		t.Error("it waits for a request that has just been sent")
	}
	pass(50 * time.Millisecond)
	at, waits := s.late.until(s.limit(table.RequestTime()))
	if want := 50*time.Millisecond + programWaits*table.RequestTime(); !waits || at != want {
		t.Errorf("it waits until %v, want %v", at, want)
	}
	pass(500 * time.Millisecond)
	s.phase = &sweep.Program{}
	pass(0)
	if at, _ := s.late.until(s.limit(table.RequestTime())); at != now+programWaits*table.RequestTime() {
		t.Errorf("another phase waits until %v", at)
	}
	s.wanted = wishLink
	if ended := pass(table.RequestTime()); ended != 1 || table.Outstanding() != 0 {
		t.Errorf("%d requests ended, %d are left", ended, table.Outstanding())
	}
}
