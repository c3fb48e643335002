package main_test

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSecondSignal: a manager that cannot end, since nobody takes its last words, ends at
// once by a second signal.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		words, theirs, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer words.Close()
		defer theirs.Close()
		m := newServiceManager(t)
		cmd := command(t.Context(), t.TempDir(), append(caches(t), "NOTIFY_SOCKET="+m.path), program(t, "ibsm"),
			"--fabric", "fattree:k=4,levels=2", "-s", "0")
		cmd.Stdout = theirs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		m.await("STATUS=SUBNET UP")
		fill(t, theirs)
		cmd.Process.Signal(sig)
		m.await("STOPPING=1")
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for again, late := time.NewTicker(10*time.Millisecond), time.After(patience()); ; {
			select {
			case err := <-ended:
				if status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != sig {
					t.Errorf("%v: it ended with %v", sig, err)
				}
			case <-again.C: // the first of these may come before it is ready for a second one
				cmd.Process.Signal(sig)
				continue
			case <-late:
				t.Errorf("%v: it does not end", sig)
				cmd.Process.Kill()
				<-ended
			}
			break
		}
	}
}

// fill writes to a pipe until it takes no more.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	fd := int(pipe.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for b := bytes.Repeat([]byte{'.'}, 4096); len(b) > 0; {
		if _, err := unix.Write(fd, b); errors.Is(err, unix.EAGAIN) {
			b = b[:len(b)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil { // which the process shares
		t.Fatal(err)
	}
}
