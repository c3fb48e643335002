package routing

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Parallel does items 0 .. n-1 of a pass on as many workers as GOMAXPROCS, but for one
// that is left to those who answer questions; for their sake the workers have a lower
// priority too, where the system knows such a thing. Each worker calls worker once, to
// allocate its scratch space, and then what that returned for one item after the other.
// Items must not depend on each other, and then the outcome does not depend on the
// number of workers. Parallel returns when all workers have ended; after ctx is done no
// item is begun and the error is that of ctx.
func Parallel(ctx context.Context, n int, worker func() func(item int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(max(runtime.GOMAXPROCS(0)-1, 1), n) {
		group.Go(func() {
			GiveWay()
			do := worker()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}
