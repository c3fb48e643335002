package main

import (
	"testing"
	"time"

	"ibsm/ctl"
)

// TestOutOfUse: until when a link is out of use is said where it is known; a link that returns is out of use no more.
func TestOutOfUse(t *testing.T) {
	at := time.Date(2026, 3, 1, 14, 2, 11, 0, time.Local)
	for _, tt := range []struct {
		e    ctl.ExcludedLink
		want string
	}{
		{ctl.ExcludedLink{Routes: "drained", Since: at}, "routes avoid it since 2026-03-01 14:02:11"},
		{ctl.ExcludedLink{Routes: "drained", Since: at, Returns: at.Add(time.Hour)},
			"routes avoid it since 2026-03-01 14:02:11, returns at 2026-03-01 15:02:11 at the earliest"},
		{ctl.ExcludedLink{Routes: "drained", Since: at, ByHand: true},
			"routes avoid it since 2026-03-01 14:02:11, by hand, until ibsmctl links heal"},
		{ctl.ExcludedLink{Routes: "drained", Since: at, ByHand: true, Returns: at.Add(time.Hour)},
			"routes avoid it since 2026-03-01 14:02:11, by hand, returns at 2026-03-01 15:02:11 at the earliest"},
		{ctl.ExcludedLink{Action: "disable", State: "returning", Routes: "absent", Since: at},
			"returning: routes use it when it is ACTIVE"},
	} {
		if got := outOfUse(&tt.e); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.e, got, tt.want)
		}
	}
}
