package main

import (
	"fmt"
	"strings"
	"time"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

// timesHelp are the forms that parseTime accepts.
const timesHelp = "how long ago (90s, 15m, 1h, 2d), a time of the last 24 hours (14:30), or a date (2026-03-01, \"2026-03-01 14:30\")"

// timeLayouts are the forms of a date, in the local time zone unless they name one.
var timeLayouts = []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", time.DateOnly}

// parseTime is the time that an operator means at the time now.
func parseTime(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := time.ParseDuration(days + "h"); err == nil && n >= 0 {
			return now.Add(-24 * n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
			return at, nil
		}
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, cli.UsageError(fmt.Sprintf("--since %q: expected a time", text), "give "+timesHelp)
}

// generationAt is the generation that was in force at a time, of all that are stored, oldest first. early says that
// the manager had none at that time, or that it is no longer stored: then it is the oldest that later ones can be
// compared with.
func generationAt(all []ctl.Generation, at time.Time) (generation uint64, early bool) {
	for i := len(all) - 1; i >= 0; i-- {
		g := &all[i]
		switch {
		case !g.Time.After(at):
			return g.Last, false
		case g.First:
			return g.Generation, true
		case i == 0:
			return g.From, true
		}
	}
	return 0, true
}
