package users_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/api/users"
)

// network is an address without failures.
const network = "192.0.2.7"

// isWrong reports whether an error is that of a wrong password.
func isWrong(err error) bool {
	var refused *users.Refused
	return errors.As(err, &refused) && err.Error() == "wrong user or password"
}

// TestKnown: a right pair is checked once, and again when it was not used for five minutes. A new password and a
// deleted user count at once.
func TestKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		want := uint64(0)
		try := func(password string, right bool, checks uint64) {
			t.Helper()
			want += checks
			_, err := h.try(t.Context(), network, "k8s", password)
			if (err == nil) != right || !right && !isWrong(err) || h.Counts().Checks != want {
				t.Errorf("%s: %v after %d checks, want %d", password, err, h.Counts().Checks, want)
			}
		}
		try(password, true, 1)
		for range 10 {
			time.Sleep(4 * time.Minute)
			try(password, true, 0)
		}
		time.Sleep(5 * time.Minute)
		try(password, true, 1)
		try("another horse", false, 1)
		try("another horse", false, 0)
		p, err := users.NewPassword("another horse")
		if err != nil {
			t.Fatal(err)
		}
		if h.set, err = h.set.SetPassword("k8s", p); err != nil {
			t.Fatal(err)
		}
		try(password, false, 1)
		try("another horse", true, 1)
		try("another horse", true, 0)
		with := h.set
		if h.set, err = h.set.Delete("k8s"); err != nil {
			t.Fatal(err)
		}
		try("another horse", false, 1)
		try("another horse", false, 0)
		h.set = with
		try("another horse", true, 1)
	})
}

// TestOldPasswords: a client that tries ten old passwords in order and then the right one gets in within a second
// besides argon2id, each time, and however often it does so.
func TestOldPasswords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		for pass := range 50 {
			began := time.Now()
			for i := range 10 {
				if _, err := h.try(t.Context(), network, "k8s", fmt.Sprint("password of month ", i)); !isWrong(err) {
					t.Fatal(err)
				}
			}
			took, err := h.try(t.Context(), network, "k8s", password)
			if err != nil || took != 0 || time.Since(began) >= time.Second {
				t.Fatalf("pass %d: %v after %v and %v", pass, err, time.Since(began), took)
			}
		}
		if n := h.Counts().Checks; n != 11 {
			t.Errorf("%d checks of 11 passwords", n)
		}
	})
}

// TestSameWork: a name of no user, a user without a password and a wrong password cost the same runs of argon2id and
// the same time, with few failures and with many, for a new pair and for a known one.
func TestSameWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type answer struct {
			took   time.Duration
			checks uint64
		}
		var want []answer
		for _, name := range []string{"k8s", "nobody", "nico", "", "x y", string(make([]byte, 300))} {
			h := newHarness(t)
			h.SetQuick(h.compute, password)
			h.run = 70 * time.Millisecond
			var got []answer
			for i := range 60 {
				for range 1 + i%2 {
					took, err := h.try(t.Context(), network, name, fmt.Sprint("password ", i))
					if !isWrong(err) {
						t.Fatal(err)
					}
					got = append(got, answer{took, h.Counts().Checks})
				}
			}
			if want == nil {
				want = got
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%.20q costs %v\nk8s costs %v", name, got, want)
			}
		}
		if want[0].took != 70*time.Millisecond || want[2].took != want[1].took || want[2].checks != want[1].checks ||
			want[len(want)-1].took < 1500*time.Millisecond {
			t.Errorf("a wrong password costs %v", want)
		}
	})
}

// TestNetwork: twenty wrong pairs of a network cause no delay. With more, failing answers to it are delayed, twice as
// long each time, up to two seconds, and later no more. No other network and no right password is delayed.
func TestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.SetQuick(h.compute, password)
		n := 0
		fail := func(from string) time.Duration {
			t.Helper()
			n++
			took, err := h.try(t.Context(), from, "k8s", fmt.Sprint("wrong ", n))
			if !isWrong(err) {
				t.Fatal(err)
			}
			return took - 50*time.Millisecond
		}
		addresses := []string{"2001:db8::1", "2001:db8::ffff:1:2", "2001:db8::1%eth0"}
		for i := range 20 {
			if late := fail(addresses[i%3]); late != 0 {
				t.Fatalf("failure %d is delayed by %v", i, late)
			}
		}
		for i, want := range []int{100, 200, 400, 800, 1600, 2000, 2000} {
			if late := fail(addresses[i%3]); late != time.Duration(want)*time.Millisecond {
				t.Errorf("failure %d beyond the limit is delayed by %v, want %d ms", i, late, want)
			}
		}
		for _, other := range []string{network, "2001:db8:0:1::1", "::ffff:192.0.2.8"} {
			if late := fail(other); late != 0 {
				t.Errorf("a failure of %s is delayed by %v", other, late)
			}
		}
		for range 2 {
			if took, err := h.try(t.Context(), addresses[0], "k8s", password); took != 0 || err != nil {
				t.Errorf("the right password: %v after %v", err, took)
			}
		}
		time.Sleep(4 * time.Minute)
		for i := range 20 {
			if late := fail(addresses[i%3]); late != 0 {
				t.Fatalf("later failure %d is delayed by %v", i, late)
			}
		}
		for i, want := range []int{100, 200, 400, 0, 100} {
			if i == 3 {
				time.Sleep(19 * time.Second)
			}
			if late := fail(addresses[0]); late != time.Duration(want)*time.Millisecond {
				t.Errorf("with 0.1 a second, failure %d is delayed by %v, want %d ms", i, late, want)
			}
		}
		for i := range 20 {
			if late := fail("192.0.2.9"); late != 0 {
				t.Fatalf("failure %d is delayed by %v", i, late)
			}
		}
		if late := fail("::ffff:192.0.2.9"); late == 0 {
			t.Error("an IPv4 address in IPv6 counts as another network")
		}
	})
}

// TestOnePair: a client that sends the same wrong pair again and again is slowed down to five a second, and is not
// counted as one that guesses.
func TestOnePair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		var all sync.WaitGroup
		var mu sync.Mutex
		var late []time.Duration
		for range 40 {
			all.Go(func() {
				took, err := h.try(t.Context(), network, "k8s", "old password")
				mu.Lock()
				defer mu.Unlock()
				if late = append(late, took-50*time.Millisecond); !isWrong(err) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		slices.Sort(late)
		for i, got := range late {
			if want := min(time.Duration(max(i-19, 0))*200*time.Millisecond, 2*time.Second); (got - want).Abs() > 1 {
				t.Errorf("answer %d is delayed by %v, want %v", i, got, want)
			}
		}
		if n := h.Counts().Checks; n != 1 {
			t.Errorf("%d checks", n)
		}
		if took, err := h.try(t.Context(), network, "k8s", "other password"); !isWrong(err) || took != 50*time.Millisecond {
			t.Errorf("another one: %v after %v", err, took)
		}
	})
}

// TestShared: many requests with the same pair at a time need one check.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.run = 100 * time.Millisecond
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				if took, err := h.try(t.Context(), network, "k8s", password); err != nil || took != h.run {
					t.Errorf("%v after %v", err, took)
				}
			})
		}
		// One that gives up first leaves the check to others.
		hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		all.Go(func() {
			if took, err := h.try(hasty, network, "k8s", password); err != nil && took != time.Millisecond {
				t.Errorf("%v after %v", err, took)
			}
		})
		all.Wait()
		if n := h.Counts().Checks; n != 1 {
			t.Errorf("%d checks", n)
		}
	})
}

// TestTurns: argon2id runs twice at a time at most, and once of a network with many failures. Such a network waits for
// others. Beyond a number that wait the answer is that the client has to try again.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.SetQuick(h.compute, password)
		h.run = time.Second
		busy := func(err error) bool {
			var busy *users.Busy
			return errors.As(err, &busy) && busy.RetryAfter == 2*time.Second
		}
		for i := range 30 {
			if _, err := h.try(t.Context(), "192.0.2.66", "k8s", fmt.Sprint("wrong ", i)); !isWrong(err) {
				t.Fatal(err)
			}
		}
		began := time.Now()
		var all sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		for i := range 15 {
			all.Go(func() {
				_, err := h.try(t.Context(), "192.0.2.66", "k8s", fmt.Sprint("guess ", i))
				mu.Lock()
				defer mu.Unlock()
				if busy(err) {
					refused++
				} else if !isWrong(err) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if h.running.Load() != 1 {
			t.Errorf("%d checks of a network with many failures at a time", h.running.Load())
		}
		h.most.Store(0)
		for i := range 3 {
			all.Go(func() {
				if took, err := h.try(t.Context(), network, fmt.Sprint("user", i), password); err != nil && !isWrong(err) ||
					took > 3*time.Second {
					t.Errorf("another network: %v after %v", err, took)
				}
			})
		}
		all.Wait()
		if h.most.Load() != 2 || refused != 6 || time.Since(began) > 20*time.Second {
			t.Errorf("%d checks at a time, %d refused, after %v", h.most.Load(), refused, time.Since(began))
		}
		if took, err := h.try(t.Context(), "192.0.2.66", "k8s", password); err != nil || took != h.run {
			t.Errorf("the right password: %v after %v", err, took)
		}
		refused = 0
		for i := range 100 {
			all.Go(func() {
				_, err := h.try(t.Context(), fmt.Sprintf("198.51.100.%d", i), "k8s", fmt.Sprint("guess of many ", i))
				mu.Lock()
				defer mu.Unlock()
				if busy(err) {
					refused++
				}
			})
		}
		all.Wait()
		if refused != 100-2-64 || h.most.Load() != 2 {
			t.Errorf("%d of 100 networks refused", refused)
		}
	})
}

// TestProcessors: argon2id uses no more than half of the processors, and no more than two.
func TestProcessors(t *testing.T) {
	for processors, want := range map[int]int64{1: 1, 2: 1, 3: 1, 4: 2, 64: 2} {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t)
			h.SetQuick(h.compute, password)
			h.SetTurns(processors)
			h.run = time.Second
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					if _, err := h.try(t.Context(), fmt.Sprint("198.51.100.", i), "k8s", fmt.Sprint("guess ", i)); !isWrong(err) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if got := h.most.Load(); got != want {
				t.Errorf("with %d processors %d checks run at a time, want %d", processors, got, want)
			}
		})
	}
}

// TestGivesUp: a client that goes away while its password waits, or while its answer is delayed, leaves nothing behind.
func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.SetQuick(h.compute, password)
		h.run = time.Second
		for round := range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round)*100*time.Millisecond)
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					_, err := h.try(ctx, network, "k8s", fmt.Sprint("wrong ", round%3, i))
					var busy *users.Busy
					if !isWrong(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &busy) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			cancel()
		}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if took, err := h.try(t.Context(), fmt.Sprint("198.51.100.", i), "k8s", password); err != nil || took > 5*h.run {
					t.Errorf("%v after %v", err, took)
				}
			})
		}
		all.Wait()
	})
}

// TestDelayed: so many failing answers of a network are delayed at a time, and no more.
func TestDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.SetQuick(h.compute, password)
		if _, err := h.try(t.Context(), network, "k8s", "wrong"); !isWrong(err) {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		wrong := 0
		for range 100 {
			all.Go(func() {
				_, err := h.try(t.Context(), network, "k8s", "wrong")
				mu.Lock()
				defer mu.Unlock()
				if isWrong(err) {
					wrong++
				} else if busy := (*users.Busy)(nil); !errors.As(err, &busy) {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if _, err := h.try(t.Context(), "192.0.2.8", "k8s", "wrong"); !isWrong(err) {
				t.Errorf("another network: %v", err)
			}
		})
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		sent, before := wrong, h.Counts().Busy
		mu.Unlock()
		for range 100 {
			all.Go(func() { h.try(t.Context(), network, "k8s", "wrong") })
		}
		synctest.Wait()
		if now := h.Counts().Busy; before != 36 || sent < 10 || now-before != uint64(100-sent) {
			t.Errorf("%d answers were not delayed; when %d were sent, %d of 100 more", before, sent, now-before)
		}
		all.Wait()
		if wrong != 64 {
			t.Errorf("%d answers were delayed", wrong)
		}
	})
}

// TestJoined: so many requests of a network wait for the check of one pair, and no more; those of another network wait
// for their own.
func TestJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.SetQuick(h.compute, password)
		h.run = time.Second
		var all sync.WaitGroup
		var mu sync.Mutex
		busy := map[string]int{}
		try := func(from string, times int) {
			for range times {
				all.Go(func() {
					_, err := h.try(t.Context(), from, "k8s", password)
					mu.Lock()
					defer mu.Unlock()
					if refused := (*users.Busy)(nil); errors.As(err, &refused) {
						busy[from]++
					} else if err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
		}
		try(network, 300)
		for i := range 3 {
			try(fmt.Sprint("198.51.100.", i), 257)
		}
		try("198.51.100.9", 2)
		if want := map[string]int{network: 300 - 1 - 256, "198.51.100.9": 1}; !maps.Equal(busy, want) {
			t.Errorf("refused at once by network: %v, want %v", busy, want)
		}
		all.Wait()
		try(network, 300)
		if n := busy[network]; n != 300-1-256 {
			t.Errorf("of a pair that is known %d are refused", n-(300-1-256))
		}
		all.Wait()
	})
}

// TestBounds: the tables are bounded, and what leaves them is counted. What is used stays.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.SetQuick(h.compute, password)
		if _, err := h.try(t.Context(), network, "k8s", password); err != nil {
			t.Fatal(err)
		}
		for i := range 5000 {
			from := fmt.Sprintf("10.0.%d.%d", i/256, i%256)
			if _, err := h.try(t.Context(), from, "k8s", fmt.Sprint("wrong ", i)); !isWrong(err) {
				t.Fatal(err)
			}
			if _, err := h.try(t.Context(), from, "k8s", "old password"); !isWrong(err) {
				t.Fatal(err)
			}
		}
		c := h.Counts()
		want := users.Counts{Right: 1, Refused: 10_000, Checks: 5002, WrongEvicted: 905, NetworksEvicted: 904}
		if c != want {
			t.Errorf("%+v, want %+v", c, want)
		}
	})
}
