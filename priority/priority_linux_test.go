package priority

import (
	"runtime"
	"syscall"
	"testing"
)

// Go has processors left when all compute, and does not compute on more for that.
func TestAnswerFirst(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	AnswerFirst()
	if n := runtime.GOMAXPROCS(0); Processors() != before || n <= Processors() {
		t.Errorf("%d processors to compute on, of %d before and %d now", Processors(), before, n)
	}
}

// Who gives way does so alone, and its thread ends with it.
func TestGiveWay(t *testing.T) {
	runtime.LockOSThread() // so that the other goroutine has another
	defer runtime.UnlockOSThread()
	before := nice(t)
	var during int
	var tid int
	done := make(chan struct{})
	go func() {
		defer close(done)
		GiveWay()
		Yield()
		during, tid = nice(t), syscall.Gettid()
	}()
	<-done
	if now := nice(t); during != max(before, niceness) || now != before || tid == syscall.Gettid() {
		t.Errorf("nice %d before, %d and %d after GiveWay, want %d", before, now, during, niceness)
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
