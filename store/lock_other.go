//go:build !unix

package store

import (
	"errors"
	"os"
)

func flock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func funlock(*os.File) error { return nil }
