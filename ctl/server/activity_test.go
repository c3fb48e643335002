package server

import (
	"slices"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/manager"
)

// TestMost: the client that asked most comes first, of equals the lower LID; counts that began again
// after 1<<32 grow all the same.
func TestMost(t *testing.T) {
	was, is := make([]uint32, 200), make([]uint32, 200)
	for lid := 1; lid <= 100; lid++ {
		is[lid] = 7
	}
	was[3], is[3] = 100, 100
	was[9], is[9] = 1<<32-5, 15
	got := most(was, is)
	if got.Active != 99 || got.Asked != 98*7+20 || len(got.Most) != ctl.MaxClients {
		t.Errorf("%d active asked %d, %d named", got.Active, got.Asked, len(got.Most))
	}
	want := []ctl.SAClient{{LID: 9, Count: 20}, {LID: 1, Count: 7}, {LID: 2, Count: 7}, {LID: 4, Count: 7}}
	if !slices.Equal(got.Most[:4], want) {
		t.Errorf("%+v, want %+v", got.Most[:4], want)
	}
}

// TestClientRates: two who look at the same time are shown the same, and a manager that
// follows another is not compared with it.
func TestClientRates(t *testing.T) {
	var c clientRates
	shell, now := new(manager.Shell), time.Unix(1000, 0)
	for i, step := range []struct {
		after time.Duration
		shell *manager.Shell
		want  float64
	}{{0, shell, 0}, {500 * time.Millisecond, shell, 0}, {2 * time.Second, shell, 2},
		{2500 * time.Millisecond, shell, 2}, {4 * time.Second, shell, 2}, {5 * time.Second, new(manager.Shell), 0}} {
		if got := c.since(step.shell, nil, now.Add(step.after)); got.Seconds != step.want {
			t.Errorf("look %d: over %v s, want %v", i, got.Seconds, step.want)
		}
	}
}

// TestActivityWithoutPort: what waits for its port has done nothing.
func TestActivityWithoutPort(t *testing.T) {
	d := New(Config{Where: "here"})
	if a := d.Activity(); a.Status.Where != "here" || len(a.Sweeps) != 0 || a.Clients.Most == nil || a.BadKeys == nil {
		t.Errorf("%+v", a)
	}
}
