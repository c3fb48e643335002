//go:build !unix

package store

import (
	"errors"
	"os"
)

func flock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlock(f *os.File) error { return f.Close() }
