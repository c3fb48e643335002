package api

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestUserLimit: a user may send 2,000 requests at once and then 1,000 a second, whatever others send.
func TestUserLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		allowed := func(user string, tries int) (n int) {
			for range tries {
				if leave, v := l.enter(user); v == admitted {
					leave()
					n++
				}
			}
			return n
		}
		if n := allowed("a", 5000); n != 2000 {
			t.Errorf("%d requests at once", n)
		}
		if n := allowed("b", 10); n != 10 {
			t.Errorf("%d of 10 requests of another user", n)
		}
		time.Sleep(time.Second)
		if n := allowed("a", 5000); n != 1000 {
			t.Errorf("%d requests after a second", n)
		}
		for i := range 2 * maxUsers { // names from a file that changes
			l.enter(fmt.Sprint(i))
		}
		if len(l.users) > maxUsers {
			t.Errorf("%d users are kept", len(l.users))
		}
	})
}

// TestHandledLimit: a user has as many of the requests that are handled at a time as there is room for, so that others
// have some, too.
func TestHandledLimit(t *testing.T) {
	l := newLimits()
	var ends []func()
	enter := func(user string, tries int) (admits int, last verdict) {
		for range tries {
			leave, v := l.enter(user)
			if last = v; v == admitted {
				ends = append(ends, leave)
				admits++
			}
		}
		return admits, last
	}
	for _, step := range []struct {
		user          string
		tries, admits int
		last          verdict
	}{{"a", 130, 128, crowded}, {"b", 130, 64, crowded}, {"", 10, 10, admitted}, {"c", 130, 27, crowded},
		{"d", 130, 14, crowded}, {"a", 1, 0, crowded}, {"e", 13, 7, crowded}} {
		if n, last := enter(step.user, step.tries); n != step.admits || last != step.last {
			t.Errorf("%q: %d of %d requests, the last is %d; want %d, %d", step.user, n, step.tries, last, step.admits, step.last)
		}
	}
	for _, leave := range ends {
		leave()
	}
	if n, _ := enter("a", 200); n != 128 || l.handled != 128 {
		t.Errorf("after all have ended: %d requests of one user, %d in all", n, l.handled)
	}
}

// TestRefusalLimit: the audit has room for a hundred refusals at once, and then for five a second.
func TestRefusalLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		listed := func() (n int) {
			for range 1000 {
				if l.listed() {
					n++
				}
			}
			return n
		}
		if n := listed(); n != 100 {
			t.Errorf("%d refusals at once", n)
		}
		time.Sleep(2 * time.Second)
		if n := listed(); n != 10 {
			t.Errorf("%d refusals after two seconds", n)
		}
	})
}
