package routing_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ibsm/priority"
	"ibsm/routing"
)

// The workers are as many as there are processors, but for one that is left alone if that is
// asked for, whatever Go may run on.
func TestParallel(t *testing.T) {
	n := priority.Processors()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n + 5))
	for _, c := range []struct {
		most    routing.Workers
		workers int
	}{{0, n}, {routing.Workers(n), n}, {1, 1}, {routing.Workers(2 * n), n}} {
		done := make([]atomic.Int32, 100)
		var started atomic.Int32
		err := routing.Parallel(t.Context(), c.most, len(done), func() func(int) {
			started.Add(1)
			return func(i int) {
				done[i].Add(1)
				begin := time.Now()
				for int(started.Load()) < c.workers && i > 0 || time.Since(begin) < time.Millisecond {
				}
			}
		})
		if err != nil || int(started.Load()) != c.workers {
			t.Errorf("%d workers: %d started, error %v", c.workers, started.Load(), err)
		}
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%d workers: item %d done %d times", c.workers, i, n)
			}
		}
	}
}

func TestParallelCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Int32
	err := routing.Parallel(ctx, 0, 1000, func() func(int) {
		return func(i int) {
			cancel()
			done.Add(1)
		}
	})
	if !errors.Is(err, context.Canceled) || int(done.Load()) > priority.Processors() {
		t.Errorf("%d items done after the first, error %v", done.Load(), err)
	}
}

// One worker does what is little, and a caller that gives way is it: no thread is made.
func TestParallelAlone(t *testing.T) {
	goroutines := func() int {
		runtime.Gosched()
		return runtime.NumGoroutine()
	}
	done := make(chan struct{})
	go priority.Compute(func() {
		defer close(done)
		before, workers, during := goroutines(), 0, 0
		err := routing.Parallel(t.Context(), 0, 1, func() func(int) {
			workers++
			return func(int) { during = goroutines() }
		})
		if err != nil || workers != 1 || during > before {
			t.Errorf("%d workers, %d goroutines, before %d, error %v", workers, during, before, err)
		}
	})
	<-done
}
