package routing

import (
	"runtime"
	"syscall"
)

// niceness of threads that compute for long, from 0 for none to 19.
const niceness = 10

// GiveWay gives the goroutine that calls it, and computes for long, a thread of its own
// which others go before and which ends with it: Linux has priorities for threads, Go
// has none for goroutines.
func GiveWay() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness) // a system that forbids it is as fast, but answers later
}
