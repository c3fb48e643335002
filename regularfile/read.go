package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// read reads a file, again while it changes.
func read(name string, most int64, check func(fs.FileInfo) error) ([]byte, error) {
	for range readAttempts {
		text, whole, err := readOnce(name, most, check)
		if err != nil || whole {
			return text, err
		}
	}
	return nil, fmt.Errorf(
		"%s changed while it was read: reload after it is written, or write a new file and rename it", name)
}

// readOnce reads a file, and reports whether it has not changed meanwhile.
func readOnce(name string, most int64, check func(fs.FileInfo) error) (text []byte, whole bool, err error) {
	f, before, err := open(name, check)
	if f == nil {
		return nil, true, err
	}
	defer f.Close()
	if before.Size() <= most {
		text, err = io.ReadAll(io.LimitReader(f, most+1))
	}
	switch {
	case err != nil:
		return nil, false, err
	case before.Size() > most, int64(len(text)) > most:
		return nil, false, fmt.Errorf("%s has more than the %d bytes that are read: name the right file, or shorten it",
			name, most)
	}
	after, err := f.Stat()
	return text, err == nil && isSame(before, after, int64(len(text))), err
}

// open opens a file for reading. Without an error it is nil for the null device. What is no regular file is not opened:
// that alone can change a device.
func open(name string, check func(fs.FileInfo) error) (f *os.File, info fs.FileInfo, err error) {
	if info, err = os.Stat(name); err != nil {
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			failed.Op = "open"
		}
		return nil, nil, err
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return nil, nil, nil
	}
	if err = isRegular(name, info); err != nil {
		return nil, nil, err
	}
	// It may be another file by now.
	if f, err = os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = isRegular(name, info)
	}
	if err == nil && check != nil {
		err = check(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// isRegular is an error that says what a file is instead.
func isRegular(name string, info fs.FileInfo) error {
	kind := "special file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "FIFO"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	}
	return fmt.Errorf("%s is a %s: name a regular file", name, kind)
}

// isSame reports whether a file of which so many bytes were read has not changed. A file of the kernel has no size.
func isSame(before, after fs.FileInfo, length int64) bool {
	return before.ModTime().Equal(after.ModTime()) && before.Size() == after.Size() &&
		(length == after.Size() || after.Size() == 0)
}
