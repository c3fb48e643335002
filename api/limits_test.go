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
				if l.allow(user) {
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
			l.allow(fmt.Sprint(i))
		}
		if len(l.users) > maxUsers {
			t.Errorf("%d users are kept", len(l.users))
		}
	})
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
