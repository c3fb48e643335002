package manager

import (
	"testing"
	"time"

	"ibsm/mad"
)

// TestIntruders: a port is found when it has shown as many wrong M_Keys as the limit within a minute; how many are counted is bounded.
func TestIntruders(t *testing.T) {
	var l intruders
	for i, c := range []struct {
		at   time.Duration
		want bool
	}{{0, false}, {time.Second, false}, {2 * time.Second, true}, {3 * time.Second, false}, {4 * time.Second, false}, {3*time.Second + intruderCount + 1, false}, {2 * intruderCount, false}, {2 * intruderCount, true}} {
		if got := l.shown(c.at, 7, 3); got != c.want {
			t.Errorf("wrong M_Key %d, at %v: %v", i, c.at, got)
		}
	}
	for port := range mad.GUID(3 * maxIntruders) {
		l.shown(0, 100+port, 2)
	}
	if len(l.hosts) != maxIntruders {
		t.Errorf("%d are counted", len(l.hosts))
	}
	if !l.shown(0, 100+3*maxIntruders-1, 2) || l.shown(0, 100, 2) {
		t.Error("the first did not make room")
	}
	if !l.shown(0, 5000, 1) {
		t.Error("a limit of 1")
	}
}
