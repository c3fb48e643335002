package priority

import (
	"runtime"
	"syscall"
)

// niceness of threads that compute for long, from 0 for none to 19.
const niceness = 10

// GiveWay gives the goroutine that calls it, and computes for long, a thread of its own
// which others take precedence over and which ends with it: Linux has priorities for threads, Go
// has none for goroutines.
func GiveWay() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness) // a system that forbids it is as fast, but answers later
}

// Yield lets whoever waits for this processor have it. It is for between two pieces of
// work: a thread that wakes up while others run waits for their time to be over, however
// low their priority, for up to 4 ms where Linux is built for servers.
func Yield() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
