package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"ibsm/mad"
)

// Look reads what is in a store without becoming its owner and without changing
// anything, also while a manager has it open: it reads a copy, which it makes in a
// directory that it removes. A copy that was made while the manager wrote may be damaged,
// and is made again. The store's subnet prefix and port are returned with what is in it.
// It fails with ErrNotStore, ErrSchema, and where the file is damaged.
func Look(path string) (c *Contents, prefix mad.Prefix, port mad.GUID, err error) {
	dir, err := os.MkdirTemp("", "ibsm-store-")
	if err != nil {
		return nil, 0, 0, err
	}
	defer os.RemoveAll(dir)
	duplicate := filepath.Join(dir, "state.db")
	var id identity
	for range 5 {
		if err = copyFile(duplicate, path); err != nil {
			return nil, 0, 0, err
		}
		if c, id, err = look(duplicate); !errors.Is(err, errDamaged) && !errors.Is(err, errPanic) {
			break
		}
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("store %s: %w", path, err)
	}
	return c, id.prefix, id.port, nil
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("store %s: %w: it is not a regular file", from, ErrNotStore)
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// look reads a file that nobody else has.
func look(path string) (c *Contents, id identity, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, id, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, id, err
	}
	if info.Size() == 0 {
		return nil, id, fmt.Errorf("%w: it is empty", ErrNotStore)
	}
	if err := verify(f, info.Size()); err != nil {
		return nil, id, err
	}
	db, err := openBolt(path, true)
	if err != nil {
		return nil, id, err
	}
	defer func() {
		if !errors.Is(err, errPanic) {
			_ = db.Close()
		}
	}()
	err = guard(func() error {
		return db.View(func(tx *bbolt.Tx) (err error) {
			if id, err = introduce(tx); err != nil {
				return err
			}
			c, err = load(tx)
			return err
		})
	})
	return c, id, err
}
