package api

import (
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"ibsm/regularfile"
)

// lookEvery is how often files are looked at.
const lookEvery = time.Second

// watched is a value that is made of files, and made again when one of them changes. After an error the value is as it
// was. Its methods are safe for concurrent use.
type watched[T any] struct {
	what   string // for the log, such as "certificate"
	paths  []string
	check  func(path string, info fs.FileInfo) error // nil: any file may be read
	parse  func(texts [][]byte) (*T, error)
	logger *slog.Logger

	files regularfile.Reader
	value atomic.Pointer[T]
	next  atomic.Int64 // when the files are looked at again, in nanoseconds since 1970
	busy  atomic.Bool  // a goroutine looks at the files: it alone uses seen
	seen  []identity
}

// identity is what changes with a file.
type identity struct {
	inode           uint64
	size            int64
	written, change syscall.Timespec
}

// load makes the value for the first time, before others use it.
func (w *watched[T]) load() error {
	w.next.Store(time.Now().Add(lookEvery).UnixNano())
	w.seen = w.look()
	return w.read()
}

// get is the value of the files as they were a second ago at most.
func (w *watched[T]) get() *T {
	if now := time.Now(); now.UnixNano() >= w.next.Load() && w.busy.CompareAndSwap(false, true) {
		defer w.busy.Store(false)
		w.next.Store(now.Add(lookEvery).UnixNano())
		if seen := w.look(); !equal(seen, w.seen) {
			w.seen = seen
			if err := w.read(); err != nil {
				w.logger.Error("a changed file of the API is not used", "what", w.what,
					"reason", err)
			} else {
				w.logger.Info("a changed file of the API is in force", "what", w.what, "file", w.paths[0])
			}
		}
	}
	return w.value.Load()
}

func equal(a, b []identity) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// look is the identities of the files; that of one that cannot be found is zero.
func (w *watched[T]) look() []identity {
	seen := make([]identity, len(w.paths))
	for i, path := range w.paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if st, is := info.Sys().(*syscall.Stat_t); is {
			seen[i] = identity{st.Ino, st.Size, st.Mtim, st.Ctim}
		}
	}
	return seen
}

// maxPEM bounds a file of certificates, in bytes.
const maxPEM = 1 << 20

func (w *watched[T]) read() error {
	texts := make([][]byte, len(w.paths))
	for i, path := range w.paths {
		check := func(info fs.FileInfo) error { return nil }
		if w.check != nil {
			check = func(info fs.FileInfo) error { return w.check(path, info) }
		}
		text, err := w.files.ReadIf(path, maxPEM, check)
		if err != nil {
			return err
		}
		texts[i] = text
	}
	value, err := w.parse(texts)
	if err == nil {
		w.value.Store(value)
	}
	return err
}
