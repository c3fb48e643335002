package main

import (
	"slices"
	"testing"
	"time"
)

// TestHung: a child that was alive and is silent for too long is found, once; one that
// has not begun is not.
func TestHung(t *testing.T) {
	n := newNotices(&notifier{})
	defer n.close()
	for _, name := range []string{"silent", "starting"} {
		if env, end := n.expect(name); len(env) != 3 {
			t.Fatalf("%s: environment %q", name, env)
		} else {
			defer end()
		}
	}
	n.hear("silent", "READY=1\nSTATUS=x\nnonsense\n=\nWATCHDOG")
	now := time.Now()
	for _, c := range []struct {
		at   time.Time
		want []string
	}{{now.Add(childAlive / 2), nil}, {now.Add(2 * childAlive), []string{"silent"}}, {now.Add(3 * childAlive), nil}} {
		if got := n.hung(c.at); !slices.Equal(got, c.want) {
			t.Errorf("hung are %q, want %q", got, c.want)
		}
	}
}
