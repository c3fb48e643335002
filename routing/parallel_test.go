package routing_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"ibsm/routing"
)

func TestParallel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	answering := routing.LeaveProcessor(t.Context())
	for _, c := range []struct {
		ctx            context.Context
		procs, workers int
	}{
		{t.Context(), 1, 1}, {t.Context(), 2, 1}, {t.Context(), 7, 6},
		{answering, 1, 1}, {answering, 2, 1}, {answering, 3, 1}, {answering, 7, 5},
	} {
		workers := c.workers
		runtime.GOMAXPROCS(c.procs)
		done := make([]atomic.Int32, 100)
		var started atomic.Int32
		err := routing.Parallel(c.ctx, len(done), func() func(int) {
			started.Add(1)
			return func(i int) { done[i].Add(1) }
		})
		if err != nil || int(started.Load()) != workers {
			t.Errorf("%d workers: %d started, error %v", workers, started.Load(), err)
		}
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%d workers: item %d done %d times", workers, i, n)
			}
		}
	}
}

func TestParallelCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Int32
	err := routing.Parallel(ctx, 1000, func() func(int) {
		return func(i int) {
			cancel()
			done.Add(1)
		}
	})
	if !errors.Is(err, context.Canceled) || int(done.Load()) > runtime.GOMAXPROCS(0) {
		t.Errorf("%d items done after the first, error %v", done.Load(), err)
	}
}
