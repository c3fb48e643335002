package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// lock makes this process the one writer of a store. The lock is on a file beside it,
// since the store itself is replaced at times, and that file says whose it is. It stays
// when the process ends; the lock does not.
func lock(path string) (*os.File, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ours, err := flock(f)
	switch {
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	case !ours:
		holder := make([]byte, 200)
		n, _ := f.ReadAt(holder, 0)
		f.Close()
		who := string(bytes.TrimSpace(holder[:n]))
		if who == "" {
			who = "that has not said its name yet"
		}
		return nil, fmt.Errorf("%s: %w, %s; stop that one, or give this one a store of its own", path, ErrInUse, who)
	}
	// What is said is for people; a disk that is full does not keep us from the lock.
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintf(f, "process %d (%s)\n", os.Getpid(), filepath.Base(os.Args[0]))
	}
	return f, nil
}
