package manager

import (
	"testing"
	"time"

	"ibsm/mad"
)

// TestAlarmLines: of one port and kind a line is logged at once and then once in ten minutes, with the number so far;
// another port, another kind and, of ports that are not known, another LID have lines of their own. Those for which
// there is no room share one.
func TestAlarmLines(t *testing.T) {
	var l alarms
	fx := newEffects(0)
	lines := func(at time.Duration, a Alarm) int {
		fx.now = at
		l.raise(fx, 0, a)
		return len(fx.logged())
	}
	port := Alarm{Kind: AlarmTrap, Port: 7, LID: 3}
	for _, c := range []struct {
		at   time.Duration
		a    Alarm
		want int
	}{
		{time.Minute, port, 1},
		{time.Minute, port, 0},
		{2 * time.Minute, Alarm{Kind: AlarmTrap, Port: 7, LID: 4}, 0}, // its LID has changed
		{2 * time.Minute, Alarm{Kind: AlarmTrap, Port: 8, LID: 3}, 1},
		{2 * time.Minute, Alarm{Kind: AlarmQuestion, Port: 7, LID: 3}, 1},
		{3 * time.Minute, Alarm{Kind: AlarmTrap, LID: 5}, 1},
		{3 * time.Minute, Alarm{Kind: AlarmTrap, LID: 6}, 1},
		{3 * time.Minute, Alarm{Kind: AlarmTrap, LID: 5}, 0},
		{11*time.Minute - time.Second, port, 0},
		{11 * time.Minute, port, 1},
		{21*time.Minute - time.Second, port, 0},
		{21 * time.Minute, port, 1},
	} {
		if got := lines(c.at, c.a); got != c.want {
			t.Errorf("after %v, %+v: %d lines, want %d", c.at, c.a, got, c.want)
		}
	}
	if first := l.known[0]; first.Count != 7 || first.LID != 3 || first.Last != 21*60 {
		t.Errorf("the first port: %+v", first)
	}
	total := 0
	for guid := range mad.GUID(2 * maxAlarms) {
		total += lines(30*time.Minute, Alarm{Kind: AlarmTrap, Port: 100 + guid})
	}
	if room := maxAlarms - 5; total != room+1 || len(l.known) != maxAlarms || len(l.logged) != maxAlarms {
		t.Errorf("%d lines about %d ports, %d of them remembered", total, 2*maxAlarms, len(l.known))
	}
	if got := lines(40*time.Minute, Alarm{Kind: AlarmTrap, Port: 1000}); got != 1 {
		t.Errorf("ten minutes after a line about ports without room: %d lines", got)
	}
}
