package main

import (
	"testing"
	"time"

	"ibsm/ctl"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 3, 1, 14, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"1h":                   now.Add(-time.Hour),
		"90m":                  now.Add(-90 * time.Minute),
		"0s":                   now,
		"2d":                   now.AddDate(0, 0, -2),
		"13:30":                time.Date(2026, 3, 1, 13, 30, 0, 0, zone),
		"14:00:01":             time.Date(2026, 2, 28, 14, 0, 1, 0, zone), // the last one, which was yesterday
		"2026-02-03":           time.Date(2026, 2, 3, 0, 0, 0, 0, zone),
		"2026-02-03 04:05":     time.Date(2026, 2, 3, 4, 5, 0, 0, zone),
		"2026-02-03 04:05:06":  time.Date(2026, 2, 3, 4, 5, 6, 0, zone), // as ibsmctl and the log print it
		"2026-02-03T04:05:06Z": time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
	} {
		if got, err := parseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1h", "25:00", "yesterday", "d", "-1d", "2026-02-30"} {
		if got, err := parseTime(text, now); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// TestGenerationAt: changes since a time begin with what was in force then, and never reach over a time at which
// another manager was master.
func TestGenerationAt(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 14, minute, 0, 0, time.UTC) }
	all := []ctl.Generation{
		{From: 4, Generation: 5, Last: 5, Time: at(10)},
		{First: true, Generation: 8, Last: 8, Time: at(20)},
		{From: 8, Generation: 9, Last: 12, Time: at(30)},
		{From: 12, Generation: 13, Last: 13, Time: at(40)},
	}
	for minute, want := range map[int]uint64{20: 8, 29: 8, 30: 12, 39: 12, 50: 13} {
		if got, early := generationAt(all, at(minute)); got != want || early {
			t.Errorf("14:%d: %d, %v; want %d", minute, got, early, want)
		}
	}
	if got, early := generationAt(all[2:], at(0)); got != 8 || !early {
		t.Errorf("before the oldest stored change: %d, %v; want 8, the generation before it", got, early)
	}
	if got, early := generationAt(all[1:], at(0)); got != 8 || !early {
		t.Errorf("before the manager became master: %d, %v; want 8, its first", got, early)
	}
}
