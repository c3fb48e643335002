//go:build unix

package cache

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Times of a lock on a folder, which another manager has for some milliseconds.
const (
	lockPatience = 2 * time.Second
	lockAgain    = 10 * time.Millisecond
)

// lockDir locks a folder against other managers, and makes it where it is not there.
func lockDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { // as OpenSM makes it
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for late := time.Now().Add(lockPatience); ; time.Sleep(lockAgain) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		busy := errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR)
		if !busy || time.Now().After(late) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
	}
}
