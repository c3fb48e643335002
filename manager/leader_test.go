package manager

import (
	"testing"
	"time"
)

// TestLeads: a manager leads while it has a view and its last step is recent, by the clock that stops while the host
// sleeps as well as by the time of day.
func TestLeads(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		until time.Time
		view  bool
		leads bool
	}{
		"leads":                {now.Add(time.Minute), true, true},
		"no view":              {now.Add(time.Minute), false, false},
		"no step for too long": {now.Add(-time.Nanosecond), true, false},
		"the host has slept":   {now.Add(time.Minute), true, false},
		"never led":            {time.Time{}, true, false},
	} {
		s := &Shell{leads: c.until}
		if c.view {
			s.view.Store(servedView())
		}
		if name == "the host has slept" { // a time whose clock is ahead of its time of day
			s.leads = now.Add(time.Minute).Round(0).Add(-2 * time.Minute)
		}
		if s.Leads() != c.leads {
			t.Errorf("%s: leads %t", name, s.Leads())
		}
	}
}
