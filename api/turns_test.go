package api

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns: so many have a turn at a time. Those who wait have theirs by name, one after the other, however many of a
// name wait.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &turns{most: 2, waiting: map[string][]chan struct{}{}}
		all.take("first")
		all.take("second")
		var order []string
		came := make(chan string)
		for _, name := range []string{"a", "a", "a", "b", "c", "b"} {
			go func() {
				all.take(name)
				came <- name
			}()
			synctest.Wait()
		}
		for range 6 {
			all.give()
			order = append(order, <-came)
		}
		if want := []string{"a", "b", "c", "a", "b", "a"}; !slices.Equal(order, want) {
			t.Errorf("the turns were those of %v, want %v", order, want)
		}
		if all.taken != 2 || len(all.order)+len(all.waiting) > 0 {
			t.Errorf("%d turns are taken, %v wait", all.taken, all.waiting)
		}
	})
}

// TestTurnEnds: who waits for something has no turn for longer than longestTurn, and none is given twice.
func TestTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &turns{most: 1, waiting: map[string][]chan struct{}{}}
		one, other := newTurn(all, "a"), newTurn(all, "b")
		began := time.Now()
		one.begin()
		one.begin()
		other.begin()
		if took := time.Since(began); took != longestTurn {
			t.Errorf("the next turn began after %v", took)
		}
		one.end() // which it has not
		other.end()
		other.end()
		var both atomic.Int32
		for range 2 { // goroutines of one connection
			go func() {
				one.begin()
				both.Add(1)
			}()
		}
		synctest.Wait()
		if both.Load() != 2 || all.taken != 1 {
			t.Errorf("%d of two goroutines have the turn of their connection, %d are taken", both.Load(), all.taken)
		}
		one.end()
		if all.taken != 0 {
			t.Errorf("%d turns are taken in the end", all.taken)
		}
	})
}
