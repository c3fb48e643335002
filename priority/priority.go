// Package priority sets CPU priorities: answering queries has a higher priority than computing
// routes.
package priority

import "runtime"

// processors is the result of Processors: GOMAXPROCS before AnswerFirst raised it.
var processors = runtime.GOMAXPROCS(0)

// Processors is the number of processors to compute on.
func Processors() int { return processors }

// spare is the largest number of busy goroutines beside the routing workers, of which each
// processor has one: the core, those that receive and send, and single ones that compute
// multicast trees, write files or compare views.
const spare = 6

// AnswerFirst is called once, at the start of a program that answers queries while it computes. A
// runnable goroutine waits for one of Go's processors: up to 10 ms if all of them compute.
// AnswerFirst raises their number above that of the computing goroutines, so that the operating
// system, which unlike Go has priorities, schedules them on the real processors.
func AnswerFirst() { runtime.GOMAXPROCS(processors + spare) }
