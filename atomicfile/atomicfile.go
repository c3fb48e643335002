// Package atomicfile writes files whole: a reader finds the old file or the new one.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Replace writes a file beside path, with .tmp after its name, then renames it. It is for files that programs expect
// at a fixed place. With sync the file is on disk before it is renamed. After an error the old file is as it was.
func Replace(path string, mode os.FileMode, sync bool, write func(io.Writer) error) error {
	fresh := path + ".tmp"
	os.Remove(fresh) // what a crash left, or a link that somebody put there
	return replace(fresh, path, mode, sync, write)
}

// Write writes a file that an operator has named. A regular file is replaced, also one that a symbolic link leads to;
// no other file beside it is touched. What is no regular file, and what is below /dev, is written to.
func Write(path string, mode os.FileMode, text []byte) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() || strings.HasPrefix(path, "/dev/") {
		return os.WriteFile(path, text, mode)
	}
	if err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	fresh := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
	return replace(fresh, path, mode, true, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// ReplaceLike writes a file with the mode and, as far as this process may, the owner of another one, or with mode 0644
// if that does not exist.
func ReplaceLike(path, like string, text []byte) error {
	fresh, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name()) // unless it was renamed
	defer fresh.Close()
	info, err := os.Stat(like)
	mode := fs.FileMode(0o644)
	if err == nil {
		mode = info.Mode().Perm()
	}
	if err := fresh.Chmod(mode); err != nil {
		return err
	}
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = fresh.Chown(int(st.Uid), int(st.Gid)) // only root may, and for others it is theirs
		}
	}
	if _, err := fresh.Write(text); err != nil {
		return err
	}
	if err := fresh.Sync(); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), path)
}

func replace(fresh, path string, mode os.FileMode, sync bool, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		at.Path = path // the file that is wanted: the error is the same each time
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(fresh)
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	err = errors.Join(write(w), w.Flush())
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
