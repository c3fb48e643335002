// Package regularfile reads files that a configuration names. A name may lead to a FIFO, to a device without end, or
// to a file system that does not answer, such as that of an NFS server that is down: a reader must not wait for it.
package regularfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// A read is given up after patience, or after shorter while another one hangs, as the files of a configuration are
// often on one file system. To both comes one second for each slowest bytes that may be read.
const (
	patience = 10 * time.Second
	shorter  = time.Second
	slowest  = 10 << 20
)

// readAttempts is how often a file is read that changes meanwhile.
const readAttempts = 3

// ErrStopped is the error of a read that Stop has ended.
var ErrStopped = errors.New("the program stops")

// Reader reads files, each in a goroutine of its own. The goroutine of a read that is given up stays until the file
// system answers, so there is at most one for each name. Nil, which never stops, and the zero value are ready. Any
// goroutine may call the methods.
type Reader struct {
	// Opening, when set, is called before a file is opened. Tests prolong a read with it.
	Opening func(name string)

	mu      sync.Mutex
	hanging map[string]bool
	stop    <-chan struct{}
}

// Stop has reads end with ErrStopped when done is closed.
func (r *Reader) Stop(done <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop = done
}

// Stopped reports whether reads end because of Stop.
func (r *Reader) Stopped() bool {
	r.mu.Lock()
	stop := r.stop
	r.mu.Unlock()
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// Read reads a regular file of at most so many bytes, all from the same state of it: while another process writes the
// file in its place, half of it must not be taken for the whole. The null device is an empty file.
func (r *Reader) Read(name string, most int64) ([]byte, error) { return r.ReadIf(name, most, nil) }

// ReadIf is Read, of a file that check has no error for.
func (r *Reader) ReadIf(name string, most int64, check func(fs.FileInfo) error) ([]byte, error) {
	return within(r, name, time.Duration(most/slowest)*time.Second, func() ([]byte, error) {
		if r != nil && r.Opening != nil {
			r.Opening(name)
		}
		return read(name, most, check)
	})
}

// ModTime is when a file was written last.
func (r *Reader) ModTime(name string) (written time.Time, err error) {
	info, err := r.Stat(name)
	if err != nil {
		return written, err
	}
	return info.ModTime(), nil
}

// Stat describes a file, or what a symbolic link leads to.
func (r *Reader) Stat(name string) (fs.FileInfo, error) {
	return within(r, name, 0, func() (fs.FileInfo, error) { return os.Stat(name) })
}

// within calls do, which reads a file and takes so long at most, and returns its result.
func within[T any](r *Reader, name string, long time.Duration, do func() (T, error)) (result T, err error) {
	if r == nil {
		r = new(Reader)
	}
	r.mu.Lock()
	hangs, stop, limit := r.hanging[name], r.stop, patience+long
	if len(r.hanging) > 0 {
		limit = shorter + long
	}
	r.mu.Unlock()
	if hangs {
		return result, fmt.Errorf("%s: the previous read of it still hangs: %s", name, remedy)
	}
	var late T
	var failed error
	ended, done := false, make(chan struct{})
	go func() {
		late, failed = do()
		r.mu.Lock()
		ended = true
		delete(r.hanging, name)
		r.mu.Unlock()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return late, failed
	case <-stop:
		return result, fmt.Errorf("%s: %w", name, ErrStopped)
	case <-timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ended {
		return late, failed
	}
	if r.hanging == nil {
		r.hanging = map[string]bool{}
	}
	r.hanging[name] = true
	return result, fmt.Errorf("%s cannot be read within %v: %s", name, limit.Round(time.Second), remedy)
}

const remedy = "make its file system available, or name a file on a local disk"
