package priority

import (
	"runtime"
	"syscall"
	"time"
)

// niceness of threads that compute for long, from 0 for none to 19.
const niceness = 10

// giveWay gives the calling goroutine its own thread with a low priority, or leaves the one of a process that was
// started with a lower one.
func giveWay() {
	runtime.LockOSThread()
	if !GivesWay() { // one that is forbidden leaves the program as fast, but it answers later
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness)
	}
}

// GivesWay reports whether the thread of the calling goroutine has the low priority of Compute, or a lower one.
func GivesWay() bool {
	now, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0) // 20 less the niceness
	return err != nil || 20-now >= niceness
}

// Yield gives this processor to a waiting thread. Workers call it between two pieces of work: a
// thread that wakes up waits until the time slices of running threads end, however low their
// priority, which takes up to 4 ms on a Linux kernel for servers. The system call is a raw one because it
// does not block: Go's scheduler need not find other work for the processor meanwhile.
func Yield() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

// Ran is for how long the threads of this process have run, all together.
func Ran() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // which fails for no valid argument
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
