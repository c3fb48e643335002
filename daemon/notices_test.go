package daemon

import (
	"slices"
	"testing"
	"time"
)

// TestHung: a child that was alive and is unresponsive for too long is found, once; one that
// has not begun is not.
func TestHung(t *testing.T) {
	n, reports, now := notices{}, make(chan heard, 1), time.Now()
	for _, name := range []string{"unresponsive", "starting"} {
		n.expect(name)
		if env, end := hearChild(t.TempDir(), name, reports); len(env) != 3 {
			t.Fatalf("%s: environment %q", name, env)
		} else {
			defer func() {
				end()
				<-reports
			}()
		}
	}
	n.hear(heard{name: "unresponsive", text: "READY=1\nSTATUS=x\nnonsense\n=\nWATCHDOG"}, now)
	for _, c := range []struct {
		at   time.Time
		want []string
	}{{now.Add(childAlive / 2), nil}, {now.Add(2 * childAlive), []string{"unresponsive"}},
		{now.Add(3 * childAlive), nil}} {
		if got := n.hung(c.at); !slices.Equal(got, c.want) {
			t.Errorf("hung are %q, want %q", got, c.want)
		}
	}
}

// TestTogether: all are ready when the last is, or has ended, and their states are reported
// together.
func TestTogether(t *testing.T) {
	n := notices{}
	n.expect("b")
	n.expect("a")
	for _, c := range []struct {
		heard heard
		want  []string
	}{
		{heard{name: "b", text: "READY=1\nSTATUS=is open"}, []string{"STATUS=a: starts; b: is open"}},
		{heard{name: "b", text: "WATCHDOG=1"}, nil},
		{heard{name: "gone", text: "READY=1"}, nil},
		{heard{name: "a", status: "has ended"}, []string{"STATUS=a: has ended; b: is open", "READY=1"}},
		{heard{name: "b", text: "READY=1"}, nil},
	} {
		if got := n.hear(c.heard, time.Now()); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.heard, got, c.want)
		}
	}
	if got := n.forget("a"); !slices.Equal(got, []string{"STATUS=b: is open"}) {
		t.Errorf("without a: %q", got)
	}
	if got := n.forget("b"); got != nil {
		t.Errorf("without any: %q", got)
	}
}

// TestUnheard: a child whose socket cannot be had is waited for no longer, and does not
// report to the service manager of its parent.
func TestUnheard(t *testing.T) {
	reports := make(chan heard, 2)
	env, end := hearChild("", "1", reports)
	end()
	if a, b := <-reports, <-reports; a.status != "runs" || b.status != "has ended" ||
		!slices.Contains(env, "NOTIFY_SOCKET=") {
		t.Errorf("%+v, then %+v; environment %q", a, b, env)
	}
}
