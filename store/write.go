package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// WriteSecret writes a file that only its owner can read, whole or not at all. When it returns without an error the
// file is on disk. A file that is there already is left alone: the error is fs.ErrExist.
func WriteSecret(path string, text []byte) error {
	dir := filepath.Dir(path)
	temporary, err := os.CreateTemp(dir, unfinished+"*") // with mode 0600
	if err != nil {
		return named(err, path)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(text)
	if err = errors.Join(named(err, path), named(temporary.Sync(), path), named(temporary.Close(), path)); err != nil {
		return err
	}
	err = os.Link(temporary.Name(), path)
	// a file that is there may be of a process which ended before it came here
	if err == nil || errors.Is(err, fs.ErrExist) {
		if unsynced := syncDirectory(dir); unsynced != nil {
			return unsynced
		}
	}
	return named(err, path)
}

// unfinished begins the names of secrets that are being written. Digits follow.
const unfinished = ".ibsm-keys-"

// RemoveUnfinished removes what processes that were killed while they wrote a secret have left beside a file: regular
// files with such names, of the user of this process. It is for a start: a process that is writing a secret there
// fails, and has to try again. It returns how many it has removed.
func RemoveUnfinished(path string) (removed int, err error) {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		number, is := strings.CutPrefix(e.Name(), unfinished)
		if _, failed := strconv.ParseUint(number, 10, 64); !is || failed != nil {
			continue
		}
		info, failed := e.Info() // of a link, not of what it leads to
		if failed == nil && info.Mode().IsRegular() && isOwn(info) {
			failed = os.Remove(filepath.Join(dir, e.Name()))
			if failed == nil {
				removed++
			}
		}
		if !errors.Is(failed, fs.ErrNotExist) { // gone meanwhile
			err = errors.Join(err, failed)
		}
	}
	return removed, err
}

// named has an error of the temporary file name the file that is wanted: the error is the same each time.
func named(err error, path string) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return &fs.PathError{Op: link.Op, Path: path, Err: link.Err}
	}
	return err
}
