package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteSecret writes a file that only its owner can read, whole or not at all. When it returns without an error the file is on disk. Without
// replace a file that is there already is left alone: the error is fs.ErrExist.
func WriteSecret(path string, text []byte, replace bool) error {
	dir := filepath.Dir(path)
	temporary, err := os.CreateTemp(dir, ".keys-*") // with mode 0600
	if err != nil {
		return named(err, path)
	}
	defer os.Remove(temporary.Name()) // in vain after a rename
	_, err = temporary.Write(text)
	if err = errors.Join(named(err, path), named(temporary.Sync(), path), named(temporary.Close(), path)); err != nil {
		return err
	}
	if replace {
		err = os.Rename(temporary.Name(), path)
	} else {
		err = os.Link(temporary.Name(), path)
	}
	if err == nil || errors.Is(err, fs.ErrExist) { // a file that is there may be of a process which ended before it came here
		if unsynced := syncDirectory(dir); unsynced != nil {
			return unsynced
		}
	}
	return named(err, path)
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
