package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/view"
)

var (
	_ ctl.Source = (*Server)(nil)
	_ ctl.Subnet = (*subnet)(nil)
)

// A server without a manager says so, and keeps nobody waiting.
func TestNobody(t *testing.T) {
	d := New(Config{Version: "1", Where: "a port", Asks: make(chan manager.SweepRequested)})
	d.Wait("no cable")
	if st := d.Status(); st.Where != "a port" || st.Waiting != "no cable" || st.State != "" || st.Subnet != nil {
		t.Errorf("status %+v", st)
	}
	if d.Subnet() != nil {
		t.Error("there is a subnet")
	}
	if err := d.Order(t.Context(), ctl.HeavySweep); !errors.Is(err, ctl.ErrNotNow) {
		t.Errorf("order: %v", err)
	}
	for range 2 { // the first leaves nothing behind
		if _, err := d.Plan(t.Context(), ctl.PlanQuery{}); !errors.Is(err, ctl.ErrNotNow) ||
			!strings.Contains(err.Error(), "waiting for its port") {
			t.Errorf("plan: %v", err)
		}
	}
	d.Serve(&manager.Shell{}, "another port")
	if st := d.Status(); st.Where != "another port" || st.Waiting != "" || st.State == "" {
		t.Errorf("status %+v", st)
	}
	if err := d.Order(t.Context(), ctl.HeavySweep); !errors.Is(err, ctl.ErrNotNow) ||
		!strings.Contains(err.Error(), "not master") {
		t.Errorf("order: %v", err)
	}
}

func TestLastSweep(t *testing.T) {
	d := New(Config{})
	d.Notify(manager.TreeLoop{Links: 4, Text: "spines"})
	if l := d.Status().TreeLoop; l == nil || l.Links != 4 || !strings.HasSuffix(l.String(), "of 4 links: spines") {
		t.Errorf("%+v", l)
	}
	if d.Notify(manager.TreeLoop{}); d.Status().TreeLoop != nil {
		t.Error("the loop has ended and is shown")
	}
	d.Notify(
		manager.Up{Summary: manager.Summary{Took: 1500 * time.Millisecond, Failures: 1, Cut: 2, Bad: 3, Longest: 5,
			Sets: map[mad.AttrID]int{}}})
	s := d.Status().Sweep
	if s == nil || s.Ended.IsZero() {
		t.Fatalf("%+v", s)
	}
	s.Ended = time.Time{}
	if want := (ctl.SweepStatus{Seconds: 1.5, Up: true, Sets: "none", Failures: 1, Cut: 2, Lost: 3,
		Longest: 5}); *s != want {
		t.Errorf("%+v, want %+v", *s, want)
	}
}

// TestNextMaster: the highest but the master and those that are not active is master next.
func TestNextMaster(t *testing.T) {
	sm := func(guid mad.GUID, priority uint8, state smp.SMState) view.SM {
		return view.SM{GUID: guid, Priority: priority, State: uint8(state)}
	}
	for _, tt := range []struct {
		self   view.SM
		rivals []view.SM
		next   int // -1 nobody
	}{
		{sm(1, 5, smp.Master), nil, -1},
		{sm(1, 5, smp.Standby), []view.SM{sm(2, 0, smp.Master)}, 0},
		{sm(1, 5, smp.Master), []view.SM{sm(2, 3, smp.Standby), sm(3, 4, smp.Standby)}, 2},
		{sm(9, 5, smp.Standby), []view.SM{sm(2, 5, smp.Standby), sm(3, 9, smp.Master)}, 1},
		{sm(9, 5, smp.Standby), []view.SM{sm(2, 15, smp.NotActive), sm(3, 9, smp.Master)}, 0},
		{sm(9, 5, smp.Master), []view.SM{sm(2, 15, smp.NotActive)}, -1},
	} {
		next := -1
		for i, m := range managers(&manager.Stats{Self: tt.self, Rivals: tt.rivals}) {
			if m.NextMaster {
				next = i
			}
		}
		if next != tt.next {
			t.Errorf("of %v and %v number %d rules next, want %d", tt.self, tt.rivals, next, tt.next)
		}
	}
}
