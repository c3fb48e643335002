package routing

import (
	"context"
	"sync"
	"sync/atomic"

	"ibsm/priority"
)

// most is the key of what WithWorkers says.
type most struct{}

// WithWorkers returns a context in which Parallel has at most n workers, but one at least. A
// lower priority alone does not help who answers questions: where a worker runs on each
// processor, Linux has them wait for some milliseconds now and then.
func WithWorkers(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, most{}, n)
}

// Parallel does items 0 .. n-1 of a pass on as many workers as there are processors. For
// the sake of those who answer, the workers have a lower priority, where the system knows
// such a thing, and let others go first between two items. Each worker calls worker once,
// to allocate its scratch space, and then what that returned for one item after the other.
// Items must not depend on each other, and then the outcome does not depend on the
// number of workers. Parallel returns when all workers have ended; after ctx is done no
// item is begun and the error is that of ctx.
func Parallel(ctx context.Context, n int, worker func() func(item int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	workers := priority.Processors()
	if n, limited := ctx.Value(most{}).(int); limited {
		workers = min(workers, n)
	}
	for range min(max(workers, 1), n) {
		group.Go(func() {
			priority.GiveWay()
			do := worker()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
				priority.Yield()
			}
		})
	}
	group.Wait()
	return ctx.Err()
}
