package routing

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/priority"
)

// untilYield is how long a worker computes before it yields. A yield takes about half a microsecond: where a switch is
// an item, and nothing changes at most of them, more than the items.
const untilYield = 50 * time.Microsecond

// Workers is at most how many goroutines compute at the same time; 0 is one for each processor. A lower
// priority of the workers alone is not enough for answering queries quickly: with a worker on
// each processor, Linux now and then delays other threads by some milliseconds.
type Workers int

// Parallel processes items 0 .. n-1 on some workers. The workers have a lower priority than goroutines that answer
// queries, if the system supports that, and yield between items. A caller with that priority is one of them. All but
// the first come if that is not done when it yields: each takes a thread of its own.
// Each worker calls worker once, which allocates its scratch space, and calls the returned
// function for each of its items. Items must not depend on each other; then the result does not
// depend on the number of workers. Parallel returns when all workers have ended. After ctx is
// done it begins no item and returns the error of ctx.
func Parallel(ctx context.Context, most Workers, n int, worker func() func(item int)) error {
	if n == 0 {
		return ctx.Err()
	}
	var next atomic.Int64
	var group sync.WaitGroup
	work := func(yields func()) {
		do, yielded := worker(), time.Now()
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			do(i)
			if now := time.Now(); now.Sub(yielded) >= untilYield {
				yields()
				yielded = now
			}
		}
	}
	workers := priority.Processors()
	if most > 0 {
		workers = min(workers, int(most))
	}
	alone := true
	first := func() {
		work(func() {
			for more := min(workers-1, n-int(next.Load())); alone && more > 0; more-- {
				group.Go(func() { priority.Compute(func() { work(priority.Yield) }) })
			}
			alone = false
			priority.Yield()
		})
	}
	if priority.GivesWay() {
		first()
	} else {
		group.Go(func() { priority.Compute(first) })
	}
	group.Wait()
	return ctx.Err()
}
