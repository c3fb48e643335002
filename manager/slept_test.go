package manager

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smi"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/store"
	"ibsm/sweep"
	"ibsm/sweep/discover"
)

// TestSlept: what the time of day has come farther than the other clock is reported once; one
// that is set back is no sleep.
func TestSlept(t *testing.T) {
	l := &loop{}
	for _, c := range []struct{ timeOfDay, clock, want time.Duration }{
		{0, 0, 0}, {time.Second, time.Second, 0}, {time.Hour, 2 * time.Second, time.Hour - 2*time.Second},
		{time.Hour + time.Second, 3 * time.Second, 0}, {0, 4 * time.Second, -time.Hour - 2*time.Second},
		{time.Second, 5 * time.Second, 0},
	} {
		if got := l.slept(c.timeOfDay, c.clock); got != c.want {
			t.Errorf("time of day %v, clock %v: slept %v, want %v", c.timeOfDay, c.clock, got, c.want)
		}
	}
}

// TestPausedBeforeFirstView: what clients have registered is known from the own term only if
// there was one. A manager that is paused during its first sweep knows of nothing.
func TestPausedBeforeFirstView(t *testing.T) {
	for _, published := range []bool{false, true} {
		c := NewCore(Config{})
		if published {
			c.published.view = servedView()
		}
		c.fx.begin(time.Hour)
		c.resumed(time.Minute)
		if _, known := c.mirror.source(time.Hour + 1); known != published {
			t.Errorf("a view was there: %t, registrations are known: %t", published, known)
		}
	}
}

// TestResumeClock: a manager that was killed goes on without asking clients to register
// again within a minute, by a clock that has not been set back.
func TestResumeClock(t *testing.T) {
	killed := time.Unix(1_700_000_000, 0)
	for gone, want := range map[time.Duration]bool{0: true, 59 * time.Second: true, time.Minute: false,
		time.Hour: false, -time.Second: false, -time.Hour: false} {
		var cfg Config
		cfg.Resume(&store.Contents{Registry: registry.New(), Interrupted: killed,
			Terms: []store.Term{{Number: 1, Master: true}}}, killed.Add(gone))
		if cfg.Sweep.Restored.Registered != want {
			t.Errorf("%v after it was killed: registered %t", gone, cfg.Sweep.Restored.Registered)
		}
	}
}

// TestDuplicateIsLoggedAgain: another manager with our GUID is logged once while it is there, and
// again when it comes back.
func TestDuplicateIsLoggedAgain(t *testing.T) {
	c := NewCore(Config{})
	for i, there := range []bool{true, true, false, true, true} {
		c.fx.begin(time.Duration(i+1) * time.Second)
		found := &sweep.Found{Result: &discover.Result{}}
		if there {
			found.Duplicates = make([]discover.SM, 1)
		}
		master := smp.SMInfo{}
		master.SetSMState(smp.Master)
		if c.isDuplicate(found, []smp.SMInfo{master}) {
			t.Errorf("sweep %d: not polled, although another one is master", i)
		}
		if logged := len(c.fx.logged()) > 0; logged != (i == 0 || i == 3) {
			t.Errorf("sweep %d: logged %t", i, logged)
		}
	}
}

// TestDuplicateOfOnce: a run of one sweep does not wait for another manager with its GUID to go.
func TestDuplicateOfOnce(t *testing.T) {
	c := NewCore(Config{Once: true})
	c.fx.begin(time.Second)
	duplicate := c.isDuplicate(&sweep.Found{Result: &discover.Result{Duplicates: make([]discover.SM, 1)}}, nil)
	if end, is := c.fx.actions[len(c.fx.actions)-1].(Exit); !duplicate || !is || !errors.Is(end.Err, ErrOtherMaster) {
		t.Errorf("duplicate %t, exits %t", duplicate, is)
	}
}

// TestSleepComesFirst: the core takes that the host has slept before anything else that happened, and that the process
// did not run while it was busy.
func TestSleepComesFirst(t *testing.T) {
	for slept, want := range map[time.Duration]bool{0: false, minSleep - 100*time.Millisecond: false, time.Hour: true} {
		for _, busy := range []bool{false, true} {
			var log bytes.Buffer
			port := &clients{t: t, fromSA: make(chan mad.Datagram, 16), closed: make(chan struct{})}
			l := &loop{shell: &Shell{Logger: slog.New(slog.NewTextHandler(&log, nil))}, core: NewCore(Config{}),
				qp0: smi.New(port), start: time.Now()}
			l.step(t.Context(), TimePassed{})
			if busy {
				l.stopped = slept
			} else {
				l.ahead -= slept
			}
			l.step(t.Context(), SweepRequested{Sweep: Plan})
			if paused := strings.Contains(log.String(), "this manager was paused"); paused != want {
				t.Errorf("slept %v: %s", slept, log.String())
			}
			log.Reset()
			if l.step(t.Context(), TimePassed{}); strings.Contains(log.String(), "this manager was paused") {
				t.Errorf("slept %v: it is reported again: %s", slept, log.String())
			}
		}
	}
}

// TestClockSet: the core gets the time of day when that was set, forward or back, or has been kept in step by more than
// half a second since the last ClockSet.
func TestClockSet(t *testing.T) {
	port := &clients{t: t, fromSA: make(chan mad.Datagram, 16), closed: make(chan struct{})}
	l := &loop{shell: &Shell{Logger: slog.New(slog.DiscardHandler)}, core: NewCore(Config{}), qp0: smi.New(port),
		start: time.Now()}
	if l.step(t.Context(), TimePassed{}); l.core.cfg.Epoch != 0 {
		t.Error("ClockSet without a reason")
	}
	l.set = -time.Hour
	if l.step(t.Context(), TimePassed{}); l.core.cfg.Epoch != l.start.Round(time.Second).Unix() {
		t.Errorf("epoch %d, started at %v", l.core.cfg.Epoch, l.start)
	}
	l = &loop{start: time.Unix(1_700_000_000, 0)}
	for _, c := range []struct {
		ahead time.Duration
		want  int64 // 0 for nothing
	}{
		{0, 0}, {100 * time.Millisecond, 0}, {time.Hour, 1_700_003_600}, {time.Hour + 400*time.Millisecond, 0},
		{time.Hour + 800*time.Millisecond, 1_700_003_601},
		{-time.Hour, 1_699_996_400}, {-time.Hour, 0},
	} {
		l.ahead = c.ahead
		if got, is := l.clockSet(); is != (c.want != 0) || got.Epoch != c.want {
			t.Errorf("%v ahead: %+v, %t", c.ahead, got, is)
		}
	}
}

// TestPersistIsPassedOn: what is kept is passed on also where there is no store.
func TestPersistIsPassedOn(t *testing.T) {
	passed := 0
	l := &loop{shell: &Shell{Notify: func(a Notification) { passed++ }, Logger: slog.New(slog.DiscardHandler)}}
	for i, a := range []Action{Persist{Forgotten: []mad.GUID{1}}, Entered{State: smp.Standby}, Up{}} {
		if l.act(t.Context(), a); passed != i+1 {
			t.Errorf("%T is not passed on", a)
		}
	}
}
