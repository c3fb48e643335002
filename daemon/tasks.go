package daemon

import (
	"context"
	"slices"
	"sync"
)

// tasks are the parts of the daemon, in the order in which they were started. Each may use
// those before it until it has ended, as end ends them in the reverse order. One goroutine
// uses tasks.
type tasks struct {
	ends []func()
}

// start runs a task in a goroutine of its own. At its turn stop is called, after which the
// task must return.
func (t *tasks) start(run, stop func()) {
	var running sync.WaitGroup
	running.Go(run)
	t.atEnd(func() {
		stop()
		running.Wait()
	})
}

// run starts a task that returns when its context is done, which is at its turn, or when
// ctx is done.
func (t *tasks) run(ctx context.Context, task func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	t.start(func() { task(ctx) }, cancel)
}

// atEnd has a function called at the turn of what was started before it and after it.
func (t *tasks) atEnd(end func()) { t.ends = append(t.ends, end) }

// end ends all, the last first, and returns when all have ended.
func (t *tasks) end() {
	for _, end := range slices.Backward(t.ends) {
		end()
	}
	t.ends = nil
}
