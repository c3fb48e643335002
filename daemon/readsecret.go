package daemon

import (
	"fmt"
	"io"
	"os"

	"ibsm/keys"
)

// readSecret reads a file that only its owner may read.
func readSecret(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", name)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others (mode %04o): chmod 600 %s, and make a new one if others had the time to read it", name, info.Mode().Perm(), name)
	}
	return io.ReadAll(io.LimitReader(f, keys.MaxFile+1))
}
