package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lock makes this process the one writer of a store. The lock is on a file beside it,
// since the store itself is replaced at times, and that file says whose it is, which
// unlock wipes out. The file stays when the process ends; the lock does not.
// interrupted is when the process that had the lock before was last alive, if it has not
// given it back.
func lock(path string) (f *os.File, interrupted time.Time, err error) {
	name := path + ".lock"
	f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, interrupted, err
	}
	ours, err := flock(f)
	switch {
	case err != nil:
		f.Close()
		return nil, interrupted, fmt.Errorf("lock %s: %w", name, err)
	case !ours:
		holder := make([]byte, 200)
		n, _ := f.ReadAt(holder, 0)
		f.Close()
		who := string(bytes.TrimSpace(holder[:n]))
		if who == "" {
			who = "that has not said its name yet"
		}
		return nil, interrupted, fmt.Errorf("%s: %w, %s; stop that process, or use a different state store", path,
			ErrInUse, who)
	}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		interrupted = info.ModTime()
	}
	// What is said is for people; a disk that is full does not keep us from the lock.
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintf(f, "process %d (%s)\n", os.Getpid(), filepath.Base(os.Args[0]))
	}
	return f, interrupted, nil
}

// beat notes that the process is alive.
func beat(f *os.File, now time.Time) { _ = os.Chtimes(f.Name(), now, now) }

// unlock gives the lock back, even if a process that is just being started has f too.
func unlock(f *os.File) error {
	return errors.Join(f.Truncate(0), funlock(f), f.Close())
}
