package daemon

import (
	"context"
	"slices"
	"testing"
)

// TestTasks: tasks end in the reverse of the order in which they were started, and each has
// returned before the next is stopped.
func TestTasks(t *testing.T) {
	var ts tasks
	var ended []string // no lock: each end waits for the goroutine that writes it
	ts.atEnd(func() { ended = append(ended, "first") })
	ts.run(t.Context(), func(ctx context.Context) {
		<-ctx.Done()
		ended = append(ended, "second")
	})
	stop := make(chan struct{})
	ts.start(func() {
		<-stop
		ended = append(ended, "third")
	}, func() {
		ended = append(ended, "third is stopped")
		close(stop)
	})
	ts.run(t.Context(), func(context.Context) {}) // has ended by itself
	ts.atEnd(func() { ended = append(ended, "last") })
	for range 2 { // the second end ends nothing again
		ts.end()
		if want := []string{"last", "third is stopped", "third", "second", "first"}; !slices.Equal(ended, want) {
			t.Errorf("ended are %q, want %q", ended, want)
		}
	}
}
