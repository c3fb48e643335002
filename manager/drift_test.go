package manager

import (
	"testing"
	"time"
)

// TestMaintenanceWindow: when the window is, also past midnight and on days of 23 and 25 hours.
func TestMaintenanceWindow(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		from, to   time.Duration
		now, begin string
		inside     bool
	}{
		{2 * time.Hour, 4 * time.Hour, "2026-05-10 01:59:59", "2026-05-10 02:00:00", false},
		{2 * time.Hour, 4 * time.Hour, "2026-05-10 02:00:00", "2026-05-10 02:00:00", true},
		{2 * time.Hour, 4 * time.Hour, "2026-05-10 03:59:59", "2026-05-10 02:00:00", true},
		{2 * time.Hour, 4 * time.Hour, "2026-05-10 04:00:00", "2026-05-11 02:00:00", false},
		{23 * time.Hour, time.Hour, "2026-05-10 00:30:00", "2026-05-09 23:00:00", true},
		{23 * time.Hour, time.Hour, "2026-05-10 01:00:00", "2026-05-10 23:00:00", false},
		{23*time.Hour + 30*time.Minute, 23 * time.Hour, "2026-05-10 23:10:00", "2026-05-10 23:30:00", false},
		{4 * time.Hour, 5 * time.Hour, "2026-03-29 04:30:00", "2026-03-29 04:00:00", true}, // the clock was put forward at 2
		{4 * time.Hour, 5 * time.Hour, "2026-10-25 05:00:00", "2026-10-26 04:00:00", false},
	} {
		m := Maintenance{From: c.from, To: c.to, Zone: zone}
		now, err := time.ParseInLocation(time.DateTime, c.now, zone)
		if err != nil {
			t.Fatal(err)
		}
		begin, inside, ok := m.next(now.UTC())
		if got := begin.Format(time.DateTime); !ok || inside != c.inside || got != c.begin {
			t.Errorf("%+v: %s, %t, %t", c, got, inside, ok)
		}
	}
	if _, _, ok := (&Maintenance{}).next(time.Now()); ok {
		t.Error("there is a window that nobody has named")
	}
}
