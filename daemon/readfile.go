package daemon

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// readAttempts is how often a file is read that changes meanwhile.
const readAttempts = 3

// readFile reads the first limit bytes of a file, all from the same state of it: while another process writes the file
// in its place, half of it must not be taken for the whole. What is no regular file, such as a pipe, is read once.
func readFile(name string, limit int64) ([]byte, error) {
	for range readAttempts {
		text, whole, err := readOnce(name, limit)
		if err != nil || whole {
			return text, err
		}
	}
	return nil, fmt.Errorf(
		"%s changed while it was read: reload after it is written, or write a new file and rename it", name)
}

// readOnce reads a file, and reports whether it has not changed meanwhile.
func readOnce(name string, limit int64) (text []byte, whole bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if text, err = io.ReadAll(io.LimitReader(f, limit)); err != nil {
		return nil, false, err
	}
	after, err := f.Stat()
	return text, err == nil && isSame(before, after, min(after.Size(), limit) == int64(len(text))), err
}

// isSame reports whether a file has not changed, of which all or not all was read. A file of the kernel has no size.
func isSame(before, after fs.FileInfo, all bool) bool {
	if !after.Mode().IsRegular() {
		return true
	}
	return before.ModTime().Equal(after.ModTime()) && before.Size() == after.Size() && (all || after.Size() == 0)
}
