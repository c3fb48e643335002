// Package priority sets CPU priorities: answering queries has a higher priority than computing
// routes.
package priority

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// processors is the result of Processors: GOMAXPROCS before Manage changed it.
var processors = runtime.GOMAXPROCS(0)

// Processors is the number of processors to compute on.
func Processors() int { return processors }

// spare is the largest number of busy goroutines beside the routing workers, of which each
// processor has one: the core, those that receive and send, and single ones that compute
// multicast trees, write files or compare views.
const spare = 6

// managed is what the number of Go's processors depends on.
var managed struct {
	sync.Mutex
	is        bool
	computing int
	answers   atomic.Bool
}

// Manage is called once, at the start of a program that exchanges packets, computes, and answers
// queries. From then on the number of Go's processors is what these need:
//
//   - One while packets are exchanged and nothing else happens. With more, Go wakes a thread for each
//     packet, which takes a third of the CPU time of a cold start.
//   - All that there are, while something computes.
//   - More than can be computing, once there are queries. A runnable goroutine waits up to 10 ms if all of
//     Go's processors compute; with some to spare the operating system, which unlike Go has
//     priorities, schedules them on the real processors.
func Manage() {
	managed.Lock()
	defer managed.Unlock()
	managed.is = true
	adjust()
}

// AnswerFirst reports that there are queries to answer, from now on. All calls but the first cost little.
func AnswerFirst() {
	if managed.answers.Load() {
		return
	}
	managed.Lock()
	defer managed.Unlock()
	managed.answers.Store(true)
	adjust()
}

// Answers reports whether there have been queries to answer.
func Answers() bool { return managed.answers.Load() }

// Compute runs f, which computes for long, with a low priority, which the calling goroutine keeps: it
// gets a thread of its own, which ends with it. Linux has priorities for threads, Go has none for goroutines.
func Compute(f func()) {
	giveWay()
	computing(1)
	defer computing(-1)
	f()
}

func computing(more int) {
	managed.Lock()
	defer managed.Unlock()
	managed.computing += more
	adjust()
}

// adjust changes the number of Go's processors, which stops all goroutines for some 50 us.
func adjust() {
	n := 1
	switch {
	case !managed.is:
		return
	case managed.answers.Load():
		n = processors + spare
	case managed.computing > 0:
		n = processors
	}
	if n != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}
