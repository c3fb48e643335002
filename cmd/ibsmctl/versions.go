package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ibsm/partitions"
)

// keptVersions is how many earlier versions of a file are kept, as FILE.~1~, the newest,
// to FILE.~10~.
const keptVersions = 10

func version(file string, n int) string { return fmt.Sprintf("%s.~%d~", file, n) }

// locked does something while no other ibsmctl changes the file.
func locked(file string, do func() error) error {
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // which unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another ibsmctl is editing %s: %w", file, err)
	}
	return do()
}

// changed is what has become of a file.
type changed uint8

const (
	fileKept changed = iota
	fileChanged
	fileMade // there was none before
)

// change gives a file another text, and keeps the one before as a version. Readers see
// the one or the other.
func change(file string, how func(*partitions.File) ([]byte, error)) (done changed, err error) {
	err = locked(file, func() error {
		f, err := readPartitions(file)
		missing := errors.Is(err, fs.ErrNotExist)
		if missing {
			f, err = partitions.Parse(file, nil), nil
		}
		if err != nil {
			return err
		}
		text, err := how(f)
		if err != nil || bytes.Equal(text, []byte(f.Src)) {
			return err
		}
		if !missing {
			for n := keptVersions - 1; n > 0; n-- {
				if err := os.Rename(version(file, n), version(file, n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			if err := replace(version(file, 1), file, []byte(f.Src)); err != nil {
				return err
			}
		}
		if done = fileMade; !missing {
			done = fileChanged
		}
		return replace(file, file, text)
	})
	return done, err
}

// undo puts the newest version in the place of the file.
func undo(file string) error {
	return locked(file, func() error {
		err := os.Rename(version(file, 1), file)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("no earlier version of %s: ibsmctl saves one at each of its own edits, but none for edits with an editor", file)
		}
		for n := 2; n <= keptVersions && err == nil; n++ {
			if err = os.Rename(version(file, n), version(file, n-1)); errors.Is(err, fs.ErrNotExist) {
				return nil
			}
		}
		return err
	})
}

// replace writes a file in one step, with the mode and the owner of another one, if that
// exists.
func replace(file, like string, text []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".new-")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // unless it was renamed
	defer temporary.Close()
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(like); err == nil {
		mode = info.Mode().Perm()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = temporary.Chown(int(st.Uid), int(st.Gid)) // only root may, and for others it is theirs
		}
	}
	if err := temporary.Chmod(mode); err != nil {
		return err
	}
	if _, err := temporary.Write(text); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), file)
}
