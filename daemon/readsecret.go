package daemon

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"ibsm/keys"
)

// readSecret reads a file that nobody but root and the user of this program can read or change.
func readSecret(name string) ([]byte, error) {
	return fileReader.ReadIf(name, keys.MaxFile, func(info fs.FileInfo) error {
		return isSecret(name, info, os.Geteuid())
	})
}

// isSecret is an error where others than root and a user can read or change a file.
func isSecret(name string, info fs.FileInfo, user int) error {
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && owner.Uid != 0 && int(owner.Uid) != user:
		return fmt.Errorf(
			"%s belongs to user %d, who can read and change it: chown it to root, and create a new secret if that user may have read it", name, owner.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf(
			"other users can read or change %s (mode %04o): chmod 600 %s, and create a new secret if they may have read it", name, info.Mode().Perm(), name)
	}
	return nil
}
