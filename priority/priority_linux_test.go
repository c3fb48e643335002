package priority

import (
	"runtime"
	"syscall"
	"testing"
)

// Go has one processor while packets are exchanged, all while something computes, and some left once there
// are queries to answer; it does not compute on more for that.
func TestManage(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer func() {
		managed.is = false
		managed.answers.Store(false)
		runtime.GOMAXPROCS(before)
	}()
	procs := func() int { return runtime.GOMAXPROCS(0) }
	unmanaged := 0
	Compute(func() { unmanaged = procs() })
	Manage()
	quiet, one, both := procs(), 0, 0
	Compute(func() {
		Compute(func() { both = procs() })
		one = procs()
	})
	after := procs()
	AnswerFirst()
	if unmanaged != before || quiet != 1 || both != before || one != before || after != 1 || procs() <= before ||
		Processors() != before {
		t.Errorf(
			"of %d processors %d before Manage, then %d, %d and %d for computing, %d after it, %d to answer; %d to compute on",
			before, unmanaged, quiet, one, both, after, procs(), Processors())
	}
}

// The thread that computes gives way alone, and ends with the computation. One that has given way further does not come
// back.
func TestCompute(t *testing.T) {
	runtime.LockOSThread() // so that the other goroutine has another
	defer runtime.UnlockOSThread()
	before := nice(t)
	for _, started := range []int{before, max(before, 15)} {
		var during int
		var tid int
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, started); err != nil {
				t.Error(err)
			}
			Compute(func() {
				Yield()
				during, tid = nice(t), syscall.Gettid()
			})
		}()
		<-done
		if now := nice(t); during != max(started, niceness) || now != before || tid == syscall.Gettid() {
			t.Errorf("nice %d before, %d and %d after Compute at %d, want %d", before, now, during, started,
				max(started, niceness))
		}
	}
}

// nice is that of the thread. The system call returns 20 less it, to be never negative.
func nice(t *testing.T) int {
	p, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Error(err)
	}
	return 20 - p
}
