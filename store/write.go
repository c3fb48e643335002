package store

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteSecret writes a file that only its owner can read, whole or not at all. When it returns without an error the file is on disk. Without
// replace a file that is there already is left alone: the error is fs.ErrExist.
func WriteSecret(path string, text []byte, replace bool) error {
	dir := filepath.Dir(path)
	temporary, err := os.CreateTemp(dir, ".keys-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // in vain after a rename
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if replace {
		err = os.Rename(temporary.Name(), path)
	} else {
		err = os.Link(temporary.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDirectory(dir)
}
