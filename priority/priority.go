// Package priority says who goes first where there are fewer processors than there is to
// do: those who answer, before those who compute.
package priority

import "runtime"

// processors is the result of Processors: GOMAXPROCS before AnswerFirst raised it.
var processors = runtime.GOMAXPROCS(0)

// Processors is how many there are to compute on.
func Processors() int { return processors }

// spare is how many goroutines there are, at most, beside those that route on each
// processor: the core, those that receive and send, and those that compute on their own, as
// one that grows multicast trees, writes files or compares views.
const spare = 6

// AnswerFirst is for a program that answers while it computes; it is called once, at its
// start. A goroutine that has something to do waits for one of Go's processors until one
// is free: 10 ms at worst, where all compute. AnswerFirst makes more of them than can be
// taken by those; who goes first on the machine's is for the system to decide, which knows
// priorities as Go does not.
func AnswerFirst() { runtime.GOMAXPROCS(processors + spare) }
