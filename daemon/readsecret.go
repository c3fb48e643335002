package daemon

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"ibsm/keys"
)

// readSecret reads a file that nobody but root and the user of this program can read or change.
func readSecret(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is refused, not waited for
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = isSecret(name, info, os.Geteuid())
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, keys.MaxFile+1))
}

// isSecret is an error where others than root and a user can read or change a file.
func isSecret(name string, info fs.FileInfo, user int) error {
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", name)
	case known && owner.Uid != 0 && int(owner.Uid) != user:
		return fmt.Errorf(
			"%s belongs to user %d, who can read and change it: chown it to root, and create a new secret if that user may have read it", name, owner.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf(
			"other users can read or change %s (mode %04o): chmod 600 %s, and create a new secret if they may have read it", name, info.Mode().Perm(), name)
	}
	return nil
}
